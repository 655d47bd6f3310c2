// DeviceQueue over CUDA streams. The host blocks in finish() only.
#ifdef LOWWATER_CUDA

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "exec/executor_queue.h"
#include "exec/scripted_allocator.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw Error(ErrorKind::machine, std::string(doing) + ": " + cudaGetErrorString(status));
}

cudaEvent_t make_event(unsigned int flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "creating an event");
  return event;
}

class CudaGraph final : public DeviceQueue::CapturedGraph {
 public:
  CudaGraph(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(status, "instantiating a CUDA graph");
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override { (void)cudaGraphExecDestroy(executable_); }
  void replay() override { check(cudaGraphLaunch(executable_, stream_), "launching a CUDA graph"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
  cudaStream_t stream_;
};

class CudaQueue final : public DeviceQueue {
 public:
  explicit CudaQueue(c10::Device device) : device_(device) {
    at::globalContext().lazyInitDevice(c10::kCUDA);
    c10::cuda::set_device(device.index());  // of this thread, which is the session's
    install_cpu_allocator();
    install_cuda_allocator();
    reserve(1, 0);
    started_ = make_event(cudaEventDefault);
    finished_ = make_event(cudaEventDefault);
    fork_ = make_event(cudaEventDisableTiming);
    use(0);
    // Each stream's cuBLAS workspace is allocated at the first handle: here,
    // outside of every script.
    (void)at::cuda::getCurrentCUDABlasHandle();
    (void)at::cuda::getCUDABlasLtWorkspace();
  }

  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;
  ~CudaQueue() override {
    abandon();
    for (cudaEvent_t event : events_) (void)cudaEventDestroy(event);
    for (cudaEvent_t event : {started_, finished_, fork_}) (void)cudaEventDestroy(event);
  }

  void reserve(int streams, int events) override {
    const c10::cuda::CUDAGuard guard(device_);
    while (static_cast<int>(streams_.size()) < streams) {
      streams_.push_back(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_.index()));
    }
    while (static_cast<int>(events_.size()) < events)
      events_.push_back(make_event(cudaEventDisableTiming));
  }

  void begin() override {
    c10::cuda::set_device(device_.index());
    check(cudaEventRecord(started_, stream(0)), "recording an event");
    fork();
  }

  void use(int index) override { c10::cuda::setCurrentCUDAStream(stream(index)); }

  void record(int event, int index) override {
    check(cudaEventRecord(events_.at(static_cast<std::size_t>(event)), stream(index)),
          "recording an event");
  }

  void wait(int event, int index) override {
    check(cudaStreamWaitEvent(stream(index), events_.at(static_cast<std::size_t>(event)), 0),
          "waiting for an event");
  }

  double finish() override {
    join();
    check(cudaEventRecord(finished_, stream(0)), "recording an event");
    check(cudaEventSynchronize(finished_), "waiting for the device");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, started_, finished_), "reading the device's clock");
    return ms;
  }

  void abandon() noexcept override {
    for (const auto& one : streams_) (void)cudaStreamSynchronize(one);
    (void)cudaGetLastError();
  }

  std::shared_ptr<std::byte> host_memory(Bytes size) override {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, static_cast<std::size_t>(size), cudaHostAllocDefault),
          "allocating pinned host memory");
    return {static_cast<std::byte*>(memory),
            [](std::byte* address) { (void)cudaFreeHost(address); }};
  }

  bool begin_capture() override {
    // The other streams become part of the graph through fork and join.
    check(cudaStreamBeginCapture(stream(0), cudaStreamCaptureModeThreadLocal),
          "capturing a CUDA graph");
    fork();
    return true;
  }

  std::unique_ptr<CapturedGraph> end_capture() override {
    join();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream(0), &graph), "capturing a CUDA graph");
    return std::make_unique<CudaGraph>(graph, stream(0));
  }

  void cancel_capture() noexcept override {
    cudaGraph_t graph = nullptr;
    (void)cudaStreamEndCapture(stream(0), &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
  }

 private:
  c10::cuda::CUDAStream stream(int index) const {
    return streams_.at(static_cast<std::size_t>(index));
  }

  void fork() {
    check(cudaEventRecord(fork_, stream(0)), "recording an event");
    for (std::size_t i = 1; i < streams_.size(); ++i) {
      check(cudaStreamWaitEvent(streams_[i], fork_, 0), "waiting for an event");
    }
  }

  // One event serves them all: a wait refers to the latest record before it.
  void join() {
    for (std::size_t i = 1; i < streams_.size(); ++i) {
      check(cudaEventRecord(fork_, streams_[i]), "recording an event");
      check(cudaStreamWaitEvent(stream(0), fork_, 0), "waiting for an event");
    }
  }

  c10::Device device_;
  std::vector<c10::cuda::CUDAStream> streams_;
  std::vector<cudaEvent_t> events_;
  cudaEvent_t started_ = nullptr, finished_ = nullptr, fork_ = nullptr;
};

}  // namespace

std::shared_ptr<DeviceQueue> make_cuda_queue(c10::Device device);
std::shared_ptr<DeviceQueue> make_cuda_queue(c10::Device device) {
  return std::make_shared<CudaQueue>(device);
}

}  // namespace lowwater

#endif
