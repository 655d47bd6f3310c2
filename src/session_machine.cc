// version(), doctor's findings and the cache: what is known without an archive.
#include <ATen/Parallel.h>

#include "base/bytes.h"
#include "exec/device.h"
#include "exec/device_cuda.h"
#include "exec/record_store.h"
#include "lowwater/session.h"

namespace lowwater {
namespace {

std::string memory_text(const DeviceInfo& info) {
  return info.name + ", " + format_bytes(info.total) + " of memory, " + format_bytes(info.free) +
         " free";
}

Finding describe_gpu(c10::Device device) {
  const std::string topic = "device " + device.str();
  try {
    const DeviceInfo info = device_info(device);
    const std::string capability = std::to_string(info.compute_capability / 10) + "." +
                                   std::to_string(info.compute_capability % 10);
    return {topic, memory_text(info) + ", compute capability " + capability, false};
  } catch (const Error& error) {
    return {topic, error.what(), true};
  }
}

Finding describe_cache() {
  const std::string folder = default_cache_folder();
  if (folder.empty()) return {"record cache", "none: neither XDG_CACHE_HOME nor HOME is set", true};
  const RecordStore store(folder);
  if (!store.problem().empty())
    return {"record cache", store.path() + ": " + store.problem(), true};
  return {"record cache", store.path(), false};
}

}  // namespace

std::string version() { return LOWWATER_VERSION; }

std::vector<Finding> describe_machine() {
  std::vector<Finding> findings = {{"lowwater", version(), false}};
  findings.push_back({"device cpu",
                      memory_text(device_info(c10::kCPU)) + ", " +
                          std::to_string(at::get_num_threads()) + " threads",
                      false});
  const std::vector<c10::Device> gpus = cuda_devices();
  for (const c10::Device gpu : gpus) findings.push_back(describe_gpu(gpu));
  if (gpus.empty()) findings.push_back({"device cuda", cuda_presence().why_none, false});
  for (const std::string& line : library_versions()) findings.push_back({"library", line, false});
  findings.push_back(describe_cache());
  return findings;
}

bool clear_cache(const std::string& folder) {
  const std::string where = folder.empty() ? default_cache_folder() : folder;
  if (where.empty()) return false;
  return RecordStore(where).clear();
}

}  // namespace lowwater
