#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "archive/zip.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::bad_input, what, path, "give the path of a file that can be read");
}

// Closes the descriptor on every way out; the mapping outlives it.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) refuse(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) {
    refuse(path, std::string("cannot be examined: ") + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) refuse(path, "is a folder, not a file");
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file, so it cannot be mapped");

  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  if (status.st_size == 0) return mapped;  // mmap refuses a length of zero
  const auto size = static_cast<std::size_t>(status.st_size);
  // Shared, so that the pages are the page cache's own, and not populated:
  // opening must not read payloads.
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorKind::machine, std::string("cannot be mapped: ") + std::strerror(errno), path,
                "raise the limit of address space (ulimit -v)");
  }
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->size_ = size;
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace lowwater
