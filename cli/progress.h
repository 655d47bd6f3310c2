// Progress on stderr: one line that rewrites itself on a terminal, a line every
// ten seconds elsewhere, nothing with --quiet.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

namespace lowwater::cli {

class Progress {
 public:
  // `what`: "measuring", "running". Colour and rewriting follow the terminal,
  // NO_COLOR and TERM=dumb.
  Progress(std::string what, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(long done, long total);
  // Prints a whole line (a note, a failed item) without breaking the progress line.
  void note(const std::string& line);
  void finish();

 private:
  void draw(long done, long total);
  void erase();

  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::string what_;
  bool quiet_ = false, terminal_ = false, drawn_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace lowwater::cli
