// NVIDIA's management library, loaded at run time: the only source of the bytes
// that one process holds on a GPU. Private to device*.cc.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"

namespace lowwater {

// `pci_bus_id` as CUDA spells it ("0000:17:00.0"). nullopt: there is no NVML, or
// it does not say (containers with their own process ids, MIG slices).
std::optional<Bytes> nvml_process_bytes(const std::string& pci_bus_id);

// Bytes in use on the device by everybody; needs no CUDA context.
std::optional<Bytes> nvml_device_bytes(const std::string& pci_bus_id);

// The driver's version, "580.65.06"; nullopt: no NVML.
std::optional<std::string> nvml_driver_version();

}  // namespace lowwater
