// Any text as a payload table: refused with an Error, or every view lies inside its record.
#include <cstdlib>

#include "archive/weight_table.h"
#include "lowwater/error.h"

using namespace lowwater;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// In floating point, which cannot overflow here as the reader's integers could.
void check_inside(const Weight& weight, Bytes size) {
  long double end = static_cast<long double>(weight.storage_offset) + 1;
  for (std::size_t i = 0; i < weight.sizes.size(); ++i) {
    if (weight.sizes[i] == 0) return;
    end +=
        static_cast<long double>(weight.sizes[i] - 1) * static_cast<long double>(weight.strides[i]);
  }
  require(end * static_cast<long double>(element_size(weight.dtype)) <=
          static_cast<long double>(size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<Record> records = {
      {.name = "r/data/weights/weight_0", .stored_size = 96, .size = 96},
      {.name = "r/data/weights/weight_1"}};
  PayloadTable payloads{
      "fuzz", "r/data/weights/", {reinterpret_cast<const char*>(data), size}, false};
  WeightTable table;
  try {
    add_weights(payloads, records, table);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::bad_input || error.kind() == ErrorKind::unsupported);
    return 0;
  }
  for (const Weight& weight : table.weights) {
    check_inside(weight, table.storages.at(static_cast<std::size_t>(weight.storage)).size);
  }
  return 0;
}
