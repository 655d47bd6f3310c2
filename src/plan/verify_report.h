// Collects violations and names things in sentences; private to verify*.cc.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "plan/verify.h"
#include "plan/verify_bytes.h"

namespace lowwater {

class Report {
 public:
  Report(const Graph& graph, const Program& program) : graph_(graph), program_(program) {}

  // What the walk is doing: begins every sentence.
  void set_place(std::string place) { place_ = std::move(place); }

  template <typename... Args>
  void add(Violation::Kind kind, fmt::format_string<Args...> format, Args&&... args) {
    // One mistake may have thousands of consequences; the first ones tell enough.
    if (violations_.size() >= kMost) return;
    const std::string what = fmt::format(format, std::forward<Args>(args)...);
    violations_.push_back({kind, place_.empty() ? what : place_ + ": " + what});
  }

  [[nodiscard]] std::string value(ValueId id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= graph_.values.size())
      return "a value without a name";
    return "%" + graph_.value(id).name;
  }
  // "%x in buffer 3 [128, 256)"
  [[nodiscard]] std::string buffer(BufferId id) const {
    const Buffer& b = program_.buffers[static_cast<std::size_t>(id)];
    return fmt::format("{} in buffer {} [{}, {})", value(b.value), id, b.offset, b.offset + b.size);
  }
  [[nodiscard]] std::string launch(const Launch& launch) const {
    return launch.node >= 0 && static_cast<std::size_t>(launch.node) < graph_.nodes.size()
               ? fmt::format("{} (node {})", launch.op, launch.node)
               : launch.op;
  }
  [[nodiscard]] std::string stream(std::int32_t id) const {
    return program_.stream_names[static_cast<std::size_t>(id)];
  }

  [[nodiscard]] bool empty() const { return violations_.empty(); }
  std::vector<Violation> take() { return std::move(violations_); }

 private:
  static constexpr std::size_t kMost = 100;
  const Graph& graph_;
  const Program& program_;
  std::string place_;
  std::vector<Violation> violations_;
};

}  // namespace lowwater
