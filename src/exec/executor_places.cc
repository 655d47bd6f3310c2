#include "exec/executor_places.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include <utility>

#include "exec/executor_tensors.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

c10::IValue number_of(TypeKind kind, const at::Scalar& number) {
  if (kind == TypeKind::integer) return number.toLong();
  return kind == TypeKind::real ? c10::IValue(number.toDouble()) : c10::IValue(number.toBool());
}

c10::IValue nothing() { return {}; }

}  // namespace

Places::Places(const Program& program, const DeviceWeights& weights, const ExecutorOptions& options,
               DeviceQueue& queue)
    : values(program.slots.size()),
      program_(program),
      weights_(weights),
      device_(options.device),
      fixed_io_(options.fixed_io || options.cuda_graph),
      borrow_outputs_(options.borrow_outputs),
      queue_(queue),
      addresses_(program.buffers.size(), nullptr),
      storages_(program.buffers.size()),
      bases_(program.buffers.size(), 0),
      slots_of_(program.buffers.size()),
      iterations_(program.loops.size(), 0),
      loop_slots_(program.loops.size()),
      kept_(program.buffers.size()) {
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.slots[i];
    const auto id = static_cast<SlotId>(i);
    (slot.kind == TypeKind::tensor ? slots_of_.at(at(slot.buffer)) : scalars_).push_back(id);
    for (const LoopStride& stride : slot.loop_strides)
      loop_slots_.at(at(stride.loop)).push_back(id);
  }
  if (program.arena_bytes > 0) arena_.emplace(device_, program.arena_bytes);
  if (program.constant_bytes > 0) constant_.emplace(device_, program.constant_bytes);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.space == Space::arena && arena_) addresses_[i] = arena_->base() + buffer.offset;
    if (buffer.space == Space::constant && constant_)
      addresses_[i] = constant_->base() + buffer.offset;
    if (buffer.space == Space::weight) addresses_[i] = weights.address(buffer.index);
  }
  if (fixed_io_) make_fixed_io();
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (of_one_run(buffer.space)) continue;
    bind(static_cast<BufferId>(i),
         storage_over(addresses_[i], buffer.size, device_of(buffer.space)), 0);
  }
}

bool Places::of_one_run(Space space) const {
  return !fixed_io_ && (space == Space::input || space == Space::output || space == Space::host);
}

c10::Device Places::device_of(Space space) const {
  return space == Space::host ? c10::Device(c10::kCPU) : device_;
}

// One slab for the inputs and outputs on the device, one piece of host memory
// for those on the host.
void Places::make_fixed_io() {
  constexpr Bytes kAlignment = 512;
  Bytes device_bytes = 0, host_bytes = 0;
  std::vector<std::pair<std::size_t, Bytes>> places;  // buffer, offset
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const Buffer& buffer = program_.buffers[i];
    if (buffer.space != Space::input && buffer.space != Space::output &&
        buffer.space != Space::host)
      continue;
    Bytes& end = buffer.space == Space::host ? host_bytes : device_bytes;
    places.emplace_back(i, end);
    end = align_up(end + buffer.size, kAlignment);
    if (buffer.space == Space::output) fixed_output_bytes_ += buffer.size;
  }
  if (device_bytes > 0) io_.emplace(device_, device_bytes);
  if (host_bytes > 0) host_ = queue_.host_memory(host_bytes);
  for (const auto& [buffer, offset] : places) {
    const bool on_host = program_.buffers[buffer].space == Space::host;
    std::byte* base = on_host ? host_.get() : io_ ? io_->base() : nullptr;
    if (base != nullptr) addresses_[buffer] = base + offset;
  }
}

std::byte* Places::address(BufferId buffer) const { return addresses_.at(at(buffer)); }

bool Places::bound(BufferId buffer) const { return static_cast<bool>(storages_.at(at(buffer))); }

void Places::bind(BufferId buffer, const c10::Storage& storage, Bytes base) {
  storages_.at(at(buffer)) = storage;
  bases_[at(buffer)] = base;
  for (const SlotId slot : slots_of_[at(buffer)]) look(slot);
}

void Places::look(SlotId id) {
  const Slot& slot = program_.slots[at(id)];
  if (slot.dynamic) return;  // readers take the tensor that the kernel returns
  if (!bound(slot.buffer)) return;
  Bytes base = bases_[at(slot.buffer)];
  for (const LoopStride& stride : slot.loop_strides)
    base += iterations_[at(stride.loop)] * stride.stride;
  values[at(id)] = view_of(storages_[at(slot.buffer)], slot.meta, base);
}

