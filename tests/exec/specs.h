// Step specs in few words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/step.h"

namespace lowwater {

using Ints = std::vector<std::int64_t>;

inline TensorMeta tensor(DType dtype, Ints sizes, Ints strides = {}) {
  TensorMeta meta{dtype, sizes, strides.empty() ? contiguous_strides(sizes) : strides, 0, 0};
  meta.storage_bytes = meta.extent_bytes();
  return meta;
}
inline TensorMeta f32(Ints sizes, Ints strides = {}) {
  return tensor(DType::f32, std::move(sizes), std::move(strides));
}
inline TensorMeta i64(Ints sizes) { return tensor(DType::i64, std::move(sizes)); }
inline TensorMeta boolean(Ints sizes) { return tensor(DType::boolean, std::move(sizes)); }

inline StepSpec step(std::string op, std::vector<Arg> args, std::vector<TensorMeta> tensors) {
  StepSpec spec;
  spec.op = std::move(op);
  spec.args = std::move(args);
  spec.tensors = std::move(tensors);
  for (std::size_t i = 0; i < spec.tensors.size(); ++i)
    spec.storage_group.push_back(static_cast<std::int32_t>(i));
  return spec;
}

}  // namespace lowwater
