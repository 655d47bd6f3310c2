#include "analysis/views.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lowwater {
namespace {

// Neighbouring dimensions that can be walked with one stride.
struct Run {
  std::int64_t size = 1;
  std::int64_t stride = 1;  // of its innermost index
};

// [2,3,4] with strides (12,4,1) is one run of 24; size-1 dimensions vanish.
std::vector<Run> merge_dimensions(const TensorMeta& meta) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] == 1) continue;
    if (!runs.empty() && runs.back().stride == meta.sizes[i] * meta.strides[i]) {
      runs.back() = {runs.back().size * meta.sizes[i], meta.strides[i]};
    } else {
      runs.push_back({meta.sizes[i], meta.strides[i]});
    }
  }
  return runs;
}

}  // namespace

std::optional<std::vector<std::int64_t>> view_strides(const TensorMeta& meta,
                                                      const std::vector<std::int64_t>& sizes) {
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  if (is_empty) {
    return sizes == meta.sizes ? meta.strides : contiguous_strides(sizes);
  }
  std::vector<Run> runs = merge_dimensions(meta);
  std::vector<std::int64_t> strides(sizes.size());
  // From the inside out: each new dimension takes its part of the current run.
  std::int64_t used = 1;  // elements of runs.back() already taken
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (!runs.empty() && used == runs.back().size && sizes[i] != 1) {
      runs.pop_back();
      used = 1;
    }
    if (runs.empty()) {
      if (sizes[i] != 1) return std::nullopt;
      strides[i] = i + 1 < sizes.size() ? strides[i + 1] * sizes[i + 1] : 1;
      continue;
    }
    strides[i] = used * runs.back().stride;
    used *= sizes[i];
    if (runs.back().size % used != 0) return std::nullopt;
  }
  return strides;
}

bool is_dense(const TensorMeta& meta) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, size
  for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] == 0) return true;
    if (meta.sizes[i] != 1) dims.emplace_back(meta.strides[i], meta.sizes[i]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

}  // namespace lowwater
