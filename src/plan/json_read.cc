// JSON -> Program: every number checked, every id in range, names of enumerators
// known. Unknown keys are ignored.
#include <complex>
#include <nlohmann/json.hpp>
#include <utility>

#include "plan/json.h"
#include "plan/json_cursor.h"
#include "plan/json_names.h"

namespace lowwater {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;  // sums of two stay exact
constexpr std::size_t kMaxRank = 64;
constexpr int kMaxDepth = 16;  // of nested loops

Bytes read_bytes(const JsonCursor& at) { return at.integer(0, kMaxBytes); }
std::int32_t read_int32(const JsonCursor& at, std::int32_t min) {
  return static_cast<std::int32_t>(at.integer(min, INT32_MAX));
}

template <typename Enum>
Enum read_enum(const JsonCursor& at) {
  const std::string& name = at.text();
  if (const auto value = parse_enum<Enum>(name)) return *value;
  at.fail("unknown name '" + name + "'");
}

DType read_dtype(const JsonCursor& at) {
  if (const auto dtype = parse_dtype(at.text())) return *dtype;
  at.fail("unknown type '" + at.text() + "'");
}

std::vector<std::int64_t> read_integers(const JsonCursor& at, std::int64_t min, std::int64_t max) {
  std::vector<std::int64_t> result;
  at.each([&](const JsonCursor& item) { result.push_back(item.integer(min, max)); });
  return result;
}

class Reader {
 public:
  explicit Reader(const JsonCursor& root) : root_(root) {}

  Program run() {
    read_header();
    buffers_ = count("buffers");
    slots_ = count("slots");
    root_.at("buffers").each(
        [&](const JsonCursor& at) { program_.buffers.push_back(read_buffer(at)); });
    root_.at("slots").each([&](const JsonCursor& at) { program_.slots.push_back(read_slot(at)); });
    program_.inputs = read_slots(root_.at("inputs"));
    program_.outputs = read_slots(root_.at("outputs"));
    program_.once = read_steps(root_.at("once"), 0);
    program_.steps = read_steps(root_.at("steps"), 0);
    return std::move(program_);
  }

 private:
  std::size_t count(const char* key) const {
    const JsonCursor list = root_.at(key);
    if (!list.value().is_array()) list.fail("expected a list");
    return list.value().size();
  }

  void read_header() {
    const JsonCursor alignment = root_.at("alignment");
    program_.alignment = alignment.integer(1, 1 << 20);
    if ((program_.alignment & (program_.alignment - 1)) != 0) alignment.fail("not a power of two");
    program_.arena_bytes = read_bytes(root_.at("arena_bytes"));
    program_.once_arena_bytes = read_bytes(root_.at("once_arena_bytes"));
    program_.constant_bytes = read_bytes(root_.at("constant_bytes"));
    program_.events = read_int32(root_.at("events"), 0);
    program_.loops = read_integers(root_.at("loops"), 1, INT32_MAX);
    program_.stream_names.clear();
    root_.at("streams").each(
        [&](const JsonCursor& at) { program_.stream_names.push_back(at.text()); });
  }

  Buffer read_buffer(const JsonCursor& at) const {
    Buffer buffer;
    buffer.space = read_enum<Space>(at.at("space"));
    buffer.kind = read_enum<BufferKind>(at.at("kind"));
    buffer.size = read_bytes(at.at("size"));
    if (const auto offset = at.find("offset")) buffer.offset = read_bytes(*offset);
    if (const auto index = at.find("index")) buffer.index = read_int32(*index, 0);
    if (const auto begin = at.find("begin")) buffer.begin = begin->integer(0, kMaxBytes);
    if (const auto end = at.find("end")) buffer.end = end->integer(buffer.begin, kMaxBytes);
    // Earlier buffers only: chains cannot be circles.
    if (const auto shares = at.find("shares"))
      buffer.shares = shares->id(kNone, program_.buffers.size());
    if (const auto value = at.find("value")) buffer.value = read_int32(*value, kNone);
    if (const auto node = at.find("node")) buffer.node = read_int32(*node, kNone);
    return buffer;
  }

