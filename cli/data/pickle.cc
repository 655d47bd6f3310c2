#include "data/pickle.h"

#include <cstring>
#include <deque>
#include <limits>
#include <unordered_map>

#include "data/pickle_value.h"
#include "data/refuse.h"

namespace lowwater {
namespace pickle {
namespace {

// Runs the instructions; owns every value.
class Machine {
 public:
  Machine(std::span<const std::byte> code, const std::string& where) : code_(code), where_(where) {}

  Value run() {
    while (true) {
      const auto instruction = take<std::uint8_t>();
      if (instruction == '.') return pop();
      if (!step_stack(instruction) && !step_value(instruction) && !step_container(instruction) &&
          !step_object(instruction)) {
        refuse_data(where_,
                    "uses pickle instruction " + std::to_string(instruction) +
                        ", which torch.save does not need for tensors",
                    "save a tensor, or a dict, list or tuple of tensors");
      }
    }
  }

 private:
  [[noreturn]] void corrupt() const {
    refuse_data(where_, "its pickle (data.pkl) is corrupt", "save the tensors again");
  }

  // ---- code ----
  template <class T>
  T take() {
    T value{};
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view take_bytes(std::size_t count) {
    if (count > code_.size() - at_) corrupt();
    const std::string_view bytes(reinterpret_cast<const char*>(code_.data()) + at_, count);
    at_ += count;
    return bytes;
  }
  std::string_view take_line() {
    const std::string_view rest(reinterpret_cast<const char*>(code_.data()) + at_,
                                code_.size() - at_);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) corrupt();
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // ---- stack ----
  void push(Value value) { stack_.push_back(value); }
  Value pop() {
    if (stack_.empty() || stack_.back().kind == Kind::mark) corrupt();
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value& top(Kind wanted) {
    if (stack_.empty() || stack_.back().kind != wanted) corrupt();
    return stack_.back();
  }
  Items pop_to_mark() {
    std::size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1].kind != Kind::mark) --mark;
    if (mark == 0) corrupt();
    Items items(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark - 1);
    return items;
  }
  Value make(Kind kind, Items items = {}) {
    return {.kind = kind, .items = &all_items_.emplace_back(std::move(items))};
  }
  Value make_tuple(std::size_t count) {
    Items items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return make(Kind::tuple, std::move(items));
  }
  void remember(std::uint32_t slot) {
    if (stack_.empty()) corrupt();
    memo_[slot] = stack_.back();
  }
  void recall(std::uint32_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) corrupt();
    push(found->second);
  }

  // Each step_... knows a family of instructions; false: not one of these.
  bool step_stack(std::uint8_t instruction) {
    // clang-format off
    switch (instruction) {
      case 0x80: take<std::uint8_t>(); return true;            // PROTO
      case 0x95: take<std::uint64_t>(); return true;           // FRAME
      case '(': push({.kind = Kind::mark}); return true;       // MARK
      case '0': pop(); return true;                            // POP
      case 'q': remember(take<std::uint8_t>()); return true;   // BINPUT
      case 'r': remember(take<std::uint32_t>()); return true;  // LONG_BINPUT
      case 0x94: remember(static_cast<std::uint32_t>(memo_.size())); return true;  // MEMOIZE
      case 'h': recall(take<std::uint8_t>()); return true;     // BINGET
      case 'j': recall(take<std::uint32_t>()); return true;    // LONG_BINGET
      default: return false;
    }
    // clang-format on
  }

