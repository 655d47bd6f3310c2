// The two ZIP files among data files: .npz and what torch.save writes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "archive/zip.h"
#include "data/data.h"

namespace lowwater {

// Which of the two it is shows in its records.
std::vector<NamedTensor> read_zipped(std::span<const std::byte> file, const std::string& path);

// A record's bytes, checked against its CRC.
std::vector<std::byte> read_checked(std::span<const std::byte> file, const Record& record,
                                    const std::string& path);

// torch.save: <root>/data.pkl describes tensors over <root>/data/<key>.
std::vector<NamedTensor> read_torch_save(std::span<const std::byte> file,
                                         const std::vector<Record>& records, const Record& pickle,
                                         const std::string& path);

}  // namespace lowwater