  Slot read_slot(const JsonCursor& at) const {
    Slot slot;
    if (const auto value = at.find("value")) slot.value = read_int32(*value, kNone);
    if (const auto dynamic = at.find("dynamic")) slot.dynamic = dynamic->boolean();
    if (const auto kind = at.find("kind")) slot.kind = read_enum<TypeKind>(*kind);
    if (slot.kind != TypeKind::tensor) return slot;
    slot.buffer = at.at("buffer").id(0, buffers_);
    slot.meta = read_meta(at);
    if (const auto strides = at.find("loop_strides")) {
      strides->each([&](const JsonCursor& item) {
        slot.loop_strides.push_back({item.at("loop").id(0, program_.loops.size()),
                                     item.at("stride").integer(-kMaxBytes, kMaxBytes)});
      });
    }
    return slot;
  }

  static TensorMeta read_meta(const JsonCursor& at) {
    TensorMeta meta;
    meta.dtype = read_dtype(at.at("dtype"));
    meta.sizes = read_integers(at.at("sizes"), 0, kMaxBytes);
    meta.strides = read_integers(at.at("strides"), 0, kMaxBytes);
    if (meta.sizes.size() != meta.strides.size()) at.fail("sizes and strides differ in length");
    if (meta.sizes.size() > kMaxRank) at.fail("more than 64 dimensions");
    if (const auto offset = at.find("storage_offset")) meta.storage_offset = read_bytes(*offset);
    if (const auto bytes = at.find("storage_bytes")) meta.storage_bytes = read_bytes(*bytes);
    check_extent(at, meta);
    return meta;
  }

  // Number of elements and last address must be numbers that arithmetic can take.
  static void check_extent(const JsonCursor& at, const TensorMeta& meta) {
    std::int64_t numel = element_size(meta.dtype), last = meta.storage_offset, step = 0;
    bool overflow = false;
    for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
      if (meta.sizes[i] == 0) continue;  // the product of the others still has to fit
      overflow |= __builtin_mul_overflow(numel, meta.sizes[i], &numel);
      overflow |= __builtin_mul_overflow(meta.sizes[i] - 1, meta.strides[i], &step);
      overflow |= __builtin_add_overflow(last, step, &last);
    }
    overflow |= __builtin_mul_overflow(last, element_size(meta.dtype), &last);
    if (overflow || numel > kMaxBytes || last > kMaxBytes) at.fail("a tensor too large to address");
  }

  std::vector<SlotId> read_slots(const JsonCursor& at) const {
    std::vector<SlotId> result;
    at.each([&](const JsonCursor& item) { result.push_back(item.id(kNone, slots_)); });
    return result;
  }

  std::vector<Ref> read_refs(const JsonCursor& at) const {
    std::vector<Ref> refs;
    for (const SlotId slot : read_slots(at)) refs.push_back({slot});
    return refs;
  }

  // See ArgWriter in json.cc.
  Arg read_arg(const JsonCursor& at) const {
    if (at.value().is_null()) return std::monostate{};
    if (at.value().is_boolean()) return at.boolean();
    if (at.value().is_number_integer()) return at.integer(INT64_MIN, INT64_MAX);
    if (at.value().is_string()) return at.text();
    if (const auto slot = at.find("slot")) return Ref{slot->id(kNone, slots_)};
    if (const auto slots = at.find("slots")) return RefList{read_refs(*slots)};
    if (const auto mixed = at.find("mixed")) {
      return MixedInts{read_integers(mixed->at("values"), INT64_MIN, INT64_MAX),
                       read_refs(mixed->at("slots"))};
    }
    if (const auto number = at.find("number")) return read_number(*number);
    if (const auto real = at.find("real")) return real->real();
    if (const auto pair = at.find("complex")) return read_complex(*pair);
    if (const auto dtype = at.find("dtype")) return read_dtype(*dtype);
    if (const auto format = at.find("memory_format")) return read_enum<MemoryFormat>(*format);
    if (const auto layout = at.find("layout")) return read_enum<Layout>(*layout);
    if (const auto device = at.find("device")) return read_enum<DeviceArg>(*device);
    return read_list(at);
  }

  static Arg read_list(const JsonCursor& at) {
    if (const auto ints = at.find("ints")) return read_integers(*ints, INT64_MIN, INT64_MAX);
    if (const auto bools = at.find("bools")) {
      std::vector<bool> values;
      bools->each([&](const JsonCursor& item) { values.push_back(item.boolean()); });
      return values;
    }
    if (const auto reals = at.find("reals")) {
      std::vector<double> values;
      reals->each([&](const JsonCursor& item) { values.push_back(item.real()); });
      return values;
    }
    at.fail("an argument of no known kind");
  }

