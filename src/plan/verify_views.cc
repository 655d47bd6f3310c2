#include "plan/verify_views.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

namespace lowwater {
namespace {

using Ints = std::vector<std::int64_t>;

struct Dim {
  std::int64_t size = 1, stride = 0;
  friend bool operator==(const Dim&, const Dim&) = default;
};

// Dimensions without those of size 1, neighbours joined where they are one
// walk: [2,3] with strides (3,1) is [6] with stride 1.
std::vector<Dim> walk(const TensorMeta& meta) {
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] == 1) continue;
    const Dim dim{meta.sizes[i], meta.strides[i]};
    if (!dims.empty() && dims.back().stride == dim.size * dim.stride) {
      dims.back() = {dims.back().size * dim.size, dim.stride};
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

bool has_elements(const TensorMeta& meta) {
  return std::find(meta.sizes.begin(), meta.sizes.end(), 0) == meta.sizes.end();
}

std::optional<std::int64_t> integer(const Node& node, std::size_t arg) {
  if (arg >= node.args.size()) return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&node.args[arg]);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

// A dimension argument, counted from the front.
std::optional<std::size_t> dimension(const Node& node, std::size_t arg, const TensorMeta& of) {
  std::optional<std::int64_t> dim = integer(node, arg);
  const auto rank = static_cast<std::int64_t>(of.sizes.size());
  if (dim && *dim < 0) *dim += rank;
  if (!dim || *dim < 0 || *dim >= rank) return std::nullopt;
  return static_cast<std::size_t>(*dim);
}

// --- rules: the operand's view becomes the output's; false: cannot tell ---------
using Rule = bool (*)(const Node&, std::size_t index, TensorMeta&);

// Dimensions of size 1, and new ones in front, are repeated.
TensorMeta expanded(const TensorMeta& operand, const Ints& sizes) {
  TensorMeta meta = operand;
  meta.sizes = sizes;
  meta.strides.assign(sizes.size(), 0);
  const std::size_t added = sizes.size() - std::min(sizes.size(), operand.sizes.size());
  for (std::size_t i = added; i < sizes.size(); ++i) {
    if (operand.sizes[i - added] == sizes[i]) meta.strides[i] = operand.strides[i - added];
  }
  return meta;
}

bool same_elements(const Node&, std::size_t, TensorMeta&) { return true; }

bool permute(const Node& node, std::size_t, TensorMeta& meta) {
  const auto* dims = node.args.size() > 1 ? std::get_if<Ints>(&node.args[1]) : nullptr;
  if (dims == nullptr || dims->size() != meta.sizes.size()) return false;
  const TensorMeta from = meta;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const std::int64_t dim =
        (*dims)[i] < 0 ? (*dims)[i] + static_cast<std::int64_t>(dims->size()) : (*dims)[i];
    meta.sizes[i] = from.sizes.at(static_cast<std::size_t>(dim));
    meta.strides[i] = from.strides.at(static_cast<std::size_t>(dim));
  }
  return true;
}

void swap_dims(TensorMeta& meta, std::size_t a, std::size_t b) {
  std::swap(meta.sizes[a], meta.sizes[b]);
  std::swap(meta.strides[a], meta.strides[b]);
}

bool transpose(const Node& node, std::size_t, TensorMeta& meta) {
  if (meta.sizes.empty()) return true;
  const auto a = dimension(node, 1, meta), b = dimension(node, 2, meta);
  if (!a || !b) return false;
  swap_dims(meta, *a, *b);
  return true;
}

bool transpose_last(const Node&, std::size_t, TensorMeta& meta) {
  const std::size_t rank = meta.sizes.size();
  if (rank >= 2) swap_dims(meta, rank - 2, rank - 1);
  return true;
}

// Keeps [begin, begin + length) of a dimension.
void cut(TensorMeta& meta, std::size_t dim, std::int64_t begin, std::int64_t length) {
  meta.storage_offset += begin * meta.strides[dim];
  meta.sizes[dim] = length;
}

bool slice(const Node& node, std::size_t, TensorMeta& meta) {
  const auto dim = dimension(node, 1, meta);
  if (!dim || node.args.size() < 5) return false;
  const std::int64_t size = meta.sizes[*dim];
  // A bound that is None, negative or too large is brought into 0 ... size.
  const auto bound = [&](std::size_t arg, std::int64_t missing) -> std::optional<std::int64_t> {
    if (std::holds_alternative<std::monostate>(node.args[arg])) return missing;
    std::optional<std::int64_t> at = integer(node, arg);
    if (at && *at < 0) *at += size;
    return at ? std::optional(std::clamp<std::int64_t>(*at, 0, size)) : std::nullopt;
  };
  const auto begin = bound(2, 0), end = bound(3, size), step = integer(node, 4);
  if (!begin || !end || !step || *step <= 0) return false;
  cut(meta, *dim, *begin, std::max<std::int64_t>(0, (*end - *begin + *step - 1) / *step));
  meta.strides[*dim] *= *step;
  return true;
}

void drop(TensorMeta& meta, std::size_t dim, std::int64_t at) {
  const auto position = static_cast<std::ptrdiff_t>(dim);
  meta.storage_offset += at * meta.strides[dim];
  meta.sizes.erase(meta.sizes.begin() + position);
  meta.strides.erase(meta.strides.begin() + position);
}

bool select(const Node& node, std::size_t, TensorMeta& meta) {
  const auto dim = dimension(node, 1, meta);
  std::optional<std::int64_t> at = integer(node, 2);
  if (!dim || !at) return false;
  if (*at < 0) *at += meta.sizes[*dim];
  drop(meta, *dim, *at);
  return true;
}

bool unbind(const Node& node, std::size_t index, TensorMeta& meta) {
  const auto dim = dimension(node, 1, meta);
  if (!dim) return false;
  drop(meta, *dim, static_cast<std::int64_t>(index));
  return true;
}

bool narrow(const Node& node, std::size_t, TensorMeta& meta) {
  const auto dim = dimension(node, 1, meta);
  std::optional<std::int64_t> begin = integer(node, 2);
  const auto length = integer(node, 3);
  if (!dim || !begin || !length) return false;
  if (*begin < 0) *begin += meta.sizes[*dim];
  cut(meta, *dim, *begin, *length);
  return true;
}

bool part(TensorMeta& meta, std::size_t dim, std::size_t index, std::int64_t size) {
  const std::int64_t begin = static_cast<std::int64_t>(index) * size;
  cut(meta, dim, begin, std::min(size, meta.sizes[dim] - begin));
  return true;
}

bool split(const Node& node, std::size_t index, TensorMeta& meta) {
  const auto dim = dimension(node, 2, meta);
  const auto size = integer(node, 1);
  return dim && size && part(meta, *dim, index, *size);
}

bool chunk(const Node& node, std::size_t index, TensorMeta& meta) {
  const auto dim = dimension(node, 2, meta);
  const auto chunks = integer(node, 1);
  if (!dim || !chunks || *chunks <= 0) return false;
  return part(meta, *dim, index, (meta.sizes[*dim] + *chunks - 1) / *chunks);
}

bool split_with_sizes(const Node& node, std::size_t index, TensorMeta& meta) {
  const auto dim = dimension(node, 2, meta);
  const auto* sizes = node.args.size() > 1 ? std::get_if<Ints>(&node.args[1]) : nullptr;
  if (!dim || sizes == nullptr || index >= sizes->size()) return false;
  const auto end = sizes->begin() + static_cast<std::ptrdiff_t>(index);
  cut(meta, *dim, std::accumulate(sizes->begin(), end, std::int64_t{0}), *end);
  return true;
}

struct Row {
  std::string_view op;
  Rule rule;
};

constexpr std::array<Row, 36> kRules = {{
    {"aten::alias", same_elements},
    {"aten::detach", same_elements},
    {"aten::lift_fresh", same_elements},
    {"aten::contiguous", same_elements},
    {"aten::to.dtype", same_elements},
    {"aten::to.dtype_layout", same_elements},
    {"aten::to.device", same_elements},
    {"aten::dropout", same_elements},
    {"aten::view", same_elements},
    {"aten::_unsafe_view", same_elements},
    {"aten::view_as", same_elements},
    {"aten::reshape", same_elements},
    {"aten::reshape_as", same_elements},
    {"aten::flatten.using_ints", same_elements},
    {"aten::unflatten.int", same_elements},
    {"aten::squeeze", same_elements},
    {"aten::squeeze.dim", same_elements},
    {"aten::squeeze.dims", same_elements},
    {"aten::unsqueeze", same_elements},
    {"aten::permute", permute},
    {"aten::transpose.int", transpose},
    {"aten::swapaxes", transpose},
    {"aten::swapdims", transpose},
    {"aten::t", transpose_last},
    {"aten::mT", transpose_last},
    {"aten::slice.Tensor", slice},
    {"aten::select.int", select},
    {"aten::unbind.int", unbind},
    {"aten::narrow", narrow},
    {"aten::split.Tensor", split},
    {"aten::split.sizes", split_with_sizes},
    {"aten::split_with_sizes", split_with_sizes},
    {"aten::chunk", chunk},
    {"aten::_reshape_alias", same_elements},
    {"aten::type_as", same_elements},
    {"aten::to.other", same_elements},
}};

}  // namespace

