#include "exec/executor_tensors.h"

#include <ATen/ops/empty.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <utility>

#include "lowwater/error.h"

namespace lowwater {
namespace {

using Pair = std::pair<DType, c10::ScalarType>;

constexpr std::array kTypes = {
    Pair{DType::u8, c10::ScalarType::Byte},
    Pair{DType::i8, c10::ScalarType::Char},
    Pair{DType::i16, c10::ScalarType::Short},
    Pair{DType::i32, c10::ScalarType::Int},
    Pair{DType::i64, c10::ScalarType::Long},
    Pair{DType::f16, c10::ScalarType::Half},
    Pair{DType::f32, c10::ScalarType::Float},
    Pair{DType::f64, c10::ScalarType::Double},
    Pair{DType::c32, c10::ScalarType::ComplexHalf},
    Pair{DType::c64, c10::ScalarType::ComplexFloat},
    Pair{DType::c128, c10::ScalarType::ComplexDouble},
    Pair{DType::boolean, c10::ScalarType::Bool},
    Pair{DType::bf16, c10::ScalarType::BFloat16},
    Pair{DType::u16, c10::ScalarType::UInt16},
    Pair{DType::f8_e4m3fn, c10::ScalarType::Float8_e4m3fn},
    Pair{DType::f8_e5m2, c10::ScalarType::Float8_e5m2},
    Pair{DType::f8_e4m3fnuz, c10::ScalarType::Float8_e4m3fnuz},
    Pair{DType::f8_e5m2fnuz, c10::ScalarType::Float8_e5m2fnuz},
};

}  // namespace

c10::ScalarType scalar_type_of(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return theirs;
  }
  throw Error(ErrorKind::internal, "no PyTorch type for " + std::string(dtype_name(dtype)));
}

DType dtype_of(c10::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  throw Error(ErrorKind::unsupported, std::string("element type ") + c10::toString(type));
}

c10::Storage storage_over(std::byte* address, Bytes size, c10::Device device) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), c10::SymInt(size), c10::DataPtr(address, device),
      /*allocator=*/nullptr, /*resizable=*/false));
}

at::Tensor view_of(const c10::Storage& storage, const TensorMeta& meta, Bytes base) {
  const auto key = storage.device().is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  const Bytes element = element_size(meta.dtype);
  if (base % element != 0) {
    throw Error(ErrorKind::internal, fmt::format("a view at byte {} of {}", base, describe(meta)));
  }
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(key),
      c10::scalarTypeToTypeMeta(scalar_type_of(meta.dtype)));
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_storage_offset(base / element + meta.storage_offset);
  impl->set_sizes_and_strides(meta.sizes, meta.strides);
  return tensor;
}

c10::Storage new_storage(Bytes size, c10::Device device) {
  return at::empty({size}, at::TensorOptions(at::kByte).device(device)).storage();
}

TensorMeta meta_of(const at::Tensor& tensor) {
  TensorMeta meta;
  meta.dtype = dtype_of(tensor.scalar_type());
  meta.sizes = tensor.sizes().vec();
  meta.strides = tensor.strides().vec();
  meta.storage_offset = tensor.storage_offset();
  meta.storage_bytes = static_cast<Bytes>(tensor.storage().nbytes());
  return meta;
}

std::string describe(const TensorMeta& meta) {
  std::string text = fmt::format("{}[{}]", dtype_name(meta.dtype), fmt::join(meta.sizes, ","));
  if (meta.strides != contiguous_strides(meta.sizes)) {
    text += fmt::format(" strides [{}]", fmt::join(meta.strides, ","));
  }
  return text;
}

bool matches(const at::Tensor& tensor, const TensorMeta& meta) {
  if (tensor.scalar_type() != scalar_type_of(meta.dtype)) return false;
  if (tensor.sizes() != c10::IntArrayRef(meta.sizes)) return false;
  if (tensor.numel() == 0) return true;
  for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
    const bool same = tensor.stride(static_cast<std::int64_t>(i)) == meta.strides[i];
    if (meta.sizes[i] > 1 && !same) return false;
  }
  return true;
}

}  // namespace lowwater
