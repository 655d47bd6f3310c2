#include "load.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace lowwater::cli {
namespace {

// Round to nearest, ties to even.
std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x1p-14F) {  // subnormal: count units of 2^-24
    return static_cast<std::uint16_t>(
        sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24F)));
  }
  const std::uint32_t rounded = (bits & 0x7fffffffU) + 0xfffU + ((bits >> 13) & 1U);
  return static_cast<std::uint16_t>(sign |
                                    static_cast<std::uint16_t>((rounded >> 13) - (112U << 10)));
}

std::uint16_t to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0U;
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

// Writes `count` floats as `dtype` at `to`; false if the type is not floating.
bool store_floats(const float* from, std::size_t count, DType dtype, std::byte* to) {
  const auto each = [&](auto convert) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto element = convert(from[i]);
      std::memcpy(to + i * sizeof element, &element, sizeof element);
    }
    return true;
  };
  switch (dtype) {
    case DType::f32:
      return each([](float x) { return x; });
    case DType::f64:
      return each([](float x) { return static_cast<double>(x); });
    case DType::f16:
      return each(to_half);
    case DType::bf16:
      return each(to_bfloat);
    default:
      return false;
  }
}

bool is_image(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return false;
  std::string ending = path.substr(dot + 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == "png" || ending == "jpg" || ending == "jpeg";
}

HostTensor as_type(const HostTensor& image, DType dtype, const std::string& path,
                   const std::string& input) {
  if (dtype == image.dtype) return image;
  HostTensor out{dtype, image.sizes, {}};
  const std::size_t count = image.bytes.size() / sizeof(float);
  out.bytes.resize(count * static_cast<std::size_t>(element_size(dtype)));
  std::vector<float> floats(count);
  std::memcpy(floats.data(), image.bytes.data(), image.bytes.size());
  if (!store_floats(floats.data(), count, dtype, out.bytes.data())) {
    throw Error(ErrorKind::bad_input,
                "an image cannot be given to the input '" + input + "' of type " +
                    std::string(dtype_name(dtype)),
                path);
  }
  return out;
}

HostTensor pick(std::vector<NamedTensor> found, const IoDescription& input,
                const std::string& path) {
  if (found.size() == 1) return std::move(found.front().tensor);
  std::string names;
  for (NamedTensor& candidate : found) {
    if (candidate.name == input.name) return std::move(candidate.tensor);
    names += (names.empty() ? "" : ", ") + candidate.name;
  }
  throw Error(ErrorKind::bad_input, "it holds several tensors, none called '" + input.name + "'",
              path, found.empty() ? "it is empty" : "it has: " + names);
}

std::vector<std::int64_t> concrete_sizes(const IoDescription& input, const Options& options) {
  const auto given = options.shapes.find(input.name);
  if (given != options.shapes.end()) return given->second;
  for (const std::int64_t size : input.sizes) {
    if (size < 0) {
      throw Error(ErrorKind::bad_input, "the archive leaves the sizes of '" + input.name + "' open",
                  "", "give them: --shape " + input.name + "=1x3x512x512");
    }
  }
  return input.sizes;
}

}  // namespace

std::vector<HostTensor> load_item(const Item& item, const std::vector<IoDescription>& inputs,
                                  const ImageOptions& image) {
  std::vector<HostTensor> tensors(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& path = item.files[i];
    if (path.empty()) continue;
    if (path == "-") {
      tensors[i] = read_npy_stream(stdin, "standard input");
      continue;
    }
    ImageOptions wanted = image;
    if (inputs[i].sizes.size() == 4 && inputs[i].sizes[1] > 0) {
      wanted.channels = static_cast<int>(inputs[i].sizes[1]);
    }
    HostTensor tensor = pick(read_tensors(path, wanted), inputs[i], path);
    const std::optional<DType> dtype = parse_dtype(inputs[i].dtype);
    tensors[i] =
        is_image(path) && dtype ? as_type(tensor, *dtype, path, inputs[i].name) : std::move(tensor);
  }
  return tensors;
}

std::vector<TensorView> views_of(const std::vector<HostTensor>& tensors) {
  std::vector<TensorView> views;
  for (const HostTensor& tensor : tensors) {
    TensorView view;
    view.data = tensor.bytes.data();
    view.dtype = std::string(dtype_name(tensor.dtype));
    view.sizes = tensor.sizes;
    views.push_back(std::move(view));
  }
  return views;
}

HostTensor to_host_tensor(const TensorView& view) {
  HostTensor out;
  out.dtype = parse_dtype(view.dtype).value_or(DType::f32);
  out.sizes = view.sizes;
  const auto element = static_cast<std::size_t>(element_size(out.dtype));
  std::size_t count = 1;
  for (const std::int64_t size : view.sizes) count *= static_cast<std::size_t>(size);
  out.bytes.resize(count * element);
  if (count == 0) return out;
  const auto* from = static_cast<const std::byte*>(view.data);
  std::vector<std::int64_t> index(view.sizes.size(), 0);
  std::vector<std::int64_t> strides = view.strides;
  if (strides.empty()) {
    strides.assign(view.sizes.size(), 1);
    for (std::size_t d = view.sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * view.sizes[d];
  }
  // Copies the longest contiguous run of trailing dimensions at once.
  std::size_t run = 1, outer = view.sizes.size();
  while (outer > 0 &&
         (view.sizes[outer - 1] == 1 || strides[outer - 1] == static_cast<std::int64_t>(run))) {
    run *= static_cast<std::size_t>(view.sizes[--outer]);
  }
  for (std::size_t at = 0; at < count; at += run) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < outer; ++d) offset += index[d] * strides[d];
    std::memcpy(out.bytes.data() + at * element, from + offset * static_cast<std::int64_t>(element),
                run * element);
    for (std::size_t d = outer; d-- > 0;) {
      if (++index[d] < view.sizes[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

std::vector<HostTensor> random_inputs(const std::vector<IoDescription>& inputs,
                                      const Options& options) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<float> normal;
  std::vector<HostTensor> tensors(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor) continue;
    HostTensor& tensor = tensors[i];
    tensor.dtype = parse_dtype(inputs[i].dtype).value_or(DType::f32);
    tensor.sizes = concrete_sizes(inputs[i], options);
    std::size_t count = 1;
    for (const std::int64_t size : tensor.sizes) count *= static_cast<std::size_t>(size);
    tensor.bytes.assign(count * static_cast<std::size_t>(element_size(tensor.dtype)),
                        std::byte{tensor.dtype == DType::boolean});
    if (!is_floating(tensor.dtype)) continue;
    std::vector<float> values(count);
    for (float& value : values) value = normal(random);
    store_floats(values.data(), count, tensor.dtype, tensor.bytes.data());
  }
  return tensors;
}

}  // namespace lowwater::cli
