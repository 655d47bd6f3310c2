// What differs between devices in a run: streams, events, the clock, graphs.
// On the CPU everything happens in order, so that most of it is nothing.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <cstddef>
#include <memory>

#include "base/bytes.h"

namespace lowwater {

// One per session: streams are expensive (each has its cuBLAS workspace). Used
// by one thread.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  // Makes streams and events up to these numbers. Stream 0 is the compute stream.
  virtual void reserve(int streams, int events);
  // Starts the clock; the other streams wait for what stream 0 did before.
  virtual void begin();
  // Streams for what follows on this thread.
  virtual void use(int stream);
  virtual void record(int event, int stream);
  virtual void wait(int event, int stream);
  // Stream 0 waits for all streams, the host for stream 0. Milliseconds since begin().
  virtual double finish();
  // Waits without an error, after a failure.
  virtual void abandon() noexcept;

  // Host memory that copies can use at full speed.
  virtual std::shared_ptr<std::byte> host_memory(Bytes size);

  // What is enqueued between the two is kept instead of run; `replay` runs it.
  class CapturedGraph {
   public:
    virtual ~CapturedGraph() = default;
    virtual void replay() = 0;
  };
  // False: this device has no graphs.
  virtual bool begin_capture();
  virtual std::unique_ptr<CapturedGraph> end_capture();
  virtual void cancel_capture() noexcept;

 private:
  std::chrono::steady_clock::time_point started_;
};

// Also puts lowwater's allocator in front of PyTorch's for that device.
std::shared_ptr<DeviceQueue> make_queue(c10::Device device);

}  // namespace lowwater
