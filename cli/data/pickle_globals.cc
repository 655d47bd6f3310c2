#include <array>

#include "data/pickle_value.h"

namespace lowwater::pickle {
namespace {

constexpr std::array<KnownGlobal, 35> kGlobals = {{
    {"torch._utils _rebuild_tensor_v2", Global::rebuild_tensor},
    {"torch._utils _rebuild_tensor_v3", Global::rebuild_tensor_v3},
    {"torch._utils _rebuild_parameter", Global::rebuild_parameter},
    {"collections OrderedDict", Global::ordered_dict},
    {"torch.storage UntypedStorage", Global::type},
    {"torch BoolStorage", Global::type, DType::boolean},
    {"torch ByteStorage", Global::type, DType::u8},
    {"torch CharStorage", Global::type, DType::i8},
    {"torch ShortStorage", Global::type, DType::i16},
    {"torch IntStorage", Global::type, DType::i32},
    {"torch LongStorage", Global::type, DType::i64},
    {"torch HalfStorage", Global::type, DType::f16},
    {"torch BFloat16Storage", Global::type, DType::bf16},
    {"torch FloatStorage", Global::type, DType::f32},
    {"torch DoubleStorage", Global::type, DType::f64},
    {"torch ComplexFloatStorage", Global::type, DType::c64},
    {"torch ComplexDoubleStorage", Global::type, DType::c128},
    {"torch bool", Global::type, DType::boolean},
    {"torch uint8", Global::type, DType::u8},
    {"torch int8", Global::type, DType::i8},
    {"torch uint16", Global::type, DType::u16},
    {"torch int16", Global::type, DType::i16},
    {"torch int32", Global::type, DType::i32},
    {"torch int64", Global::type, DType::i64},
    {"torch float16", Global::type, DType::f16},
    {"torch bfloat16", Global::type, DType::bf16},
    {"torch float32", Global::type, DType::f32},
    {"torch float64", Global::type, DType::f64},
    {"torch complex32", Global::type, DType::c32},
    {"torch complex64", Global::type, DType::c64},
    {"torch complex128", Global::type, DType::c128},
    {"torch float8_e4m3fn", Global::type, DType::f8_e4m3fn},
    {"torch float8_e5m2", Global::type, DType::f8_e5m2},
    {"torch float8_e4m3fnuz", Global::type, DType::f8_e4m3fnuz},
    {"torch float8_e5m2fnuz", Global::type, DType::f8_e5m2fnuz},
}};

}  // namespace

const KnownGlobal* find_global(std::string_view name) {
  for (const KnownGlobal& known : kGlobals) {
    if (known.name == name) return &known;
  }
  return nullptr;
}

}  // namespace lowwater::pickle
