#include <string>

#include "exec/slab.h"
#include "lowwater/error.h"

#ifdef LOWWATER_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

namespace lowwater {

#ifdef LOWWATER_CUDA

std::byte* cuda_slab_memory(c10::Device device, Bytes size) {
  const c10::cuda::CUDAGuard guard(device);
  void* address = nullptr;
  const cudaError_t status = cudaMalloc(&address, static_cast<std::size_t>(size));
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // a refused allocation is not sticky
    throw Error(ErrorKind::machine,
                device.str() + " refused " + format_bytes(size) + ": " + cudaGetErrorString(status),
                {}, "other processes may use the device; `lowwater top` shows them");
  }
  return static_cast<std::byte*>(address);
}

void free_cuda_slab_memory(c10::Device device, std::byte* address) {
  // Waits for the device, so kernels that still use the slab finish first.
  // Errors cannot be reported from a destructor; at exit the driver may be gone.
  int previous = 0;
  static_cast<void>(cudaGetDevice(&previous));
  static_cast<void>(cudaSetDevice(device.index()));
  static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(cudaFree(address));
  static_cast<void>(cudaSetDevice(previous));
}

#else

std::byte* cuda_slab_memory(c10::Device device, Bytes) {
  throw Error(
      ErrorKind::machine,
      device.str() + " is not available: the PyTorch that lowwater was built with has no CUDA");
}

void free_cuda_slab_memory(c10::Device, std::byte*) {}

#endif

}  // namespace lowwater
