#include <nlohmann/json.hpp>
#include <utility>

#include "exec/record_store.h"

namespace lowwater {
namespace {

using nlohmann::json;

// Short keys: a store holds thousands of records.
//   {"ev":[[1,0,4096],[0,0,0]], "out":[{"h":0,"s":0,"m":{...}}], "ms":0.25}
json to_json(const TensorMeta& meta) {
  return {{"t", dtype_name(meta.dtype)},
          {"n", meta.sizes},
          {"s", meta.strides},
          {"o", meta.storage_offset},
          {"b", meta.storage_bytes}};
}

TensorMeta meta_from(const json& object) {
  TensorMeta meta;
  const auto dtype = parse_dtype(object.at("t").get<std::string>());
  if (!dtype) throw std::invalid_argument("unknown element type");
  meta.dtype = *dtype;
  object.at("n").get_to(meta.sizes);
  object.at("s").get_to(meta.strides);
  object.at("o").get_to(meta.storage_offset);
  object.at("b").get_to(meta.storage_bytes);
  if (meta.sizes.size() != meta.strides.size()) throw std::invalid_argument("sizes and strides");
  return meta;
}

template <typename Enum>
Enum enum_from(const json& value, Enum last) {
  const int number = value.get<int>();
  if (number < 0 || number > static_cast<int>(last)) throw std::invalid_argument("enumerator");
  return static_cast<Enum>(number);
}

}  // namespace

std::string record_to_json(const StepRecord& record) {
  json events = json::array();
  for (const AllocEvent& event : record.events) {
    events.push_back({event.is_alloc ? 1 : 0, event.id, event.size});
  }
  json outputs = json::array();
  for (const StepOutput& output : record.outputs) {
    outputs.push_back(
        {{"h", static_cast<int>(output.home)}, {"s", output.source}, {"m", to_json(output.meta)}});
  }
  json object = {{"ev", std::move(events)}, {"out", std::move(outputs)}, {"ms", record.ms}};
  if (record.basis != Basis::measured) object["basis"] = static_cast<int>(record.basis);
  if (record.infeasible) object["upper"] = record.upper_bound;
  return object.dump();
}

std::optional<StepRecord> record_from_json(const std::string& text) {
  try {
    const json object = json::parse(text);
    StepRecord record;
    for (const json& event : object.at("ev")) {
      record.events.push_back(
          {event.at(0).get<int>() != 0, event.at(1).get<std::int32_t>(), event.at(2).get<Bytes>()});
    }
    for (const json& output : object.at("out")) {
      record.outputs.push_back({enum_from(output.at("h"), OutputHome::absent),
                                output.at("s").get<std::int32_t>(), meta_from(output.at("m"))});
    }
    record.ms = object.at("ms").get<double>();
    if (object.contains("basis")) record.basis = enum_from(object["basis"], Basis::estimated);
    if (object.contains("upper")) {
      record.infeasible = true;
      record.upper_bound = object["upper"].get<Bytes>();
    }
    return record;
  } catch (const std::exception&) {
    return std::nullopt;  // written by another version, or damaged
  }
}

}  // namespace lowwater
