// Happens-before between streams, by vector clocks; private to verify*.cc.
//
//   compute   c1   c2   record(e)             after h2 the clock of h2d is
//   h2d                  wait(e)  h1  h2       (compute 2, h2d 2): c2 came before h2
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/program.h"

namespace lowwater {

// A point of the run: the `time`-th step of a stream. Time 0 lies before the run.
struct Moment {
  std::int32_t stream = 0;
  std::int64_t time = 0;
};

class Clocks {
 public:
  Clocks(std::size_t streams, std::size_t events)
      : streams_(streams, Clock(streams, 0)), events_(events) {}

  // A new step of `stream` begins.
  Moment tick(std::int32_t stream) { return {stream, ++own(stream)}; }
  void record(EventId event, std::int32_t stream) {
    events_[static_cast<std::size_t>(event)] = streams_[static_cast<std::size_t>(stream)];
  }
  // False if nobody recorded the event.
  bool wait(EventId event, std::int32_t stream) {
    const Clock& then = events_[static_cast<std::size_t>(event)];
    Clock& now = streams_[static_cast<std::size_t>(stream)];
    for (std::size_t i = 0; i < then.size(); ++i) now[i] = std::max(now[i], then[i]);
    return !then.empty();
  }
  // Has `earlier` certainly ended when the present step of `stream` begins?
  [[nodiscard]] bool before(const Moment& earlier, std::int32_t stream) const {
    return streams_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(earlier.stream)] >=
           earlier.time;
  }

 private:
  using Clock = std::vector<std::int64_t>;  // by stream: steps known to have ended
  std::int64_t& own(std::int32_t stream) {
    return streams_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(stream)];
  }
  std::vector<Clock> streams_;
  std::vector<Clock> events_;  // empty: never recorded
};

}  // namespace lowwater
