#include "plan/packing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "plan/packing_beam.h"
#include "plan/packing_exact.h"
#include "plan/packing_greedy.h"

namespace lowwater {
namespace {

std::vector<PackItem> draw_items(int most, int ticks, int bytes) {
  std::vector<PackItem> items;
  const int count = *rc::gen::inRange(0, most + 1);
  for (int i = 0; i < count; ++i) {
    const int begin = *rc::gen::inRange(0, ticks);
    const int length = *rc::gen::inRange(0, ticks);
    items.push_back({begin, begin + length, *rc::gen::inRange(0, bytes)});
  }
  return items;
}

// `height` units are live at every tick: what a packer wastes it lacks.
std::vector<PackItem> draw_full(Bytes height, int ticks) {
  std::vector<PackItem> items;
  std::vector<bool> ended;
  Bytes live = 0;
  for (int t = 0; t < ticks; ++t) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (ended[i] || *rc::gen::resize(100, rc::gen::inRange(0, 5)) > 1) continue;
      ended[i] = true, items[i].end = t, live -= items[i].size;
    }
    for (; live < height; live += items.back().size, ended.push_back(false))
      items.push_back(
          {t, ticks,
           std::min<Bytes>(*rc::gen::resize(100, rc::gen::inRange(1, 4)), height - live)});
  }
  return items;
}

// Quadratic and obvious.
bool no_overlap(const std::vector<PackItem>& items, const std::vector<Bytes>& offsets) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t j = i + 1; j < items.size(); ++j) {
      const bool in_time =
          std::max(items[i].begin, items[j].begin) < std::min(items[i].end, items[j].end);
      const bool in_space = std::max(offsets[i], offsets[j]) <
                            std::min(offsets[i] + items[i].size, offsets[j] + items[j].size);
      if (in_time && in_space) return false;
    }
  }
  return true;
}

Bytes bound_by_ticks(const std::vector<PackItem>& items, Bytes alignment, int ticks) {
  Bytes most = 0;
  for (int t = 0; t < ticks; ++t) {
    Bytes live = 0;
    for (const PackItem& item : items)
      if (item.begin <= t && t < item.end) live += align_up(item.size, alignment);
    most = std::max(most, live);
  }
  return most;
}

RC_GTEST_PROP(PackingProperty, IsSound, ()) {
  const auto items = draw_items(60, 40, 300);
  PackOptions options;
  options.alignment = Bytes{1} << *rc::gen::inRange(0, 8);
  options.time_limit_ms = *rc::gen::inRange(0, 2) * 1000;
  options.node_limit = 3000;
  const Packing packing = pack(items, options);
  RC_ASSERT(packing.offsets.size() == items.size());
  RC_ASSERT(no_overlap(items, packing.offsets));
  Bytes height = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    RC_ASSERT(packing.offsets[i] >= 0);
    RC_ASSERT(packing.offsets[i] % options.alignment == 0);
    if (items[i].begin < items[i].end)
      height = std::max(height, packing.offsets[i] + align_up(items[i].size, options.alignment));
  }
  RC_ASSERT(packing.height == height);
  RC_ASSERT(packing.lower_bound == bound_by_ticks(items, options.alignment, 80));
  RC_ASSERT(packing.height >= packing.lower_bound);
  if (packing.height == packing.lower_bound) RC_ASSERT(packing.optimal);
  RC_ASSERT(pack(items, options).offsets == packing.offsets);
}

// Every greedy rule alone.
RC_GTEST_PROP(PackingProperty, EveryGreedyIsSound, ()) {
  const auto items = draw_items(40, 30, 100);
  for (const PackPart& part : split_into_parts(items, 1)) {
    std::vector<PackItem> own;
    for (const std::int32_t id : part.ids) own.push_back(items[static_cast<std::size_t>(id)]);
    for (const OrderKey key : {OrderKey::size, OrderKey::area, OrderKey::duration, OrderKey::begin,
                               OrderKey::weighted, OrderKey::crowd, OrderKey::pressure}) {
      const auto order = order_by(part, key);
      RC_ASSERT(no_overlap(own, place_in_order(part, order, FitRule::first).offsets));
      RC_ASSERT(no_overlap(own, place_in_order(part, order, FitRule::best).offsets));
      RC_ASSERT(no_overlap(own, place_lowest(part, order).offsets));
    }
  }
}

// Pruning changes the effort, never whether a height can be met.
RC_GTEST_PROP(PackingProperty, SwitchesDoNotChangeAnswers, ()) {
  const auto items = draw_items(9, 8, 9);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  for (const PackPart& part : split_into_parts(items, 1)) {
    const auto order = order_by(part, OrderKey::area);
    const auto smallest = [&](const ExactSwitches& switches) {
      for (Bytes target = part.bound;; ++target) {
        const ExactResult result =
            search_height(part, target, order, INT64_MAX, deadline, switches);
        if (result.end == SearchEnd::found) return result.placement.height;
      }
    };
    const Bytes expected = smallest({});
    ExactSwitches without;
    for (bool ExactSwitches::*one :
         {&ExactSwitches::canonical, &ExactSwitches::dominance, &ExactSwitches::inference,
          &ExactSwitches::hatless, &ExactSwitches::decompose}) {
      ExactSwitches switches;
      switches.*one = false;
      RC_ASSERT(smallest(switches) == expected);
      without.*one = false;
    }
    RC_ASSERT(smallest(without) == expected);
  }
}

// A beam that drops nothing finds a packing exactly if there is one.
RC_GTEST_PROP(PackingProperty, WideBeamsMissNothing, ()) {
  const auto items = draw_full(5, 5);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  const bool mirrored = *rc::gen::inRange(0, 2) == 1;
  for (const PackPart& part : split_into_parts(items, 1)) {
    std::vector<PackItem> own;
    for (const std::int32_t id : part.ids) own.push_back(items[static_cast<std::size_t>(id)]);
    const auto order = order_by(part, OrderKey::area);
    for (Bytes target = part.bound; target < part.bound + 2; ++target) {
      const BeamOptions options{.target = target,
                                .aim = target,
                                .width = 100'000,
                                .max_closed = 1000,
                                .mirrored = mirrored};
      const BeamResult found = beam_search(part, options, INT64_MAX, deadline);
      const ExactResult exact = search_height(part, target, order, INT64_MAX, deadline);
      RC_ASSERT(found.placement.has_value() == (exact.end == SearchEnd::found));
      if (!found.placement) continue;
      RC_ASSERT(found.placement->height <= target);
      RC_ASSERT(no_overlap(own, found.placement->offsets));
    }
  }
}

}  // namespace
}  // namespace lowwater
