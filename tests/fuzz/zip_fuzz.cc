// Any bytes as a ZIP file: refused with an Error, or every record can be read.
#include <cstdlib>

#include "archive/zip.h"
#include "lowwater/error.h"

using namespace lowwater;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// Reading gives the size that the directory claims, or an Error.
void read(std::span<const std::byte> file, const Record& record) {
  const bool sound = crc_matches(file, record);
  try {
    require(static_cast<Bytes>(read_record(file, record, "fuzz").size()) == record.size);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::bad_input);
    require(record.deflated && !sound);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  try {
    for (const Record& record : read_zip_directory(file, "fuzz")) {
      require(record.offset >= 0 && record.stored_size >= 0 && record.size >= 0);
      require(record.offset + record.stored_size <= static_cast<Bytes>(size));
      read(file, record);
    }
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::bad_input);
  }
  return 0;
}
