// invert_view: one small function per family of view operators.
#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "graph/views.h"

namespace lowwater {
namespace {

using Ints = std::vector<std::int64_t>;

// All that an inverse may look at.
struct Site {
  const Node& view;
  std::size_t index;  // of the output
  const Type& parent;
  const Type& type;  // of the output
  Ref parent_now, written;

  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t arg) const {
    if (arg >= view.args.size()) return std::nullopt;
    const auto* value = std::get_if<std::int64_t>(&view.args[arg]);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  [[nodiscard]] const Ints* integers(std::size_t arg) const {
    return arg < view.args.size() ? std::get_if<Ints>(&view.args[arg]) : nullptr;
  }
  // A dimension counted from the front.
  [[nodiscard]] std::optional<std::int64_t> dimension(std::size_t arg) const {
    std::optional<std::int64_t> dim = integer(arg);
    if (dim && *dim < 0) *dim += static_cast<std::int64_t>(parent.sizes.size());
    if (dim && (*dim < 0 || *dim >= static_cast<std::int64_t>(parent.sizes.size()))) dim.reset();
    return dim;
  }
};

using Inverse = std::optional<Call> (*)(const Site&);

// The same elements in the same row-major order, in other sizes.
std::optional<Call> reshaped(const Site& site) {
  if (site.parent.dynamic || site.parent.numel() != site.type.numel()) return std::nullopt;
  if (site.parent.sizes == site.type.sizes) return Call{"aten::alias", {site.written}};
  return Call{"aten::reshape", {site.written, site.parent.sizes}};
}

std::optional<Call> permuted(const Site& site, const Ints& dims) {
  const auto rank = static_cast<std::int64_t>(site.parent.sizes.size());
  Ints inverse(dims.size(), -1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dim < 0 || dim >= static_cast<std::int64_t>(inverse.size())) return std::nullopt;
    inverse[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(i);
  }
  return Call{"aten::permute", {site.written, inverse}};
}

std::optional<Call> permute(const Site& site) {
  const Ints* dims = site.integers(1);
  return dims == nullptr ? std::nullopt : permuted(site, *dims);
}

std::optional<Call> reverse_dimensions(const Site& site) {
  Ints dims(site.parent.sizes.size());
  std::iota(dims.rbegin(), dims.rend(), 0);
  return permuted(site, dims);
}

std::optional<Call> transpose(const Site& site) {
  return Call{"aten::transpose.int", {site.written, site.view.args.at(1), site.view.args.at(2)}};
}

std::optional<Call> transpose_matrix(const Site& site) {
  return Call{"aten::transpose.int", {site.written, std::int64_t{-2}, std::int64_t{-1}}};
}

// slice(p, ...) -> slice_scatter(p, v, ...): the rest of the arguments is the same.
std::optional<Call> scattered(const Site& site, const char* op) {
  Call call{op, {site.parent_now, site.written}};
  call.args.insert(call.args.end(), site.view.args.begin() + 1, site.view.args.end());
  return call;
}

std::optional<Call> slice(const Site& site) { return scattered(site, "aten::slice_scatter"); }
std::optional<Call> select(const Site& site) { return scattered(site, "aten::select_scatter"); }
std::optional<Call> diagonal(const Site& site) { return scattered(site, "aten::diagonal_scatter"); }

// as_strided counts in the storage: only where the parent lies there densely.
std::optional<Call> as_strided(const Site& site) {
  if (site.parent.strides != row_major_strides(site.parent.sizes)) return std::nullopt;
  return scattered(site, "aten::as_strided_scatter");
}

std::optional<Call> slice_of(const Site& site, std::int64_t dim, std::int64_t begin) {
  const std::int64_t length = site.type.sizes.at(static_cast<std::size_t>(dim));
  return Call{"aten::slice_scatter",
              {site.parent_now, site.written, dim, begin, begin + length, std::int64_t{1}}};
}

std::optional<Call> narrow(const Site& site) {
  const std::optional<std::int64_t> dim = site.dimension(1);
  std::optional<std::int64_t> begin = site.integer(2);
  if (!dim || !begin) return std::nullopt;
  if (*begin < 0) *begin += site.parent.sizes[static_cast<std::size_t>(*dim)];
  return slice_of(site, *dim, *begin);
}

std::optional<Call> split(const Site& site) {
  const std::optional<std::int64_t> size = site.integer(1), dim = site.dimension(2);
  if (!size || !dim) return std::nullopt;
  return slice_of(site, *dim, static_cast<std::int64_t>(site.index) * *size);
}

std::optional<Call> split_with_sizes(const Site& site) {
  const Ints* sizes = site.integers(1);
  const std::optional<std::int64_t> dim = site.dimension(2);
  if (sizes == nullptr || !dim || site.index >= sizes->size()) return std::nullopt;
  const auto begin = std::accumulate(
      sizes->begin(), sizes->begin() + static_cast<std::ptrdiff_t>(site.index), std::int64_t{0});
  return slice_of(site, *dim, begin);
}

std::optional<Call> chunk(const Site& site) {
  const std::optional<std::int64_t> chunks = site.integer(1), dim = site.dimension(2);
  if (!chunks || !dim || *chunks <= 0) return std::nullopt;
  const std::int64_t size = site.parent.sizes[static_cast<std::size_t>(*dim)];
  return slice_of(site, *dim,
                  static_cast<std::int64_t>(site.index) * ((size + *chunks - 1) / *chunks));
}

std::optional<Call> unbind(const Site& site) {
  const std::optional<std::int64_t> dim = site.dimension(1);
  if (!dim) return std::nullopt;
  return Call{"aten::select_scatter",
              {site.parent_now, site.written, *dim, static_cast<std::int64_t>(site.index)}};
}

std::optional<Call> other_dtype(const Site& site) {
  if (element_size(site.parent.dtype) != element_size(site.type.dtype)) return std::nullopt;
  return Call{"aten::view.dtype", {site.written, site.parent.dtype}};
}

std::optional<Call> as_real(const Site& site) {
  return Call{"aten::view_as_complex", {site.written}};
}
std::optional<Call> as_complex(const Site& site) {
  return Call{"aten::view_as_real", {site.written}};
}

struct Row {
  std::string_view op;
  Inverse inverse;
};

constexpr std::array<Row, 47> kRows = {{
    {"aten::alias", reshaped},
    {"aten::detach", reshaped},
    {"aten::lift_fresh", reshaped},
    {"aten::positive", reshaped},
    {"aten::contiguous", reshaped},
    {"aten::type_as", reshaped},
    {"aten::to.dtype", reshaped},
    {"aten::to.dtype_layout", reshaped},
    {"aten::to.device", reshaped},
    {"aten::to.other", reshaped},
    {"aten::dropout", reshaped},
    {"aten::feature_dropout", reshaped},
    {"aten::alpha_dropout", reshaped},
    {"aten::feature_alpha_dropout", reshaped},
    {"aten::view", reshaped},
    {"aten::view_as", reshaped},
    {"aten::reshape", reshaped},
    {"aten::reshape_as", reshaped},
    {"aten::_reshape_alias", reshaped},
    {"aten::flatten.using_ints", reshaped},
    {"aten::unflatten.int", reshaped},
    {"aten::squeeze", reshaped},
    {"aten::squeeze.dim", reshaped},
    {"aten::squeeze.dims", reshaped},
    {"aten::unsqueeze", reshaped},
    {"aten::expand", reshaped},
    {"aten::expand_as", reshaped},
    {"aten::permute", permute},
    {"aten::transpose.int", transpose},
    {"aten::swapaxes", transpose},
    {"aten::swapdims", transpose},
    {"aten::t", reverse_dimensions},
    {"aten::numpy_T", reverse_dimensions},
    {"aten::mT", transpose_matrix},
    {"aten::slice.Tensor", slice},
    {"aten::select.int", select},
    {"aten::diagonal", diagonal},
    {"aten::as_strided", as_strided},
    {"aten::narrow", narrow},
    {"aten::split.Tensor", split},
    {"aten::split.sizes", split_with_sizes},
    {"aten::split_with_sizes", split_with_sizes},
    {"aten::chunk", chunk},
    {"aten::unbind.int", unbind},
    {"aten::view.dtype", other_dtype},
    {"aten::view_as_real", as_real},
    {"aten::view_as_complex", as_complex},
}};

}  // namespace

std::optional<Call> invert_view(const Graph& graph, const Node& view, std::size_t index,
                                ValueId parent, ValueId parent_now, ValueId written) {
  const auto* row = std::find_if(kRows.begin(), kRows.end(),
                                 [&](const Row& candidate) { return candidate.op == view.op; });
  if (row == kRows.end()) return std::nullopt;
  return row->inverse({view, index, graph.value(parent).type, graph.value(view.outputs[index]).type,
                       Ref{parent_now}, Ref{written}});
}

}  // namespace lowwater
