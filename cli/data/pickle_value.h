// The values of the pickle machine. Internal to pickle*.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/pickle.h"

namespace lowwater::pickle {

struct Value;
using Items = std::vector<Value>;

enum class Kind : std::uint8_t {
  none,
  boolean,
  integer,
  text,
  list,
  tuple,
  dict,
  storage,
  tensor,
  global,  // a name that may be called or stands for a type
  other,   // a value of no interest: a float, bytes
  mark,    // the machine's own
};

// A storage's element type; untyped ones leave it to the tensor.
struct Storage {
  std::string key;
  std::optional<DType> dtype;
};

// Small and copied freely; what it points to belongs to the machine.
struct Value {
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  std::string_view text;   // of text and global ("torch FloatStorage")
  Items* items = nullptr;  // of list and tuple; of dict: key, value, key, value ...
  const Storage* storage = nullptr;
  const PickledTensor* tensor = nullptr;
};

// The names that may stand in a pickle, by what calling or using them means.
enum class Global : std::uint8_t {
  rebuild_tensor,
  rebuild_tensor_v3,
  rebuild_parameter,
  ordered_dict,
  type
};
struct KnownGlobal {
  std::string_view name;
  Global meaning;
  std::optional<DType> dtype = std::nullopt;
};
// Null for any other name.
const KnownGlobal* find_global(std::string_view name);

}  // namespace lowwater::pickle
