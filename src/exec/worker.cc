#include "exec/worker.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <future>
#include <memory>
#include <utility>

namespace lowwater {
namespace {

// at::set_num_threads sets this thread's number and also what threads that come
// later start with; the latter is put back by a thread of its own.
void use_threads(int threads) {
  if (threads <= 0) return;
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  std::thread([before] { at::set_num_threads(before); }).join();
}

// The library prints nothing, so PyTorch's advice to Python users (flatten the
// weights of an RNN ...) goes nowhere.
class Silence final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

}  // namespace

Worker::Worker(int threads) : thread_([this, threads] { loop(threads); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Worker::run(const std::function<void()>& task) {
  const auto job = std::make_shared<std::packaged_task<void()>>(task);
  std::future<void> done = job->get_future();
  {
    const std::lock_guard lock(mutex_);
    queue_.emplace_back([job] { (*job)(); });
  }
  wake_.notify_one();
  done.get();
}

void Worker::loop(int threads) {
  use_threads(threads);
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard no_warnings(&silence);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace lowwater
