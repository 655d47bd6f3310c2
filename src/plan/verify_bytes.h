// What happened to the bytes of one address space; private to verify*.cc.
//
// An interval map: neighbouring bytes with the same history are one segment, so
// that an access costs the logarithm of their number.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "plan/verify_clock.h"

namespace lowwater {

struct ByteRange {
  Bytes begin = 0, end = 0;
  [[nodiscard]] bool empty() const { return begin >= end; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

class ByteMap {
 public:
  // The range gets a new owner (or content from outside the run): its old
  // history ends. Returns an access that is not ordered before `moment`.
  std::optional<Moment> reset(ByteRange range, bool written, const Moment& moment,
                              const Clocks& clocks);
  // Marks as written. `again` tells whether a byte already was.
  std::optional<Moment> write(ByteRange range, const Moment& moment, const Clocks& clocks,
                              bool* again);
  std::optional<Moment> read(ByteRange range, const Moment& moment, const Clocks& clocks);
  // Bytes of the range that are written.
  [[nodiscard]] Bytes written(ByteRange range) const;

 private:
  struct Segment {
    Bytes end = 0;
    bool written = false;
    Moment writer;
    std::vector<Moment> readers;  // the latest of each stream
  };
  using Segments = std::map<Bytes, Segment>;  // by begin

  static std::optional<Moment> unordered(const Segment& segment, bool readers, const Moment& moment,
                                         const Clocks& clocks);
  // The first segment that ends behind `at`.
  [[nodiscard]] Segments::const_iterator first(Bytes at) const;
  // Makes `at` a border between segments.
  void cut(Bytes at);

  Segments segments_;
};

}  // namespace lowwater
