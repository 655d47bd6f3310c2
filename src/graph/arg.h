// One argument of an operator call.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace lowwater {

// Refers to a value: in a Graph by ValueId, in a Program by SlotId.
struct Ref {
  std::int32_t id = -1;
  friend bool operator==(const Ref&, const Ref&) = default;
};

enum class MemoryFormat : std::uint8_t { contiguous, channels_last, channels_last_3d, preserve };
enum class Layout : std::uint8_t { strided };
// "The device that the plan runs on": baked devices are remapped to it at
// import. `host` is for operands that must stay on the CPU.
enum class DeviceArg : std::uint8_t { plan_device, host };

// A list of tensors; id -1 is an absent optional tensor.
struct RefList {
  std::vector<Ref> refs;
  friend bool operator==(const RefList&, const RefList&) = default;
};
// A list of integers some of which are known only at run time (data-dependent
// sizes): refs[i].id >= 0 overrides values[i].
struct MixedInts {
  std::vector<std::int64_t> values;
  std::vector<Ref> refs;
  friend bool operator==(const MixedInts&, const MixedInts&) = default;
};

// A Python number passed where the schema says Tensor: becomes a wrapped
// zero-dimensional host tensor, so that type promotion treats it as a number.
struct WrappedNumber {
  std::variant<bool, std::int64_t, double, std::complex<double>> value;
  friend bool operator==(const WrappedNumber&, const WrappedNumber&) = default;
};

using Arg = std::variant<std::monostate,  // None
                         Ref, RefList, MixedInts, WrappedNumber, bool, std::int64_t, double,
                         std::complex<double>, std::string, DType, MemoryFormat, Layout, DeviceArg,
                         std::vector<bool>, std::vector<std::int64_t>, std::vector<double>>;

// Calls `visit(Ref&)` for every present reference in `arg`.
template <typename ArgType, typename Visitor>
void for_each_ref(ArgType& arg, Visitor&& visit) {
  if (auto* ref = std::get_if<Ref>(&arg)) {
    if (ref->id >= 0) visit(*ref);
  } else if (auto* list = std::get_if<RefList>(&arg)) {
    for (auto& item : list->refs) {
      if (item.id >= 0) visit(item);
    }
  } else if (auto* mixed = std::get_if<MixedInts>(&arg)) {
    for (auto& item : mixed->refs) {
      if (item.id >= 0) visit(item);
    }
  }
}

}  // namespace lowwater
