# libtorch as it lies in the Python package, through hand-written imported
# targets. find_package(Torch) is not used: it insists on a full CUDA toolkit of
# the very same version even for plain C++.
set(LOWWATER_PYTHON "${CMAKE_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH
    "The Python whose torch package is built against")
execute_process(
  COMMAND ${LOWWATER_PYTHON} -c "import os, torch; print(os.path.dirname(torch.__file__)); print(torch.__version__); print(torch.version.cuda or '')"
  OUTPUT_VARIABLE probe RESULT_VARIABLE failed ERROR_VARIABLE why OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed)
  message(FATAL_ERROR "${LOWWATER_PYTHON} cannot import torch:\n${why}\n"
    "Run `make setup`, or point LOWWATER_PYTHON at a Python that has PyTorch 2.11.")
endif()
string(REPLACE "\n" ";" probe "${probe};")
list(GET probe 0 TORCH_DIR)
list(GET probe 1 TORCH_VERSION)
list(GET probe 2 TORCH_CUDA_VERSION)
# What was found for another PyTorch is looked for again.
if(NOT "${TORCH_DIR} ${TORCH_VERSION}" STREQUAL "${LOWWATER_TORCH_FOUND}")
  unset(LOWWATER_TORCH_FITS CACHE)
  unset(LOWWATER_CUDA_INCLUDE CACHE)
  unset(LOWWATER_CUDA_CRT_INCLUDE CACHE)
  unset(LOWWATER_CUDART CACHE)
  set(LOWWATER_TORCH_FOUND "${TORCH_DIR} ${TORCH_VERSION}" CACHE INTERNAL "")
endif()
message(STATUS "PyTorch ${TORCH_VERSION} (CUDA '${TORCH_CUDA_VERSION}') in ${TORCH_DIR}")

add_library(lowwater_torch INTERFACE)
target_include_directories(lowwater_torch SYSTEM INTERFACE
  ${TORCH_DIR}/include ${TORCH_DIR}/include/torch/csrc/api/include)
target_link_options(lowwater_torch INTERFACE -Wl,-rpath,${TORCH_DIR}/lib -Wl,--allow-shlib-undefined)
set(torch_libraries ${TORCH_DIR}/lib/libtorch_cpu.so ${TORCH_DIR}/lib/libtorch.so ${TORCH_DIR}/lib/libc10.so)
set(LOWWATER_CUDA OFF)
if(EXISTS ${TORCH_DIR}/lib/libtorch_cuda.so)
  # CUDA headers: of the wheel's own packages first, so that no toolkit is needed.
  get_filename_component(site ${TORCH_DIR} DIRECTORY)
  string(REGEX MATCH "^[0-9]+" cuda_major "${TORCH_CUDA_VERSION}")
  find_path(LOWWATER_CUDA_INCLUDE cuda_runtime_api.h
    HINTS ${site}/nvidia/cu${cuda_major}/include ${site}/nvidia/cuda_runtime/include
          /usr/local/cuda/include REQUIRED)
  find_library(LOWWATER_CUDART NAMES libcudart.so.${cuda_major} cudart
    HINTS ${site}/nvidia/cu${cuda_major}/lib ${site}/nvidia/cuda_runtime/lib /usr/local/cuda/lib64 REQUIRED)
  # The runtime's headers include the compiler's; the wheel torch depends on lacks
  # those (requirements/base.txt adds them), a toolkit has them.
  find_path(LOWWATER_CUDA_CRT_INCLUDE crt/host_defines.h
    HINTS ${LOWWATER_CUDA_INCLUDE} $ENV{CUDA_HOME}/include /usr/local/cuda/include)
  if(NOT LOWWATER_CUDA_CRT_INCLUDE)
    message(FATAL_ERROR "No crt/host_defines.h: install nvidia-cuda-crt of CUDA ${TORCH_CUDA_VERSION} "
      "beside PyTorch (requirements/base.txt), or a CUDA toolkit and set CUDA_HOME.")
  endif()
  target_include_directories(lowwater_torch SYSTEM INTERFACE ${LOWWATER_CUDA_INCLUDE} ${LOWWATER_CUDA_CRT_INCLUDE})
  get_filename_component(cudart_dir ${LOWWATER_CUDART} DIRECTORY)
  target_link_options(lowwater_torch INTERFACE -Wl,-rpath,${cudart_dir})
  list(APPEND torch_libraries ${TORCH_DIR}/lib/libtorch_cuda.so ${TORCH_DIR}/lib/libc10_cuda.so ${LOWWATER_CUDART})
  target_compile_definitions(lowwater_torch INTERFACE LOWWATER_CUDA=1)
  set(LOWWATER_CUDA ON)
endif()
# Nothing references libtorch_cuda's kernels by name, so keep it as needed.
target_link_options(lowwater_torch INTERFACE -Wl,--no-as-needed)
target_link_libraries(lowwater_torch INTERFACE ${torch_libraries})

# Does this PyTorch have what exec/ overrides? One small program says so now,
# instead of pages of errors later.
include(CheckCXXSourceCompiles)
# (A static library is not linked, and CMake then passes no usage requirements on.)
get_target_property(CMAKE_REQUIRED_INCLUDES lowwater_torch INTERFACE_INCLUDE_DIRECTORIES)
if(LOWWATER_CUDA)
  set(CMAKE_REQUIRED_DEFINITIONS -DLOWWATER_CUDA=1)
endif()
set(CMAKE_REQUIRED_FLAGS "-std=c++20")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
file(READ ${CMAKE_SOURCE_DIR}/cmake/torch_probe.cc probe_source)
check_cxx_source_compiles("${probe_source}" LOWWATER_TORCH_FITS)
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_DEFINITIONS)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT LOWWATER_TORCH_FITS)
  message(FATAL_ERROR "PyTorch ${TORCH_VERSION} in ${TORCH_DIR} does not fit: lowwater overrides the "
    "allocator interface of PyTorch 2.11, and cmake/torch_probe.cc does not compile against this one. "
    "Install torch==2.11.0 (requirements/base.txt), or run `make setup`.")
endif()
