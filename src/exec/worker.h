// A session's own thread: everything that touches PyTorch happens on it, one
// call after the other. Kernels' thread-local caches then stay warm, and the
// caller's thread keeps its streams, its inference mode and its thread count.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lowwater {

class Worker {
 public:
  // `threads` of CPU operators on this worker; 0: PyTorch's default.
  explicit Worker(int threads);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // Finishes what is queued.
  ~Worker();

  // Runs `task` on the worker and waits for it. What it throws is thrown here.
  // Calls from several threads queue in order.
  void run(const std::function<void()>& task);

 private:
  void loop(int threads);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace lowwater
