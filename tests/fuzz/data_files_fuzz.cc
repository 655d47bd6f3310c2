// Any bytes as a data file: refused with an Error, or tensors whose bytes match their sizes.
#include <cstdlib>

#include "data/read.h"
#include "data/strided.h"
#include "lowwater/error.h"

using namespace lowwater;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const auto& [name, tensor] :
         decode_tensors(std::as_bytes(std::span(data, size)), "fuzz", {})) {
      const auto bytes = checked_bytes(tensor.sizes, element_size(tensor.dtype));
      if (!bytes || *bytes != std::ssize(tensor.bytes)) std::abort();
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) std::abort();
  }
  return 0;
}
