#include "ops/op_table.h"

#include <unordered_map>

namespace lowwater {
namespace {

// Operators that follow the same rules.
struct Family {
  std::string_view name;
  CostClass cost;
  std::uint32_t share_mask;
  std::vector<std::string_view> ops;
};

// Argument i as a share_mask bit.
constexpr std::uint32_t arg(int i) { return 1U << static_cast<unsigned>(i); }

// The families that may share addresses are elementwise kernels: they read
// index i of their operands, then write index i. Each of their operators was
// run with its output placed on the operand (contiguous and channels-last,
// half, single and double precision) and gave the bits of a separate output.
std::vector<Family> pointwise_families() {
  using enum CostClass;
  return {
      {"pointwise, one operand", pointwise, arg(0), {"aten::abs",         "aten::acos",
                                                     "aten::asin",        "aten::asinh",
                                                     "aten::atan",        "aten::bitwise_not",
                                                     "aten::ceil",        "aten::celu",
                                                     "aten::clamp",       "aten::clamp_max",
                                                     "aten::clamp_min",   "aten::clip",
                                                     "aten::cos",         "aten::cosh",
                                                     "aten::elu",         "aten::erf",
                                                     "aten::erfc",        "aten::exp",
                                                     "aten::exp2",        "aten::expm1",
                                                     "aten::floor",       "aten::frac",
                                                     "aten::gelu",        "aten::hardshrink",
                                                     "aten::hardsigmoid", "aten::hardswish",
                                                     "aten::hardtanh",    "aten::leaky_relu",
                                                     "aten::log",         "aten::log10",
                                                     "aten::log1p",       "aten::log2",
                                                     "aten::logical_not", "aten::logit",
                                                     "aten::mish",        "aten::nan_to_num",
                                                     "aten::neg",         "aten::pow.Tensor_Scalar",
                                                     "aten::reciprocal",  "aten::relu",
                                                     "aten::relu6",       "aten::round",
                                                     "aten::rsqrt",       "aten::selu",
                                                     "aten::sgn",         "aten::sigmoid",
                                                     "aten::sign",        "aten::silu",
                                                     "aten::sin",         "aten::sinh",
                                                     "aten::softplus",    "aten::softshrink",
                                                     "aten::sqrt",        "aten::square",
                                                     "aten::tan",         "aten::tanh",
                                                     "aten::threshold",   "aten::trunc"}},
      {"pointwise, operand and number",
       pointwise,
       arg(0),
       {"aten::add.Scalar", "aten::div.Scalar", "aten::fmod.Scalar", "aten::mul.Scalar",
        "aten::remainder.Scalar", "aten::rsub.Scalar", "aten::sub.Scalar"}},
      {"pointwise, number and operand", pointwise, arg(1), {"aten::pow.Scalar"}},
      {"pointwise, two operands",
       pointwise,
       arg(0) | arg(1),
       {"aten::__and__.Tensor",
        "aten::__or__.Tensor",
        "aten::__xor__.Tensor",
        "aten::add.Tensor",
        "aten::atan2",
        "aten::bitwise_and.Tensor",
        "aten::bitwise_or.Tensor",
        "aten::bitwise_xor.Tensor",
        "aten::div.Tensor",
        "aten::div.Tensor_mode",
        "aten::floor_divide",
        "aten::fmod.Tensor",
        "aten::lerp.Scalar",
        "aten::logical_and",
        "aten::logical_or",
        "aten::max.other",
        "aten::maximum",
        "aten::min.other",
        "aten::minimum",
        "aten::mul.Tensor",
        "aten::pow.Tensor_Tensor",
        "aten::remainder.Tensor",
        "aten::rsub.Tensor",
        "aten::sub.Tensor"}},
      {"pointwise, three operands",
       pointwise,
       arg(0) | arg(1) | arg(2),
       {"aten::addcdiv", "aten::addcmul", "aten::lerp.Tensor"}},
      {"select by mask", pointwise, arg(1) | arg(2), {"aten::where.self"}},
      {"select by mask, operand or number", pointwise, arg(1), {"aten::where.ScalarOther"}},
      {"select by mask, number or operand", pointwise, arg(2), {"aten::where.ScalarSelf"}},
      {"fill by mask", pointwise, arg(0), {"aten::masked_fill.Scalar", "aten::masked_fill.Tensor"}},
      {"batch norm in eval mode",
       pointwise,
       arg(0),
       {"aten::_native_batch_norm_legit_no_training"}},
      {"slope per channel", pointwise, arg(0), {"aten::prelu"}},
      // Other types than their operands', or a composite of several kernels.
      {"comparison",
       pointwise,
       0,
       {"aten::eq.Scalar", "aten::eq.Tensor", "aten::ge.Scalar", "aten::ge.Tensor",
        "aten::gt.Scalar", "aten::gt.Tensor", "aten::isfinite", "aten::isinf", "aten::isnan",
        "aten::le.Scalar", "aten::le.Tensor", "aten::lt.Scalar", "aten::lt.Tensor",
        "aten::ne.Scalar", "aten::ne.Tensor", "aten::where.Scalar"}},
      {"copy or cast",
       pointwise,
       0,
       {"aten::_to_copy", "aten::clone", "aten::contiguous", "aten::copy", "aten::lift_fresh_copy",
        "aten::reshape", "aten::to.dtype", "aten::type_as"}},
      {"log-sigmoid", pointwise, 0, {"aten::log_sigmoid"}},
      {"glu", pointwise, 0, {"aten::glu"}},
      {"outer product", pointwise, 0, {"aten::outer"}},
  };
}

std::vector<Family> window_and_matmul_families() {
  using enum CostClass;
  return {
      {"convolution",
       matmul,
       0,
       {"aten::conv1d", "aten::conv1d.padding", "aten::conv2d", "aten::conv2d.padding",
        "aten::conv3d", "aten::conv3d.padding", "aten::conv_transpose1d",
        "aten::conv_transpose2d.input", "aten::conv_transpose3d.input", "aten::convolution"}},
      {"pooling",
       window,
       0,
       {"aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d", "aten::adaptive_avg_pool3d",
        "aten::adaptive_max_pool2d", "aten::avg_pool1d", "aten::avg_pool2d", "aten::avg_pool3d",
        "aten::max_pool1d", "aten::max_pool2d", "aten::max_pool2d_with_indices", "aten::max_pool3d",
        "aten::max_pool3d_with_indices"}},
      {"resampling",
       window,
       0,
       {"aten::_upsample_nearest_exact2d.vec", "aten::grid_sampler", "aten::upsample_bicubic2d.vec",
        "aten::upsample_bilinear2d.vec", "aten::upsample_linear1d.vec",
        "aten::upsample_nearest1d.vec", "aten::upsample_nearest2d.vec",
        "aten::upsample_nearest3d.vec", "aten::upsample_trilinear3d.vec"}},
      {"patches", window, 0, {"aten::col2im", "aten::im2col"}},
      {"matrix product",
       matmul,
       0,
       {"aten::addmm", "aten::baddbmm", "aten::bmm", "aten::cdist", "aten::einsum", "aten::linear",
        "aten::matmul", "aten::mm", "aten::mv", "aten::dot"}},
      {"attention", matmul, 0, {"aten::scaled_dot_product_attention"}},
      {"recurrent layer", matmul, 0, {"aten::gru.input", "aten::lstm.input"}},
  };
}

std::vector<Family> reduction_families() {
  using enum CostClass;
  return {
      {"softmax",
       reduction,
       0,
       {"aten::_log_softmax", "aten::_softmax", "aten::log_softmax.int", "aten::softmax.int"}},
      {"layer norm",
       reduction,
       0,
       {"aten::layer_norm", "aten::native_layer_norm", "aten::rms_norm"}},
      {"group and instance norm",
       reduction,
       0,
       {"aten::_native_batch_norm_legit.no_stats", "aten::group_norm", "aten::instance_norm",
        "aten::native_group_norm"}},
      {"weight norm", reduction, 0, {"aten::_weight_norm"}},
      {"reduction",
       reduction,
       0,
       {"aten::all.dim", "aten::amax", "aten::amin", "aten::any.dim", "aten::linalg_norm",
        "aten::linalg_vector_norm", "aten::logsumexp", "aten::max.dim", "aten::mean",
        "aten::mean.dim", "aten::min.dim", "aten::mse_loss", "aten::prod.dim_int", "aten::std.dim",
        "aten::sum", "aten::sum.dim_IntList", "aten::var.correction", "aten::var_mean.correction"}},
      {"position of an extreme", reduction, 0, {"aten::argmax", "aten::argmin"}},
      {"order", reduction, 0, {"aten::sort", "aten::topk"}},
      {"scan", reduction, 0, {"aten::cumprod", "aten::cumsum"}},
  };
}

std::vector<Family> index_families() {
  using enum CostClass;
  return {
      {"concatenation",
       pointwise,
       0,
       {"aten::cat", "aten::concat", "aten::concatenate", "aten::stack"}},
      {"padding", pointwise, 0, {"aten::constant_pad_nd", "aten::pad"}},
      {"rearrangement",
       pointwise,
       0,
       {"aten::channel_shuffle", "aten::flip", "aten::pixel_shuffle", "aten::pixel_unshuffle",
        "aten::repeat", "aten::repeat_interleave.self_int", "aten::roll", "aten::tril",
        "aten::triu"}},
      {"scatter into a copy",
       pointwise,
       0,
       {"aten::index_put", "aten::scatter.src", "aten::scatter.value", "aten::select_scatter",
        "aten::slice_scatter"}},
      {"lookup",
       pointwise,
       0,
       {"aten::embedding", "aten::gather", "aten::index.Tensor", "aten::index_select",
        "aten::one_hot"}},
      {"factory",
       pointwise,
       0,
       {"aten::arange", "aten::arange.start", "aten::arange.start_step", "aten::fill.Scalar",
        "aten::fill.Tensor", "aten::full", "aten::full_like", "aten::linspace", "aten::new_full",
        "aten::new_ones", "aten::new_zeros", "aten::ones", "aten::ones_like", "aten::scalar_tensor",
        "aten::zero", "aten::zeros", "aten::zeros_like"}},
      {"uninitialised",
       free,
       0,
       {"aten::empty.memory_format", "aten::empty_like", "aten::new_empty"}},
      {"view",
       free,
       0,
       {"aten::_unsafe_view",
        "aten::alias",
        "aten::as_strided",
        "aten::broadcast_tensors",
        "aten::chunk",
        "aten::detach",
        "aten::diagonal",
        "aten::dropout",
        "aten::expand",
        "aten::flatten.using_ints",
        "aten::meshgrid.indexing",
        "aten::movedim.int",
        "aten::narrow",
        "aten::permute",
        "aten::select.int",
        "aten::slice.Tensor",
        "aten::split.Tensor",
        "aten::split_with_sizes",
        "aten::squeeze",
        "aten::squeeze.dim",
        "aten::squeeze.dims",
        "aten::t",
        "aten::transpose.int",
        "aten::unbind.int",
        "aten::unflatten.int",
        "aten::unfold",
        "aten::unsqueeze",
        "aten::view",
        "aten::view_as_complex",
        "aten::view_as_real"}},
  };
}

std::vector<OpRow> make_table() {
  std::vector<OpRow> table;
  for (const auto& families : {pointwise_families(), window_and_matmul_families(),
                               reduction_families(), index_families()}) {
    for (const Family& family : families) {
      for (const std::string_view op : family.ops) {
        table.push_back({op, family.cost, family.share_mask, nullptr, nullptr, family.name});
      }
    }
  }
  return table;
}

}  // namespace

const std::vector<OpRow>& op_table() {
  static const std::vector<OpRow> table = make_table();
  return table;
}

const OpRow* find_op(std::string_view op) {
  static const std::unordered_map<std::string_view, const OpRow*> by_name = [] {
    std::unordered_map<std::string_view, const OpRow*> map;
    for (const OpRow& row : op_table()) map.emplace(row.op, &row);
    return map;
  }();
  const auto found = by_name.find(op);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace lowwater
