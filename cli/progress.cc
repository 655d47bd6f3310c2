#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lowwater::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLogEvery = std::chrono::seconds(10);

int terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string duration(double seconds) {
  const long s = static_cast<long>(seconds + 0.5);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{}:{:02} min", s / 60, s % 60);
  return fmt::format("{}:{:02} h", s / 3600, s / 60 % 60);
}

}  // namespace

Progress::Progress(std::string what, bool quiet) : what_(std::move(what)), quiet_(quiet) {
  const char* term = std::getenv("TERM");
  terminal_ = isatty(STDERR_FILENO) != 0 && (term == nullptr || std::strcmp(term, "dumb") != 0);
}

Progress::~Progress() { finish(); }

void Progress::update(long done, long total) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  // The first line appears only once something takes noticeable time.
  if (now - last_ < (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLogEvery))) return;
  last_ = now;
  draw(done, total);
}

void Progress::draw(long done, long total) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string text = fmt::format("{} {}/{}", what_, done, total);
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    text += rate >= 1 ? fmt::format(", {:.1f}/s", rate) : fmt::format(", {:.1f} s each", 1 / rate);
    if (total > done)
      text += fmt::format(", {} left", duration(static_cast<double>(total - done) / rate));
  }
  if (!terminal_) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  const int width = terminal_width();
  const int bar = std::min(30, width - static_cast<int>(text.size()) - 4);
  if (bar >= 8 && total > 0) {
    const auto full = static_cast<std::size_t>(bar * done / total);
    text += "  " + std::string(full, '#') + std::string(static_cast<std::size_t>(bar) - full, '.');
  }
  if (static_cast<int>(text.size()) >= width)
    text.resize(static_cast<std::size_t>(std::max(1, width - 1)));
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::erase() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

void Progress::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  erase();
  fmt::print(stderr, "{}\n", line);
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  erase();
}

}  // namespace lowwater::cli