  bool step_value(std::uint8_t instruction) {
    const auto integer = [&](std::int64_t value) {
      push({.kind = Kind::integer, .integer = value});
    };
    const auto text = [&](std::size_t length) {
      push({.kind = Kind::text, .text = take_bytes(length)});
    };
    // clang-format off
    switch (instruction) {
      case 'N': push({}); return true;
      case 0x88: push({.kind = Kind::boolean, .integer = 1}); return true;
      case 0x89: push({.kind = Kind::boolean}); return true;
      case 'J': integer(take<std::int32_t>()); return true;
      case 'K': integer(take<std::uint8_t>()); return true;
      case 'M': integer(take<std::uint16_t>()); return true;
      case 0x8a: integer(long_integer(take<std::uint8_t>())); return true;
      case 'G': take<std::uint64_t>(); push({.kind = Kind::other}); return true;  // a float
      case 'X': text(take<std::uint32_t>()); return true;
      case 0x8c: text(take<std::uint8_t>()); return true;
      default: return false;
    }
    // clang-format on
  }
  // Little-endian two's complement of any length; larger than 64 bits is no size.
  std::int64_t long_integer(std::size_t length) {
    const std::string_view bytes = take_bytes(length);
    if (length > 8) corrupt();
    std::uint64_t value =
        length > 0 && static_cast<signed char>(bytes.back()) < 0 ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, bytes.data(), length);
    return static_cast<std::int64_t>(value);
  }

  bool step_container(std::uint8_t instruction) {
    // clang-format off
    switch (instruction) {
      case ')': push(make(Kind::tuple)); return true;
      case ']': push(make(Kind::list)); return true;
      case '}': push(make(Kind::dict)); return true;
      case 0x85: case 0x86: case 0x87: push(make_tuple(instruction - 0x84U)); return true;
      case 't': push(make(Kind::tuple, pop_to_mark())); return true;
      case 'a': { const Value value = pop(); extend(Kind::list, {value}); return true; }
      case 'e': extend(Kind::list, pop_to_mark()); return true;
      case 's': { const Value value = pop(), key = pop(); extend(Kind::dict, {key, value}); return true; }
      case 'u': extend(Kind::dict, pop_to_mark()); return true;
      default: return false;
    }
    // clang-format on
  }
  void extend(Kind kind, const Items& more) {
    Items& items = *top(kind).items;
    if (kind == Kind::dict && more.size() % 2 != 0) corrupt();
    items.insert(items.end(), more.begin(), more.end());
  }

  bool step_object(std::uint8_t instruction) {
    switch (instruction) {
      case 'c': {  // GLOBAL
        const std::string_view module = take_line();
        global(module, take_line());
        return true;
      }
      case 0x93: {  // STACK_GLOBAL
        const std::string_view name = expect(pop(), Kind::text).text;
        global(expect(pop(), Kind::text).text, name);
        return true;
      }
      case 'Q':
        push(storage(pop()));
        return true;  // BINPERSID
      case 'R': {     // REDUCE
        const Value arguments = expect(pop(), Kind::tuple);
        push(call(expect(pop(), Kind::global), *arguments.items));
        return true;
      }
      case 'b':  // BUILD: attributes of a dictionary (a state dict's versions)
        pop();
        top(Kind::dict);
        return true;
      default:
        return false;
    }
  }
  const Value& expect(const Value& value, Kind wanted) const {
    if (value.kind != wanted) corrupt();
    return value;
  }

  void global(std::string_view module, std::string_view name) {
    const std::string full = std::string(module) + " " + std::string(name);
    const KnownGlobal* known = find_global(full);
    if (known == nullptr) {
      refuse_data(where_,
                  "needs the Python object '" + std::string(module) + "." + std::string(name) +
                      "', which is never run",
                  "save a tensor, or a dict, list or tuple of tensors");
    }
    push({.kind = Kind::global, .text = known->name});
  }

  // ("storage", type, key, device, count)
  Value storage(const Value& id) {
    const Items& items = *expect(id, Kind::tuple).items;
    if (items.size() != 5 || expect(items[0], Kind::text).text != "storage") corrupt();
    const KnownGlobal& type = *find_global(expect(items[1], Kind::global).text);
    if (type.meaning != Global::type) corrupt();
    storages_.push_back({std::string(expect(items[2], Kind::text).text), type.dtype});
    return {.kind = Kind::storage, .storage = &storages_.back()};
  }

