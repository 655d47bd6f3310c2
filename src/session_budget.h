// What a budget leaves for tensors.
//
//   process   budget = context, handles, modules (measured) + margin + tensors
//   session   the same without what was there before the session
//   tensors   budget = tensors
#pragma once

#include <c10/core/Device.h>

#include "base/bytes.h"
#include "lowwater/options.h"

namespace lowwater {

// Taken before a session allocates anything.
struct BudgetBase {
  Bytes process_bytes = 0;
};
BudgetBase budget_base(c10::Device device);

struct Budget {
  Scope scope = Scope::tensors;
  Bytes total = 0;     // in the scope
  Bytes overhead = 0;  // of it, what is not tensors; measured
  [[nodiscard]] Bytes tensors() const { return total > overhead ? total - overhead : 0; }
};

// Throws Error(bad_input) for a budget or scope that makes no sense on the device.
// `held`: bytes of tensors that the session holds on the device at the moment.
Budget resolve_budget(const Options& options, c10::Device device, const BudgetBase& base,
                      Bytes held);

// The overhead as it is now, when every library is warm; the total stays.
void measure_overhead(Budget& budget, c10::Device device, const BudgetBase& base, Bytes held);

const char* scope_name(Scope scope);

}  // namespace lowwater
