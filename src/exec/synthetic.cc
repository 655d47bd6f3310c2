#include "exec/synthetic.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <c10/core/Storage.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "exec/executor_tensors.h"
#include "exec/scripted_allocator.h"

namespace lowwater {
namespace {

// Elements made; a larger storage repeats them.
constexpr std::int64_t kBlock = 1 << 16;
constexpr std::uint64_t kSeed = 20240229;
// Distinct numbers in a worst case; fits the narrowest integer type.
constexpr std::int64_t kDistinct = 127;

// Complex numbers are pairs of these.
DType component(DType dtype) {
  switch (dtype) {
    case DType::c32:
      return DType::f16;
    case DType::c64:
      return DType::f32;
    case DType::c128:
      return DType::f64;
    default:
      return dtype;
  }
}

at::Tensor float_block(Synthetic kind) {
  const at::Generator generator = at::detail::createCPUGenerator(kSeed);
  if (kind == Synthetic::usual) return at::randn({kBlock}, generator, at::kFloat);
  // Away from 0, also after rounding to eight bits.
  return at::rand({kBlock}, generator, at::kFloat).mul_(0.5).add_(0.25);
}

// A block of elements to repeat, on the host; undefined: all bytes are zero.
at::Tensor host_block(DType dtype, Synthetic kind, bool worst_case) {
  const DType element = component(dtype);
  const c10::ScalarType type = scalar_type_of(element);
  if (is_floating(element)) return float_block(kind).to(type);
  if (dtype == DType::boolean) return at::ones({kBlock}, type);
  if (worst_case) return at::arange(kBlock, at::kLong).remainder_(kDistinct).add_(1).to(type);
  return kind == Synthetic::usual ? at::Tensor() : at::ones({kBlock}, type);
}

at::Tensor as_bytes(const c10::Storage& storage) {
  const auto size = static_cast<std::int64_t>(storage.nbytes());
  return view_of(storage, {DType::u8, {size}, {1}, 0, size});
}

void fill(const c10::Storage& storage, DType dtype, Synthetic kind, bool worst_case) {
  const at::Tensor bytes = as_bytes(storage);
  const std::int64_t size = bytes.numel();
  if (size == 0) return;
  const NativeScope native_host(c10::kCPU);
  const NativeScope native(storage.device());
  const at::Tensor block = host_block(dtype, kind, worst_case);
  if (!block.defined()) {
    bytes.zero_();
    return;
  }
  const at::Tensor block_bytes = as_bytes(block.storage());
  std::int64_t filled = std::min(size, block_bytes.numel());
  bytes.narrow(0, 0, filled).copy_(block_bytes.narrow(0, 0, filled));
  while (filled < size) {  // doubles what is there
    const std::int64_t more = std::min(filled, size - filled);
    bytes.narrow(0, filled, more).copy_(bytes.narrow(0, 0, more));
    filled += more;
  }
}

// By storage group: what its storage must hold.
std::map<std::int32_t, Bytes> storage_sizes(const StepSpec& spec) {
  std::map<std::int32_t, Bytes> sizes;
  for (std::size_t i = 0; i < spec.tensors.size(); ++i) {
    const TensorMeta& meta = spec.tensors[i];
    const Bytes end = meta.storage_offset * element_size(meta.dtype) + meta.extent_bytes();
    Bytes& size = sizes[spec.storage_group[i]];
    size = std::max({size, meta.storage_bytes, end});
  }
  return sizes;
}

}  // namespace

Bytes synthetic_input_bytes(const StepSpec& spec, Bytes alignment) {
  Bytes sum = 0;
  for (const auto& [group, size] : storage_sizes(spec)) sum += align_up(size, alignment);
  return sum;
}

std::vector<at::Tensor> synthetic_inputs(const StepSpec& spec, c10::Device device, Synthetic kind) {
  const std::map<std::int32_t, Bytes> sizes = storage_sizes(spec);
  std::map<std::int32_t, c10::Storage> storages;
  std::vector<at::Tensor> inputs;
  for (std::size_t i = 0; i < spec.tensors.size(); ++i) {
    const std::int32_t group = spec.storage_group[i];
    auto found = storages.find(group);
    if (found == storages.end()) {
      found = storages.emplace(group, new_storage(sizes.at(group), device)).first;
      fill(found->second, spec.tensors[i].dtype, kind, spec.worst_case && i == 0);
    }
    inputs.push_back(view_of(found->second, spec.tensors[i]));
  }
  return inputs;
}

}  // namespace lowwater