  Value call(const Value& function, const Items& arguments) {
    switch (find_global(function.text)->meaning) {
      case Global::ordered_dict:
        if (!arguments.empty()) corrupt();
        return make(Kind::dict);
      case Global::rebuild_parameter:
        if (arguments.empty()) corrupt();
        return expect(arguments[0], Kind::tensor);
      case Global::rebuild_tensor:
        return tensor(arguments, 6, std::nullopt);
      case Global::rebuild_tensor_v3: {
        if (arguments.size() < 7) corrupt();
        return tensor(arguments, 7, find_global(expect(arguments[6], Kind::global).text)->dtype);
      }
      case Global::type:
        break;
    }
    corrupt();
  }

  // (storage, offset, sizes, strides, requires_grad, hooks, [dtype,] [metadata])
  Value tensor(const Items& arguments, std::size_t known, std::optional<DType> dtype) {
    if (arguments.size() < known) corrupt();
    const Storage& storage = *expect(arguments[0], Kind::storage).storage;
    PickledTensor tensor{.key = storage.key};
    tensor.offset = expect(arguments[1], Kind::integer).integer;
    tensor.sizes = integers(arguments[2]);
    tensor.strides = integers(arguments[3]);
    if (tensor.sizes.size() != tensor.strides.size()) corrupt();
    const std::optional<DType> type = dtype ? dtype : storage.dtype;
    if (!type) corrupt();
    tensor.dtype = *type;
    // Metadata says "conjugated" or "negated": other values than the bytes'.
    if (arguments.size() > known && arguments[known].items != nullptr &&
        !arguments[known].items->empty()) {
      refuse_data(where_, "holds a lazily conjugated or negated tensor",
                  "save x.resolve_conj().resolve_neg()");
    }
    tensors_.push_back(std::move(tensor));
    return {.kind = Kind::tensor, .tensor = &tensors_.back()};
  }
  std::vector<std::int64_t> integers(const Value& value) const {
    std::vector<std::int64_t> all;
    for (const Value& item : *expect(value, Kind::tuple).items)
      all.push_back(expect(item, Kind::integer).integer);
    return all;
  }

  std::span<const std::byte> code_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::vector<Value> stack_;
  std::unordered_map<std::uint32_t, Value> memo_;
  // Deques: values point into them. Cycles are possible, so the machine owns all.
  std::deque<Items> all_items_;
  std::deque<Storage> storages_;
  std::deque<PickledTensor> tensors_;
};

// Names the tensors by their path. A pickle can hold a list inside itself, so
// depth and work are bounded.
class Collector {
 public:
  Collector(const std::string& where, std::vector<PickledTensor>& out) : where_(where), out_(out) {}

  void collect(const Value& value, const std::string& name, int depth) {
    if (depth > kDeepest || ++visited_ > kMost) {
      refuse_data(where_, "is nested too deeply or holds too many values",
                  "save a flat dict of tensors");
    }
    if (value.kind == Kind::tensor) {
      out_.push_back(*value.tensor);
      out_.back().name = name;
    } else if (value.kind == Kind::list || value.kind == Kind::tuple) {
      for (std::size_t i = 0; i < value.items->size(); ++i) {
        collect((*value.items)[i], below(name, std::to_string(i)), depth + 1);
      }
    } else if (value.kind == Kind::dict) {
      for (std::size_t i = 0; i < value.items->size(); i += 2) {
        collect((*value.items)[i + 1], below(name, key_text((*value.items)[i])), depth + 1);
      }
    }
  }

 private:
  static constexpr int kDeepest = 100, kMost = 1'000'000;

  static std::string below(const std::string& name, const std::string& key) {
    return name.empty() ? key : name + "." + key;
  }
  static std::string key_text(const Value& key) {
    return key.kind == Kind::text ? std::string(key.text) : std::to_string(key.integer);
  }

  const std::string& where_;
  std::vector<PickledTensor>& out_;
  int visited_ = 0;
};

}  // namespace
}  // namespace pickle

std::vector<PickledTensor> read_pickled_tensors(std::span<const std::byte> code,
                                                const std::string& where) {
  pickle::Machine machine(code, where);
  const pickle::Value root = machine.run();
  std::vector<PickledTensor> tensors;
  pickle::Collector(where, tensors).collect(root, "", 0);
  return tensors;
}

}  // namespace lowwater
