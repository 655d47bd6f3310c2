// Data files: what `run --input` reads and `run --output` writes. No torch.
//
// Readers look at the content, not at the file's name. Every error is one line:
// which file, what is wrong with it, what to do (Error, kind bad_input).
// Writers write aside in the same folder and rename; a failed write leaves
// nothing behind and throws Error(machine).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace lowwater {

// Row-major, native byte order; owns its bytes.
struct HostTensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;
  friend bool operator==(const HostTensor&, const HostTensor&) = default;
};

// How pixels become numbers: value = (pixel * scale - mean[c]) / std[c], in a
// float32 tensor [1, channels, height, width].
struct ImageOptions {
  double scale = 1.0 / 255;       // for 8-bit pixels; 16-bit ones are first divided by 257
  std::vector<double> mean, std;  // empty: 0 and 1; one number, or one per channel
  int channels = 0;               // wanted; 0: as in the file (1, 3 or 4)
};

// A tensor of a file and its key in it ("" where the file holds just one).
struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

// .npy, .npz, torch.save (.pt, .pth), PNG, JPEG.
std::vector<NamedTensor> read_tensors(const std::string& path, const ImageOptions& image = {});

// One .npy from a stream (`x=-`). `name` is for messages.
HostTensor read_npy_stream(std::FILE* stream, const std::string& name);

// bf16 is widened to float32, f8 refused by name.
void write_npy(const std::string& path, const HostTensor& tensor);
void write_npy_stream(std::FILE* stream, const HostTensor& tensor);

// A label map [H,W] or [1,..,H,W] of integers or booleans as grey PNG: 8 bit, or
// 16 bit where a label exceeds 255. Refuses other types and shapes by name.
void write_label_png(const std::string& path, const HostTensor& tensor);

}  // namespace lowwater
