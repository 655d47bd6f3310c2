// Tests that need a GPU skip themselves without one, and fail instead where
// LOWWATER_REQUIRE_CUDA=1 says that there must be one.
#pragma once

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#define NEEDS_CUDA()                                                                     \
  if (!at::globalContext().hasCUDA() || at::detail::getCUDAHooks().deviceCount() == 0) { \
    const char* required = std::getenv("LOWWATER_REQUIRE_CUDA");                         \
    if (required != nullptr && std::string(required) == "1") FAIL() << "no CUDA device"; \
    GTEST_SKIP() << "no CUDA device";                                                    \
  }                                                                                      \
  at::globalContext().lazyInitDevice(c10::kCUDA)
