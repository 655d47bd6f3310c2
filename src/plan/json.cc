// Program -> JSON. What has its default value is left out. See json_read.cc for
// the way back.
#include "plan/json.h"

#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>
#include <utility>

#include "plan/json_names.h"

namespace lowwater {
namespace {

using nlohmann::json;

json write_real(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

json write_ids(const std::vector<Ref>& refs) {
  json ids = json::array();
  for (const Ref& ref : refs) ids.push_back(ref.id);
  return ids;
}

// JSON has fewer types than arguments have: all but None, bools, integers and
// strings say what they are, {"dtype": "f32"}.
struct ArgWriter {
  json operator()(std::monostate) const { return nullptr; }
  json operator()(bool value) const { return value; }
  json operator()(std::int64_t value) const { return value; }
  json operator()(const std::string& value) const { return value; }
  json operator()(double value) const { return {{"real", write_real(value)}}; }
  json operator()(const std::complex<double>& value) const {
    return {{"complex", json::array({write_real(value.real()), write_real(value.imag())})}};
  }
  json operator()(const Ref& ref) const { return {{"slot", ref.id}}; }
  json operator()(const RefList& list) const { return {{"slots", write_ids(list.refs)}}; }
  json operator()(const MixedInts& mixed) const {
    return {{"mixed", {{"values", mixed.values}, {"slots", write_ids(mixed.refs)}}}};
  }
  json operator()(const WrappedNumber& number) const {
    return {{"number", std::visit(*this, number.value)}};
  }
  json operator()(DType dtype) const { return {{"dtype", dtype_name(dtype)}}; }
  json operator()(MemoryFormat format) const { return {{"memory_format", enum_name(format)}}; }
  json operator()(Layout layout) const { return {{"layout", enum_name(layout)}}; }
  json operator()(DeviceArg device) const { return {{"device", enum_name(device)}}; }
  json operator()(const std::vector<bool>& values) const { return {{"bools", values}}; }
  json operator()(const std::vector<std::int64_t>& values) const { return {{"ints", values}}; }
  json operator()(const std::vector<double>& values) const {
    json reals = json::array();
    for (const double value : values) reals.push_back(write_real(value));
    return {{"reals", std::move(reals)}};
  }
};

template <typename T>
void put(json& object, const char* key, const T& value, const T& usual) {
  if (value != usual) object[key] = value;
}

json write_buffer(const Buffer& buffer) {
  const Buffer usual;
  json object = {
      {"space", enum_name(buffer.space)}, {"kind", enum_name(buffer.kind)}, {"size", buffer.size}};
  put(object, "offset", buffer.offset, usual.offset);
  put(object, "index", buffer.index, usual.index);
  put(object, "begin", buffer.begin, usual.begin);
  put(object, "end", buffer.end, usual.end);
  put(object, "shares", buffer.shares, usual.shares);
  put(object, "value", buffer.value, usual.value);
  put(object, "node", buffer.node, usual.node);
  return object;
}

json write_slot(const Slot& slot) {
  const Slot usual;
  json object = json::object();
  put(object, "value", slot.value, usual.value);
  put(object, "dynamic", slot.dynamic, usual.dynamic);
  if (slot.kind != TypeKind::tensor) {
    object["kind"] = enum_name(slot.kind);
    return object;
  }
  object["buffer"] = slot.buffer;
  object["dtype"] = dtype_name(slot.meta.dtype);
  object["sizes"] = slot.meta.sizes;
  object["strides"] = slot.meta.strides;
  put(object, "storage_offset", slot.meta.storage_offset, usual.meta.storage_offset);
  put(object, "storage_bytes", slot.meta.storage_bytes, usual.meta.storage_bytes);
  for (const LoopStride& stride : slot.loop_strides) {
    object["loop_strides"].push_back({{"loop", stride.loop}, {"stride", stride.stride}});
  }
  return object;
}

json write_steps(const std::vector<Step>& steps);

struct StepWriter {
  json operator()(const Launch& launch) const {
    const Launch usual;
    json object = {
        {"step", "launch"}, {"node", launch.node}, {"op", launch.op}, {"outputs", launch.outputs}};
    json& args = object["args"] = json::array();
    for (const Arg& arg : launch.args) args.push_back(std::visit(ArgWriter{}, arg));
    json& script = object["script"] = json::array();
    for (const ScriptEvent& event : launch.script) {
      script.push_back(event.is_alloc ? json{{"alloc", event.buffer}, {"size", event.size}}
                                      : json{{"free", event.buffer}});
    }
    put(object, "variant", launch.variant, usual.variant);
    put(object, "guard", launch.guard, usual.guard);
    put(object, "guard_when", launch.guard_when, usual.guard_when);
    put(object, "stream", launch.stream, usual.stream);
    object["ms"] = write_real(launch.ms);
    return object;
  }
  json operator()(const Copy& copy) const {
    return {{"step", "copy"}, {"from", copy.from}, {"to", copy.to}, {"stream", copy.stream}};
  }
  json operator()(const RecordEvent& step) const {
    return {{"step", "record"}, {"event", step.event}, {"stream", step.stream}};
  }
  json operator()(const WaitEvent& step) const {
    return {{"step", "wait"}, {"event", step.event}, {"stream", step.stream}};
  }
  json operator()(const Release& step) const {
    return {{"step", "release"}, {"buffer", step.buffer}};
  }
  json operator()(const std::vector<LoopStep>& loops) const {
    json list = json::array();
    for (const LoopStep& loop : loops) {
      json bodies = json::array();
      for (const std::vector<Step>& body : loop.bodies) bodies.push_back(write_steps(body));
      list.push_back({{"loop", loop.loop},
                      {"trips", loop.trips},
                      {"bodies", std::move(bodies)},
                      {"class_of", loop.class_of}});
    }
    return {{"step", "loops"}, {"loops", std::move(list)}};
  }
};

json write_steps(const std::vector<Step>& steps) {
  json list = json::array();
  for (const Step& step : steps) list.push_back(std::visit(StepWriter{}, step));
  return list;
}

}  // namespace

std::string program_to_json(const Program& program) {
  json root = {{"alignment", program.alignment},
               {"arena_bytes", program.arena_bytes},
               {"once_arena_bytes", program.once_arena_bytes},
               {"constant_bytes", program.constant_bytes},
               {"events", program.events},
               {"streams", program.stream_names},
               {"loops", program.loops},
               {"inputs", program.inputs},
               {"outputs", program.outputs}};
  json& buffers = root["buffers"] = json::array();
  for (const Buffer& buffer : program.buffers) buffers.push_back(write_buffer(buffer));
  json& slots = root["slots"] = json::array();
  for (const Slot& slot : program.slots) slots.push_back(write_slot(slot));
  root["once"] = write_steps(program.once);
  root["steps"] = write_steps(program.steps);
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace lowwater