void Places::bind_new(BufferId id) {
  const Buffer& buffer = program_.buffers.at(at(id));
  bind(id, new_storage(buffer.size, device_of(buffer.space)), 0);
}

void Places::forget_run() {
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const auto id = static_cast<BufferId>(i);
    forget_results(id);
    kept_[i] = {};
    if (!of_one_run(program_.buffers[i].space)) continue;
    for (const SlotId slot : slots_of_[i]) values[at(slot)] = nothing();
    storages_[i] = {};
  }
  for (const SlotId slot : scalars_) values[at(slot)] = nothing();
}

void Places::forget_results(BufferId buffer) {
  for (const SlotId slot : slots_of_[at(buffer)]) {
    if (program_.slots[at(slot)].dynamic) values[at(slot)] = nothing();
  }
}

void Places::set_input(std::int32_t input, const at::Tensor& tensor) {
  const SlotId id = program_.inputs.at(at(input));
  if (id == kNone) return;
  const Slot& slot = program_.slots.at(at(id));
  const std::string name = fmt::format("input {}", input);
  if (!tensor.defined()) throw Error(ErrorKind::bad_input, "the tensor is missing", name);
  if (slot.kind != TypeKind::tensor) {
    values[at(id)] = number_of(slot.kind, tensor.item());
    return;
  }
  const bool fits = tensor.scalar_type() == scalar_type_of(slot.meta.dtype) &&
                    tensor.sizes() == c10::IntArrayRef(slot.meta.sizes);
  if (!fits) {
    throw Error(ErrorKind::bad_input,
                fmt::format("expected {}, got {}", describe(slot.meta), describe(meta_of(tensor))),
                name);
  }
  const Space space = program_.buffers[at(slot.buffer)].space;
  const c10::Device device = device_of(space);
  if (!of_one_run(space)) {
    values[at(id)].toTensor().copy_(tensor, /*non_blocking=*/true);
    return;
  }
  const Bytes element = element_size(slot.meta.dtype);
  Bytes base = (tensor.storage_offset() - slot.meta.storage_offset) * element;
  at::Tensor placed = tensor;
  if (tensor.device() != device || !matches(tensor, slot.meta) || base < 0) {
    placed = at::empty_strided(slot.meta.sizes, slot.meta.strides, tensor.options().device(device));
    placed.copy_(tensor);
    base = -slot.meta.storage_offset * element;
  }
  bind(slot.buffer, placed.storage(), base);
}

void Places::copy(const Copy& step) {
  const at::Tensor& from = values.at(at(step.from)).toTensor();
  const Slot& target = program_.slots.at(at(step.to));
  if (target.dynamic) {
    // Its sizes are known only now: the leading part of the place.
    TensorMeta meta = meta_of(from);
    meta.strides = contiguous_strides(meta.sizes);
    meta.storage_offset = 0;
    values[at(step.to)] = view_of(storages_[at(target.buffer)], meta, bases_[at(target.buffer)]);
  }
  values[at(step.to)].toTensor().copy_(from, /*non_blocking=*/true);
}

at::Tensor Places::take_output(SlotId id) {
  if (id == kNone || program_.slots.at(at(id)).kind != TypeKind::tensor) return {};
  const Slot& slot = program_.slots[at(id)];
  if (!values[at(id)].isTensor()) return {};
  const at::Tensor result = values[at(id)].toTensor();
  if (!result.defined() || of_one_run(program_.buffers[at(slot.buffer)].space)) return result;
  if (borrow_outputs_ && fixed_io_) return result;
  if (slot.dynamic) return result.clone();
  // Memory of the session: the caller gets a copy, shared by outputs that alias.
  c10::Storage& copy = kept_[at(slot.buffer)];
  if (!copy) {
    const c10::Storage& whole = storages_[at(slot.buffer)];
    const Bytes size = program_.buffers[at(slot.buffer)].size;
    const TensorMeta bytes{DType::u8, {size}, {1}, 0, size};
    copy = new_storage(size, result.device());
    view_of(copy, bytes, 0).copy_(view_of(whole, bytes, 0));
  }
  return view_of(copy, slot.meta, bases_[at(slot.buffer)]);
}

void Places::enter_iteration(std::int32_t loop, std::int64_t iteration) {
  iterations_.at(at(loop)) = iteration;
  for (const SlotId slot : loop_slots_[at(loop)]) look(slot);
}

}  // namespace lowwater
