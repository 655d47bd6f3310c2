#include <cerrno>
#include <cstring>
#include <memory>

#include "data/data.h"
#include "data/files.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

// NumPy's name of an element type, or null.
const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "|b1";
    case DType::u8:
      return "|u1";
    case DType::i8:
      return "|i1";
    case DType::u16:
      return "<u2";
    case DType::i16:
      return "<i2";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::f16:
      return "<f2";
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::c64:
      return "<c8";
    case DType::c128:
      return "<c16";
    default:
      return nullptr;
  }
}

// bfloat16 is the upper half of float32.
HostTensor widened(const HostTensor& tensor) {
  HostTensor out{DType::f32, tensor.sizes, std::vector<std::byte>(tensor.bytes.size() * 2)};
  for (std::size_t i = 0; i + 1 < tensor.bytes.size(); i += 2) {
    std::memcpy(out.bytes.data() + 2 * i + 2, tensor.bytes.data() + i, 2);
  }
  return out;
}

std::string header_of(const HostTensor& tensor, const std::string& where) {
  const char* descr = descr_of(tensor.dtype);
  if (descr == nullptr) {
    throw Error(
        ErrorKind::unsupported,
        "elements of type " + std::string(dtype_name(tensor.dtype)) + " cannot be written as .npy",
        where, "convert the output to float32 in the model");
  }
  std::string shape;
  for (const std::int64_t size : tensor.sizes) shape += std::to_string(size) + ", ";
  if (tensor.sizes.size() > 1) shape.resize(shape.size() - 2);
  if (tensor.sizes.size() == 1) shape.pop_back();
  std::string text =
      std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Magic, version and length take 10 bytes; elements begin at a multiple of 64.
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  const auto length = static_cast<std::uint16_t>(text.size());
  std::string start = "\x93NUMPY";
  start += {'\1', '\0', static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  return start + text;
}

[[noreturn]] void refuse_write(const std::string& where) {
  throw Error(ErrorKind::machine, std::string("cannot be written: ") + std::strerror(errno), where,
              "is there space, and may you write there?");
}

bool write_all(std::FILE* file, const HostTensor& tensor, const std::string& header) {
  if (std::fwrite(header.data(), 1, header.size(), file) != header.size()) return false;
  return tensor.bytes.empty() ||
         std::fwrite(tensor.bytes.data(), 1, tensor.bytes.size(), file) == tensor.bytes.size();
}

}  // namespace

void write_npy(const std::string& path, const HostTensor& tensor) {
  if (tensor.dtype == DType::bf16) return write_npy(path, widened(tensor));
  const std::string header = header_of(tensor, path);
  write_aside(path, [&](const std::string& aside) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(aside.c_str(), "wb"),
                                                         &std::fclose);
    // Buffered bytes meet a full disk only when the file is closed.
    if (!file || !write_all(file.get(), tensor, header) || std::fclose(file.release()) != 0)
      refuse_write(path);
  });
}

void write_npy_stream(std::FILE* stream, const HostTensor& tensor) {
  if (tensor.dtype == DType::bf16) return write_npy_stream(stream, widened(tensor));
  const std::string header = header_of(tensor, "standard output");
  if (!write_all(stream, tensor, header) || std::fflush(stream) != 0)
    refuse_write("standard output");
}

}  // namespace lowwater