bool same_sequence(const TensorMeta& a, const TensorMeta& b) {
  if (a.dtype != b.dtype) return false;
  if (!has_elements(a) || !has_elements(b)) return has_elements(a) == has_elements(b);
  return a.storage_offset == b.storage_offset && walk(a) == walk(b);
}

ViewCheck check_view(const Node& node, std::size_t index, const TensorMeta& operand,
                     const TensorMeta& view) {
  if (node.op == "aten::expand" || node.op == "aten::expand_as") {
    return same_sequence(expanded(operand, view.sizes), view) ? ViewCheck::same
                                                              : ViewCheck::different;
  }
  const auto* row = std::find_if(kRules.begin(), kRules.end(),
                                 [&](const Row& candidate) { return candidate.op == node.op; });
  TensorMeta expected = operand;
  if (row == kRules.end() || !row->rule(node, index, expected)) return ViewCheck::unknown;
  return same_sequence(expected, view) ? ViewCheck::same : ViewCheck::different;
}

ByteRange byte_extent(const TensorMeta& meta) {
  const std::int64_t size = element_size(meta.dtype);
  ByteRange range{meta.storage_offset * size, meta.storage_offset * size};
  if (!has_elements(meta)) return range;
  range.end += size;
  for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
    range.end += (meta.sizes[i] - 1) * meta.strides[i] * size;
  }
  return range;
}

void for_each_run(const TensorMeta& meta, const std::function<void(ByteRange)>& visit) {
  constexpr std::int64_t kMaxRuns = 1 << 20;
  if (!has_elements(meta)) return;
  std::vector<Dim> dims = walk(meta);
  std::sort(dims.begin(), dims.end(),
            [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
  std::int64_t run = 1;  // elements without gaps
  std::size_t outer = 0;
  for (; outer < dims.size() && dims[outer].stride <= run; ++outer) {
    run += (dims[outer].size - 1) * dims[outer].stride;
  }
  const std::int64_t bytes = element_size(meta.dtype);
  Ints index(dims.size(), 0);
  for (std::int64_t count = 0; count < kMaxRuns; ++count) {
    std::int64_t at = meta.storage_offset;
    for (std::size_t i = outer; i < dims.size(); ++i) at += index[i] * dims[i].stride;
    visit({at * bytes, (at + run) * bytes});
    std::size_t i = outer;
    while (i < dims.size() && ++index[i] == dims[i].size) index[i++] = 0;
    if (i == dims.size()) return;
  }
}

}  // namespace lowwater
