#include "plan/verify_bytes.h"

#include <algorithm>
#include <utility>

namespace lowwater {

ByteMap::Segments::const_iterator ByteMap::first(Bytes at) const {
  auto found = segments_.upper_bound(at);
  if (found != segments_.begin()) {
    const auto previous = std::prev(found);
    if (previous->second.end > at) return previous;
  }
  return found;
}

void ByteMap::cut(Bytes at) {
  auto found = segments_.upper_bound(at);
  if (found == segments_.begin()) return;
  --found;
  if (found->first == at || found->second.end <= at) return;
  Segment right = found->second;
  found->second.end = at;
  segments_.emplace_hint(std::next(found), at, std::move(right));
}

std::optional<Moment> ByteMap::unordered(const Segment& segment, bool readers, const Moment& moment,
                                         const Clocks& clocks) {
  if (!clocks.before(segment.writer, moment.stream)) return segment.writer;
  if (!readers) return std::nullopt;
  for (const Moment& reader : segment.readers) {
    if (!clocks.before(reader, moment.stream)) return reader;
  }
  return std::nullopt;
}

std::optional<Moment> ByteMap::reset(ByteRange range, bool written, const Moment& moment,
                                     const Clocks& clocks) {
  std::optional<Moment> conflict;
  if (range.empty()) return conflict;
  cut(range.begin);
  cut(range.end);
  auto found = segments_.lower_bound(range.begin);
  while (found != segments_.end() && found->first < range.end) {
    if (!conflict) conflict = unordered(found->second, true, moment, clocks);
    found = segments_.erase(found);
  }
  segments_.emplace_hint(found, range.begin, Segment{range.end, written, moment, {}});
  return conflict;
}

std::optional<Moment> ByteMap::write(ByteRange range, const Moment& moment, const Clocks& clocks,
                                     bool* again) {
  *again = written(range) > 0;
  return reset(range, true, moment, clocks);
}

std::optional<Moment> ByteMap::read(ByteRange range, const Moment& moment, const Clocks& clocks) {
  std::optional<Moment> conflict;
  const auto start = first(range.begin);
  if (start == segments_.end()) return conflict;
  // A partly read segment counts as read whole: no need to cut it.
  for (auto found = segments_.find(start->first);
       found != segments_.end() && found->first < range.end; ++found) {
    Segment& segment = found->second;
    if (!conflict) conflict = unordered(segment, false, moment, clocks);
    const auto same = std::find_if(segment.readers.begin(), segment.readers.end(),
                                   [&](const Moment& m) { return m.stream == moment.stream; });
    if (same == segment.readers.end()) {
      segment.readers.push_back(moment);
    } else {
      *same = moment;
    }
  }
  return conflict;
}

Bytes ByteMap::written(ByteRange range) const {
  Bytes count = 0;
  for (auto found = first(range.begin); found != segments_.end() && found->first < range.end;
       ++found) {
    if (!found->second.written) continue;
    count += std::min(found->second.end, range.end) - std::max(found->first, range.begin);
  }
  return count;
}

}  // namespace lowwater
