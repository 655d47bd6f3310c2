// Host memory as this process may use it: what the machine has, less what the
// control group it runs in forbids. Private to device*.cc.
#pragma once

#include <string>

#include "base/bytes.h"

namespace lowwater {

struct HostMemory {
  Bytes total = 0, free = 0;
};

// `root` is put before /proc and /sys; for tests.
HostMemory host_memory(const std::string& root = {});

std::string host_name(const std::string& root = {});  // the CPU's model

// Resident bytes of this process.
Bytes host_process_bytes();

}  // namespace lowwater
