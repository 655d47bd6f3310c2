#include "session_budget.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "exec/device.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

constexpr double kShareOfFree = 0.9;  // without a budget
// Modules that a library loads late, and strays.
constexpr Bytes kProcessMargin = 16 * kMiB;

Scope scope_of(const Options& options, c10::Device device) {
  if (!options.scope) return device.is_cpu() ? Scope::tensors : Scope::process;
  if (device.is_cpu() && *options.scope == Scope::process) {
    throw Error(ErrorKind::bad_input,
                "the whole process cannot be the scope of a budget on the CPU", "scope",
                "use tensors or session");
  }
  return *options.scope;
}

Bytes total_of(const Options& options, c10::Device device, Bytes held) {
  if (options.budget) {
    if (*options.budget <= 0)
      throw Error(ErrorKind::bad_input, "a budget must be more than nothing", "budget");
    return *options.budget;
  }
  const DeviceInfo info = device_info(device);
  if (!options.budget_percent) {
    return static_cast<Bytes>(kShareOfFree * static_cast<double>(info.free + held));
  }
  const double percent = *options.budget_percent;
  if (!(percent > 0 && percent <= 100)) {
    throw Error(ErrorKind::bad_input, "a percentage of the device's memory is between 0 and 100",
                "budget");
  }
  return static_cast<Bytes>(std::floor(percent / 100 * static_cast<double>(info.total)));
}

}  // namespace

BudgetBase budget_base(c10::Device device) {
  return {device.is_cpu() ? 0 : process_memory(device).bytes};
}

Budget resolve_budget(const Options& options, c10::Device device, const BudgetBase& base,
                      Bytes held) {
  Budget budget;
  budget.scope = scope_of(options, device);
  budget.total = total_of(options, device, held);
  measure_overhead(budget, device, base, held);
  // What is free has the overhead taken out already.
  if (!options.budget && !options.budget_percent)
    budget.total += std::max<Bytes>(budget.overhead - kProcessMargin, 0);
  return budget;
}

void measure_overhead(Budget& budget, c10::Device device, const BudgetBase& base, Bytes held) {
  // On the CPU a session's libraries hold nothing that can be told apart.
  if (device.is_cpu() || budget.scope == Scope::tensors) return;
  const Bytes before = budget.scope == Scope::session ? base.process_bytes : 0;
  budget.overhead =
      std::max<Bytes>(process_memory(device).bytes - before - held, 0) + kProcessMargin;
}

const char* scope_name(Scope scope) {
  switch (scope) {
    case Scope::process:
      return "process";
    case Scope::session:
      return "session";
    case Scope::tensors:
      return "tensors";
  }
  return "tensors";
}

}  // namespace lowwater
