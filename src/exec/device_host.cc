#include "exec/device_host.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

namespace lowwater {
namespace {

constexpr Bytes kNoLimit = std::numeric_limits<Bytes>::max();

std::optional<Bytes> read_number(const std::string& path) {
  std::ifstream file(path);
  Bytes number = 0;
  if (!(file >> number)) return std::nullopt;  // missing, or "max"
  return number;
}

// "Name:   123 kB" or "name 123" in a file of such lines; 0 if it is not there.
Bytes read_field(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key, unit;
    Bytes number = 0;
    if (!(words >> key >> number) || key != name) continue;
    return words >> unit && unit == "kB" ? number * kKiB : number;
  }
  return 0;
}

// The control group's folders, from the process's own up to the root of the
// hierarchy: every one of them can set a limit.
std::vector<std::string> group_folders(const std::string& root, const std::string& mount,
                                       const std::string& prefix) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line, path;
  while (std::getline(file, line)) {
    const std::size_t at = line.find(prefix);
    if (at != std::string::npos) path = line.substr(at + prefix.size());
  }
  std::vector<std::string> folders;
  while (!path.empty() && path != "/") {
    folders.push_back(root + mount + path);
    path.resize(path.rfind('/'));
  }
  folders.push_back(root + mount);  // also where a container sees its own group
  return folders;
}

// Takes a group's limit into account; page cache that can be dropped is free.
void limit(HostMemory& memory, std::optional<Bytes> most, std::optional<Bytes> used,
           Bytes droppable) {
  if (!most || *most <= 0 || *most >= kNoLimit / 2) return;
  memory.total = std::min(memory.total, *most);
  const Bytes in_use = std::max<Bytes>(used.value_or(0) - droppable, 0);
  memory.free = std::min(memory.free, std::max<Bytes>(*most - in_use, 0));
}

}  // namespace

HostMemory host_memory(const std::string& root) {
  HostMemory memory;
  memory.total = read_field(root + "/proc/meminfo", "MemTotal:");
  memory.free = read_field(root + "/proc/meminfo", "MemAvailable:");
  for (const std::string& folder : group_folders(root, "/sys/fs/cgroup", "0::")) {
    limit(memory, read_number(folder + "/memory.max"), read_number(folder + "/memory.current"),
          read_field(folder + "/memory.stat", "inactive_file"));
  }
  for (const std::string& folder : group_folders(root, "/sys/fs/cgroup/memory", ":memory:")) {
    limit(memory, read_number(folder + "/memory.limit_in_bytes"),
          read_number(folder + "/memory.usage_in_bytes"),
          read_field(folder + "/memory.stat", "total_inactive_file"));
  }
  return memory;
}

std::string host_name(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

Bytes host_process_bytes() {
  std::ifstream file("/proc/self/statm");
  Bytes size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace lowwater
