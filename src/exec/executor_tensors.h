// Tensors over memory that is placed by lowwater: storages at fixed addresses
// and views of storages as a Slot describes them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <string>

#include "analysis/step.h"
#include "base/dtype.h"

namespace lowwater {

c10::ScalarType scalar_type_of(DType dtype);
// Throws Error(unsupported) for a type that lowwater has no name for.
DType dtype_of(c10::ScalarType type);

// Borrows [address, address + size): frees nothing, cannot be resized, so that
// an operator that would outgrow its place fails loudly.
c10::Storage storage_over(std::byte* address, Bytes size, c10::Device device);

// A view of `storage`; meta.storage_offset counts from byte `base` of it. The
// view shares ownership of the storage. Call under InferenceMode.
at::Tensor view_of(const c10::Storage& storage, const TensorMeta& meta, Bytes base = 0);

// From whatever allocator answers at the moment: inside a scope, a planned block.
c10::Storage new_storage(Bytes size, c10::Device device);

TensorMeta meta_of(const at::Tensor& tensor);

// "f32[1,3,8,8]", with strides where they are not row-major; for messages.
std::string describe(const TensorMeta& meta);

// Same type, sizes and strides (of dimensions larger than 1).
bool matches(const at::Tensor& tensor, const TensorMeta& meta);

}  // namespace lowwater
