#include "data/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "lowwater/error.h"

namespace lowwater {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

}  // namespace

std::string read_text_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file)
    throw Error(ErrorKind::bad_input, std::string("cannot be read: ") + std::strerror(errno), path);
  std::string text;
  char block[1 << 16];
  std::size_t got = 0;
  while ((got = std::fread(block, 1, sizeof block, file.get())) > 0) text.append(block, got);
  if (std::ferror(file.get()) != 0) {
    throw Error(ErrorKind::bad_input, std::string("cannot be read: ") + std::strerror(errno), path);
  }
  return text;
}

void write_aside(const std::string& path, const std::function<void(const std::string&)>& write) {
  const std::string aside = path + ".part" + std::to_string(getpid());
  std::error_code ignored;
  try {
    write(aside);
    if (std::rename(aside.c_str(), path.c_str()) != 0) {
      throw Error(ErrorKind::machine, std::string("cannot be written: ") + std::strerror(errno),
                  path);
    }
  } catch (...) {
    std::filesystem::remove(aside, ignored);
    throw;
  }
}

void write_text_file(const std::string& path, std::string_view text) {
  write_aside(path, [&](const std::string& aside) {
    File file(std::fopen(aside.c_str(), "wb"), &std::fclose);
    const bool written =
        file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    // Buffered bytes meet a full disk only when the file is closed.
    if (!written || std::fclose(file.release()) != 0) {
      throw Error(ErrorKind::machine, std::string("cannot be written: ") + std::strerror(errno),
                  path, "is there space, and may you write there?");
    }
  });
}

}  // namespace lowwater
