#include "plan/verify_memory.h"

#include <algorithm>

#include "plan/verify_views.h"

namespace lowwater {

using Kind = Violation::Kind;

Memory::Memory(const Program& program, Report& report)
    : program_(program),
      report_(report),
      clocks_(program.stream_names.size(), static_cast<std::size_t>(program.events)),
      life_(program.buffers.size(), Life::never),
      taken_by_(program.buffers.size(), kNone) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].space == Space::weight) give(static_cast<BufferId>(i));
  }
}

// Content from outside the run.
void Memory::give(BufferId id) {
  life_[static_cast<std::size_t>(id)] = Life::live;
  others_[id].reset({0, buffer(id).size}, true, {}, clocks_);
}

void Memory::begin_run() {
  for (const auto& [offset, id] : living_) life_[static_cast<std::size_t>(id)] = Life::released;
  living_.clear();
  arena_ = {};
  highest_end_ = 0;
  // Before a run the host waits for every stream.
  clocks_ = Clocks(program_.stream_names.size(), static_cast<std::size_t>(program_.events));
  for (auto& [id, map] : others_) {
    if (map.written({0, buffer(id).size}) < buffer(id).size) continue;
    map = {};
    map.reset({0, buffer(id).size}, true, {}, clocks_);
  }
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const Buffer& b = program_.buffers[i];
    const bool from_caller =
        b.kind == BufferKind::input && (b.space == Space::input || b.space == Space::host);
    if (from_caller) give(static_cast<BufferId>(i));
    if (b.space == Space::host) life_[i] = Life::live;  // somebody else's memory, always there
  }
}

void Memory::report_race(BufferId id, const std::optional<Moment>& other, const Moment& moment) {
  if (!other) return;
  report_.add(Kind::missing_event,
              "touches {} on stream {} while stream {} may still use its bytes", report_.buffer(id),
              report_.stream(moment.stream), report_.stream(other->stream));
}

// --- lifetimes --------------------------------------------------------------------

void Memory::place_in_arena(BufferId id) {
  const Buffer& b = buffer(id);
  highest_end_ = std::max(highest_end_, b.offset + b.size);
  const auto above = living_.lower_bound(b.offset);
  const auto clash = [&](BufferId other) {
    report_.add(Kind::overlap, "{} is placed on {}, which is still needed", report_.buffer(id),
                report_.buffer(other));
  };
  if (above != living_.end() && above->first < b.offset + b.size) clash(above->second);
  if (above != living_.begin()) {
    const Buffer& below = buffer(std::prev(above)->second);
    if (below.offset + below.size > b.offset) clash(std::prev(above)->second);
  }
  living_.emplace(b.offset, id);
}

void Memory::grant(BufferId id, const Moment& moment, bool heir) {
  const Buffer& b = buffer(id);
  Life& life = life_[static_cast<std::size_t>(id)];
  if (life == Life::live) {
    report_.add(Kind::bad_script, "allocates {} twice", report_.buffer(id));
    return;
  }
  if (b.space == Space::weight || b.space == Space::input) {
    report_.add(Kind::bad_script, "allocates {}, which is not its to make", report_.buffer(id));
    return;
  }
  if (heir) {
    life_[static_cast<std::size_t>(b.shares)] = Life::taken;
    taken_by_[static_cast<std::size_t>(b.shares)] = id;
    const auto old = living_.find(buffer(b.shares).offset);
    if (old != living_.end() && old->second == b.shares) living_.erase(old);
  }
  life = Life::live;
  if (b.size == 0) return;
  if (b.space == Space::arena) place_in_arena(id);
  report_race(id, bytes(id).reset({base(id), base(id) + b.size}, false, moment, clocks_), moment);
}

void Memory::release(BufferId id) {
  Life& life = life_[static_cast<std::size_t>(id)];
  const bool mine = buffer(id).space == Space::arena;
  if (life != Life::live || !mine) {
    report_.add(Kind::bad_script, "frees {}, which {}", report_.buffer(id),
                mine ? "is not live" : "is not in the arena");
    return;
  }
  life = Life::released;
  const auto found = living_.find(buffer(id).offset);
  if (found != living_.end() && found->second == id) living_.erase(found);
}

// --- accesses -----------------------------------------------------------------------

bool Memory::check_extent(BufferId id, const TensorMeta& meta) {
  const ByteRange extent = byte_extent(meta);
  if (extent.empty() || (extent.begin >= 0 && extent.end <= buffer(id).size)) return true;
  report_.add(Kind::bad_address, "touches bytes [{}, {}) of {}, which has {}", extent.begin,
              extent.end, report_.buffer(id), buffer(id).size);
  return false;
}

bool Memory::check_alive(BufferId id) {
  switch (life(id)) {
    case Life::live:
      return true;
    case Life::never:
      report_.add(Kind::unwritten, "uses {} before anything was put there", report_.buffer(id));
      return false;
    case Life::released:
      report_.add(Kind::early_release, "uses {} after it was released", report_.buffer(id));
      return false;
    case Life::taken:
      break;
  }
  report_.add(Kind::early_release, "uses {} after {} took its address", report_.buffer(id),
              report_.buffer(taken_by_[static_cast<std::size_t>(id)]));
  return false;
}

void Memory::check_written(BufferId id, const TensorMeta& meta) {
  ByteRange extent = byte_extent(meta);
  extent = {extent.begin + base(id), extent.end + base(id)};
  if (bytes(id).written(extent) == extent.end - extent.begin) return;
  // There are gaps: of the view itself, or of what was written.
  Bytes wanted = 0, found = 0;
  for_each_run(meta, [&](ByteRange run) {
    wanted += run.end - run.begin;
    found += bytes(id).written({run.begin + base(id), run.end + base(id)});
  });
  if (found == 0) {
    report_.add(Kind::unwritten, "reads {}, which nobody wrote", report_.buffer(id));
  } else if (found < wanted) {
    report_.add(Kind::missing_region, "reads {} of {}, of which only {} bytes were written", wanted,
                report_.buffer(id), found);
  }
}

void Memory::read(BufferId id, const TensorMeta& meta, const Moment& moment) {
  if (!check_alive(id) || !check_extent(id, meta)) return;
  const ByteRange extent = byte_extent(meta);
  if (extent.empty()) return;
  check_written(id, meta);
  report_race(id, bytes(id).read({extent.begin + base(id), extent.end + base(id)}, moment, clocks_),
              moment);
}

void Memory::check(BufferId id, const TensorMeta& meta) {
  if (check_alive(id) && check_extent(id, meta) && !byte_extent(meta).empty()) {
    check_written(id, meta);
  }
}

void Memory::write(BufferId id, const TensorMeta& meta, const Moment& moment, bool over) {
  if (!check_alive(id) || !check_extent(id, meta)) return;
  bool again = false;
  std::optional<Moment> race;
  for_each_run(meta, [&](ByteRange run) {
    bool run_again = false;
    const auto other =
        bytes(id).write({run.begin + base(id), run.end + base(id)}, moment, clocks_, &run_again);
    again = again || run_again;
    if (!race) race = other;
  });
  report_race(id, race, moment);
  if (again && !over) {
    report_.add(Kind::overlap, "writes bytes of {} that hold another result", report_.buffer(id));
  }
}

}  // namespace lowwater
