#include "exec/executor_poison.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <algorithm>

#include "exec/executor_tensors.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

constexpr int kPoison = 0xFF;
constexpr Bytes kRedZone = 256;  // bytes looked at on either side of a block

}  // namespace

Poison::Poison(const Program& program, Slab& arena)
    : program_(program), size_(arena.size()), live_(program.buffers.size(), false) {
  const TensorMeta bytes{DType::u8, {size_}, {1}, 0, size_};
  bytes_ = view_of(storage_over(arena.base(), size_, arena.device()), bytes, 0);
  start_over();
}

void Poison::start_over() {
  live_.assign(live_.size(), false);
  bytes_.fill_(kPoison);
}

Poison::Range Poison::range(BufferId id) const {
  const Buffer& buffer = program_.buffers.at(static_cast<std::size_t>(id));
  if (buffer.space != Space::arena) return {};
  return {buffer.offset, std::min(buffer.offset + buffer.size, size_)};
}

std::vector<Poison::Range> Poison::free_parts(Range whole) const {
  std::vector<Range> taken;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (!live_[i]) continue;
    const Range block = range(static_cast<BufferId>(i));
    if (block.begin < whole.end && whole.begin < block.end) taken.push_back(block);
  }
  std::sort(taken.begin(), taken.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> parts;
  Bytes at = whole.begin;
  for (const Range& block : taken) {
    if (block.begin > at) parts.push_back({at, block.begin});
    at = std::max(at, block.end);
  }
  if (at < whole.end) parts.push_back({at, whole.end});
  return parts;
}

void Poison::fill(Range whole) {
  for (const Range& part : free_parts(whole))
    bytes_.narrow(0, part.begin, part.end - part.begin).fill_(kPoison);
}

void Poison::granted(BufferId buffer) { live_.at(static_cast<std::size_t>(buffer)) = true; }

void Poison::released(BufferId buffer) {
  if (!live_.at(static_cast<std::size_t>(buffer))) return;
  live_[static_cast<std::size_t>(buffer)] = false;
  fill(range(buffer));
}

void Poison::check_step(const std::vector<BufferId>& temporaries, const std::string& step) {
  for (const BufferId buffer : temporaries) released(buffer);
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (!live_[i]) continue;
    const Range block = range(static_cast<BufferId>(i));
    if (block.begin == block.end) continue;
    const Range around{std::max<Bytes>(block.begin - kRedZone, 0),
                       std::min(block.end + kRedZone, size_)};
    for (const Range& part : free_parts(around)) {
      const at::Tensor zone = bytes_.narrow(0, part.begin, part.end - part.begin);
      if (zone.eq(kPoison).all().item<bool>()) continue;
      throw Error(
          ErrorKind::internal,
          fmt::format(
              "bytes {} to {} of the arena were written although no buffer of the step is there",
              part.begin, part.end),
          step);
    }
  }
}

}  // namespace lowwater
