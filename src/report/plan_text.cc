// Plan -> text for a terminal. The verdict comes first, then what it costs, then
// what sets the peak, then how it is done.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/bytes.h"
#include "lowwater/plan.h"
#include "report/figures_text.h"

namespace lowwater {
namespace {

constexpr std::size_t kValuesShown = 8;
constexpr std::size_t kLinesShown = 12;  // of stages and barriers

class PlanWriter {
 public:
  explicit PlanWriter(const Plan& plan)
      : plan_(plan), mark_(plan.basis == "estimated" ? "~" : "") {}

  std::string run() {
    verdict();
    figures();
    peak();
    how();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  // "  peak              512 MiB   85 % of the budget"
  void row(const std::string& name, const std::string& figure, const std::string& remark = {}) {
    std::string content = fmt::format("  {:<17}{:>11}", name, figure);
    if (!remark.empty()) content += "   " + remark;
    line("{}", content);
  }

  // A predicted size or time carries "~" when it is an estimate.
  std::string size(std::int64_t bytes) const { return mark_ + format_bytes(bytes); }
  std::string time(double ms) const { return mark_ + format_ms(ms); }

  // The figure that the budget limits.
  std::int64_t total() const {
    return plan_.scope == "process" && plan_.process_peak_bytes > 0 ? plan_.process_peak_bytes
                                                                    : plan_.peak_bytes;
  }

  void verdict() {
    const std::string where = plan_.device.empty() ? "" : " on " + plan_.device;
    if (plan_.fits) {
      line("Fits{}: {} of a budget of {}.", where, size(total()), format_bytes(plan_.budget_bytes));
    } else {
      line("Does not fit{}: the smallest possible budget is {}, {} more than {}.", where,
           size(plan_.smallest_budget_bytes),
           format_bytes(plan_.smallest_budget_bytes - plan_.budget_bytes),
           format_bytes(plan_.budget_bytes));
    }
  }

  void figures() {
    text_ += "\n";
    if (plan_.fits) {
      memory_rows();
      row("smallest budget", size(plan_.smallest_budget_bytes));
    }
    row("without a plan", size(plan_.unplanned_peak_bytes), against_unplanned());
    if (plan_.fits) time_row();
    if (!plan_.scope.empty()) row("budget counts", plan_.scope, scope_remark());
    row("figures are", plan_.basis, basis_remark());
    if (plan_.fits) row("result", plan_.exactness, exactness_remark());
  }

  void memory_rows() {
    const double share = plan_.budget_bytes > 0 ? 100.0 * static_cast<double>(total()) /
                                                      static_cast<double>(plan_.budget_bytes)
                                                : 0;
    if (total() != plan_.peak_bytes)
      row("process peak", size(plan_.process_peak_bytes),
          fmt::format("{:.0f} % of the budget", share));
    row("peak", size(plan_.peak_bytes),
        total() == plan_.peak_bytes ? fmt::format("{:.0f} % of the budget", share) : "");
    row("  arena", size(plan_.arena_bytes), packing_remark());
    row("  outside", size(plan_.outside_arena_bytes), "weights, inputs, outputs, constants");
  }

  std::string packing_remark() const {
    if (plan_.arena_bytes == 0) return {};
    if (plan_.arena_bytes <= plan_.lower_bound_bytes) return "packed to its lower bound";
    const double above =
        100.0 * (static_cast<double>(plan_.arena_bytes) /
                     static_cast<double>(std::max<std::int64_t>(plan_.lower_bound_bytes, 1)) -
                 1);
    return fmt::format("{:.1f} % above its lower bound of {}", above,
                       size(plan_.lower_bound_bytes));
  }

  std::string against_unplanned() const {
    if (!plan_.fits) return "operator by operator, each value freed at its last use";
    const std::string ratio = format_ratio(static_cast<double>(plan_.unplanned_peak_bytes),
                                           static_cast<double>(plan_.peak_bytes));
    return ratio.empty() ? "" : ratio + " the planned peak";
  }

  void time_row() {
    const std::string ratio = format_ratio(plan_.predicted_ms, plan_.unplanned_ms);
    row("time", time(plan_.predicted_ms),
        ratio.empty() ? ""
                      : fmt::format("{} the {} without a plan", ratio, time(plan_.unplanned_ms)));
  }

  std::string scope_remark() const {
    if (plan_.scope == "process")
      return "all that this process holds on the device, libraries included";
    if (plan_.scope == "session") return "all that this session caused";
    return "weights, inputs, outputs, temporaries";
  }

  std::string basis_remark() const {
    if (plan_.basis == "estimated") return "from types alone; a plan like this cannot be executed";
    if (plan_.basis == "profile") return "on another machine, from a saved profile";
    return "on this device";
  }

  std::string exactness_remark() const {
    if (plan_.exactness == "same-kernels")
      return "the kernels and their order of arithmetic are PyTorch's own";
    return "differences are rounding only";
  }

  void peak() {
    if (plan_.peak_op.empty() && plan_.peak_values.empty()) return;
    text_ += "\n";
    const std::string source = plan_.peak_source.empty() || plan_.peak_source == plan_.peak_op
                                   ? ""
                                   : ", " + plan_.peak_source;
    line("{} {}{}", plan_.fits ? "The peak is at" : "What needs the memory:", plan_.peak_op,
         source);
    std::size_t shown = 0;
    std::int64_t rest = 0;
    for (const PeakValue& value : plan_.peak_values) {
      if (shown < kValuesShown) {
        value_line(value.bytes, value.name, value.source);
        ++shown;
      } else {
        rest += value.bytes;
      }
    }
    if (rest > 0)
      value_line(rest,
                 fmt::format("in {} more", format_count(plan_.peak_values.size() - shown, "value")),
                 "");
    if (plan_.peak_temporary_bytes > 0)
      value_line(plan_.peak_temporary_bytes, "temporaries of the operator", "");
  }

  void value_line(std::int64_t bytes, const std::string& name, const std::string& source) {
    line("{}", fmt::format("  {:>11}  {:<28}", size(bytes), name) +
                   (source.empty() ? "" : "  " + source));
    while (text_.size() > 1 && text_[text_.size() - 2] == ' ') text_.erase(text_.size() - 2, 1);
  }

  void how() {
    if (!plan_.moves.empty()) {
      text_ += "\n";
      line("Moves: {}", moves());
    }
    list(plan_.stages.size() > 1 ? "Stages" : "", plan_.stages);
    std::vector<std::string> whole;
    for (const PeakValue& barrier : plan_.barriers) {
      whole.push_back(
          fmt::format("{:>11}  {:<28}  {}", size(barrier.bytes), barrier.name, barrier.source));
    }
    list("Operators that run whole", whole);
  }

  // "reorder, recompute (3 times)", in order of first use.
  std::string moves() const {
    std::vector<std::pair<std::string, int>> counts;
    for (const std::string& move : plan_.moves) {
      const auto found = std::find_if(counts.begin(), counts.end(),
                                      [&](const auto& entry) { return entry.first == move; });
      if (found == counts.end()) {
        counts.emplace_back(move, 1);
      } else {
        ++found->second;
      }
    }
    std::string names;
    for (const auto& [name, count] : counts) {
      names +=
          (names.empty() ? "" : ", ") + name + (count > 1 ? fmt::format(" ({} times)", count) : "");
    }
    return names;
  }

  void list(const std::string& title, const std::vector<std::string>& lines) {
    if (title.empty() || lines.empty()) return;
    text_ += "\n";
    line("{}", title);
    for (std::size_t i = 0; i < lines.size() && i < kLinesShown; ++i) line("  {}", lines[i]);
    if (lines.size() > kLinesShown)
      line("  ... {} more (all of them with --json)", lines.size() - kLinesShown);
  }

  const Plan& plan_;
  std::string mark_;
  std::string text_;
};

}  // namespace

std::string plan_to_text(const Plan& plan) { return PlanWriter(plan).run(); }

}  // namespace lowwater