  static std::complex<double> read_complex(const JsonCursor& at) {
    std::vector<double> parts;
    at.each([&](const JsonCursor& item) { parts.push_back(item.real()); });
    if (parts.size() != 2) at.fail("expected two numbers");
    return {parts[0], parts[1]};
  }

  static WrappedNumber read_number(const JsonCursor& at) {
    if (at.value().is_boolean()) return {at.boolean()};
    if (at.value().is_number_integer()) return {at.integer(INT64_MIN, INT64_MAX)};
    if (const auto real = at.find("real")) return {real->real()};
    return {read_complex(at.at("complex"))};
  }

  std::int32_t read_stream(const JsonCursor& at) const {
    return at.at("stream").id(0, program_.stream_names.size());
  }
  EventId read_event(const JsonCursor& at) const {
    return at.at("event").id(0, static_cast<std::size_t>(program_.events));
  }

  Launch read_launch(const JsonCursor& at) const {
    Launch launch;
    launch.node = read_int32(at.at("node"), kNone);
    launch.op = at.at("op").text();
    at.at("args").each([&](const JsonCursor& item) { launch.args.push_back(read_arg(item)); });
    launch.outputs = read_slots(at.at("outputs"));
    at.at("script").each(
        [&](const JsonCursor& item) { launch.script.push_back(read_event_of_script(item)); });
    if (const auto variant = at.find("variant")) launch.variant = variant->text();
    if (const auto guard = at.find("guard")) launch.guard = guard->id(kNone, slots_);
    if (const auto when = at.find("guard_when")) launch.guard_when = when->boolean();
    if (at.find("stream")) launch.stream = read_stream(at);
    launch.ms = at.at("ms").real();
    return launch;
  }

  ScriptEvent read_event_of_script(const JsonCursor& at) const {
    if (const auto freed = at.find("free")) return {false, freed->id(0, buffers_), 0};
    return {true, at.at("alloc").id(0, buffers_), read_bytes(at.at("size"))};
  }

  LoopStep read_loop(const JsonCursor& at, int depth) const {
    LoopStep loop;
    loop.loop = at.at("loop").id(0, program_.loops.size());
    const std::int64_t trips = program_.loops[static_cast<std::size_t>(loop.loop)];
    loop.trips = at.at("trips").integer(trips, trips);
    at.at("bodies").each(
        [&](const JsonCursor& item) { loop.bodies.push_back(read_steps(item, depth + 1)); });
    const JsonCursor classes = at.at("class_of");
    classes.each(
        [&](const JsonCursor& item) { loop.class_of.push_back(item.id(0, loop.bodies.size())); });
    if (static_cast<std::int64_t>(loop.class_of.size()) != loop.trips)
      classes.fail("expected one class for each trip");
    return loop;
  }

  Step read_step(const JsonCursor& at, int depth) const {
    const std::string& step = at.at("step").text();
    if (step == "launch") return read_launch(at);
    if (step == "copy")
      return Copy{at.at("from").id(0, slots_), at.at("to").id(0, slots_), read_stream(at)};
    if (step == "record") return RecordEvent{read_event(at), read_stream(at)};
    if (step == "wait") return WaitEvent{read_event(at), read_stream(at)};
    if (step == "release") return Release{at.at("buffer").id(0, buffers_)};
    if (step != "loops") at.fail("unknown step '" + step + "'");
    if (depth >= kMaxDepth) at.fail("loops nested too deeply");
    std::vector<LoopStep> loops;
    at.at("loops").each([&](const JsonCursor& item) { loops.push_back(read_loop(item, depth)); });
    return loops;
  }

  std::vector<Step> read_steps(const JsonCursor& at, int depth) const {
    std::vector<Step> steps;
    at.each([&](const JsonCursor& item) { steps.push_back(read_step(item, depth)); });
    return steps;
  }

  const JsonCursor& root_;
  Program program_;
  std::size_t buffers_ = 0, slots_ = 0;  // how many there will be
};

}  // namespace

Program program_from_json(std::string_view text) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& error) {
    throw Error(ErrorKind::bad_input, error.what(), "plan JSON");
  }
  return Reader(JsonCursor(document)).run();
}

}  // namespace lowwater
