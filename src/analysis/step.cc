#include "analysis/step.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <type_traits>
#include <unordered_map>

namespace lowwater {
namespace {

// Keys are built by appending: they are made once per node and candidate, so
// formatting libraries would dominate.
void append(std::string& out, std::int64_t number) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, number).ptr);
}

// The shortest text that reads back as the same double ("-0" and "0" differ).
void append(std::string& out, double number) {
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, number).ptr);
}

template <typename Item>
void append_list(std::string& out, const std::vector<Item>& items) {
  out += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append(out, static_cast<std::conditional_t<std::is_same_v<Item, double>, double, std::int64_t>>(
                    items[i]));
  }
  out += ']';
}

// Every alternative of Arg starts with a letter of its own, so that 1, 1.0,
// true and a wrapped 1 give different keys.
struct AppendArg {
  std::string& out;

  void operator()(std::monostate) const { out += 'N'; }
  void operator()(const Ref& ref) const {
    out += '@';
    append(out, std::int64_t{ref.id});
  }
  void operator()(const RefList& list) const {
    out += 'T';
    refs(list.refs);
  }
  void operator()(const MixedInts& mixed) const {
    out += 'm';
    append_list(out, mixed.values);
    refs(mixed.refs);
  }
  void operator()(const WrappedNumber& number) const {
    out += 'w';
    std::visit([this](const auto& value) { (*this)(value); }, number.value);
  }
  void operator()(bool value) const { out += value ? "bt" : "bf"; }
  void operator()(std::int64_t value) const { append(out, value); }
  void operator()(double value) const {
    out += 'd';
    append(out, value);
  }
  void operator()(const std::complex<double>& value) const {
    out += 'c';
    append(out, value.real());
    out += ':';
    append(out, value.imag());
  }
  // The length in front keeps texts with commas and brackets apart.
  void operator()(const std::string& text) const {
    out += 's';
    append(out, static_cast<std::int64_t>(text.size()));
    out += ':';
    out += text;
  }
  void operator()(DType dtype) const {
    out += 't';
    out += dtype_name(dtype);
  }
  void operator()(MemoryFormat format) const { code('f', static_cast<std::int64_t>(format)); }
  void operator()(Layout layout) const { code('l', static_cast<std::int64_t>(layout)); }
  void operator()(DeviceArg device) const { code('v', static_cast<std::int64_t>(device)); }
  void operator()(const std::vector<bool>& list) const { tagged('B', list); }
  void operator()(const std::vector<std::int64_t>& list) const { tagged('I', list); }
  void operator()(const std::vector<double>& list) const { tagged('D', list); }

 private:
  void code(char tag, std::int64_t value) const {
    out += tag;
    append(out, value);
  }
  template <typename List>
  void tagged(char tag, const List& list) const {
    out += tag;
    append_list(out, list);
  }
  void refs(const std::vector<Ref>& list) const {
    for (const Ref& ref : list) (*this)(ref);
    out += '.';
  }
};

// Both figures of one walk over the events.
struct LiveBytes {
  Bytes peak = 0;
  Bytes kept_by_outputs = 0;
};

LiveBytes walk(const StepRecord& record) {
  LiveBytes result;
  Bytes live = 0;
  std::unordered_map<std::int32_t, Bytes> sizes;
  for (const AllocEvent& event : record.events) {
    if (event.is_alloc) {
      sizes[event.id] = event.size;
      live += event.size;
      result.peak = std::max(result.peak, live);
    } else if (const auto found = sizes.find(event.id); found != sizes.end()) {
      live -= found->second;
      sizes.erase(found);
    }
  }
  for (const StepOutput& output : record.outputs) {
    if (output.home != OutputHome::fresh) continue;
    // Erased: two outputs may be views of one allocation.
    if (const auto found = sizes.find(output.source); found != sizes.end()) {
      result.kept_by_outputs += found->second;
      sizes.erase(found);
    }
  }
  return result;
}

}  // namespace

Bytes TensorMeta::extent_bytes() const {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return (last + 1) * element_size(dtype);
}

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
  return row_major_strides(sizes);
}

bool same_layout(const TensorMeta& a, const TensorMeta& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return false;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    if (a.sizes[i] != 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

std::string StepSpec::key() const {
  std::string out;
  out.reserve(op.size() + 32 * (args.size() + tensors.size()));
  out += op;
  out += '(';
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i > 0) out += ',';
    std::visit(AppendArg{out}, args[i]);
  }
  out += ')';
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorMeta& tensor = tensors[i];
    out += ' ';
    out += dtype_name(tensor.dtype);
    append_list(out, tensor.sizes);
    if (tensor.strides != contiguous_strides(tensor.sizes)) append_list(out, tensor.strides);
    out += '+';
    append(out, tensor.storage_offset);
    out += '/';
    append(out, tensor.storage_bytes);
    out += 'g';
    append(out, std::int64_t{storage_group[i]});
  }
  out += ' ';
  out += variant;
  if (worst_case) out += " worst";
  return out;
}

Bytes StepRecord::peak_bytes() const { return walk(*this).peak; }

Bytes StepRecord::temporary_bytes() const {
  const LiveBytes live = walk(*this);
  return live.peak - live.kept_by_outputs;
}

}  // namespace lowwater
