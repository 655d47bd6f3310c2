// Where the time of opening a session goes. Private to session*.cc.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lowwater/plan.h"

namespace lowwater {

// `lap(stage)`: what has passed since the last lap was spent on `stage`.
class StageTimer {
 public:
  void lap(std::string stage) {
    const auto now = std::chrono::steady_clock::now();
    timings_.push_back(
        {std::move(stage), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = now;
  }
  [[nodiscard]] std::vector<PlanTiming> take() { return std::move(timings_); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::vector<PlanTiming> timings_;
};

}  // namespace lowwater
