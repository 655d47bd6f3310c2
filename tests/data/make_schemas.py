"""Writes tests/data/schemas.json: the signatures of PyTorch's aten operators.

    python tests/data/make_schemas.py > tests/data/schemas.json

The format is that of schema_table_to_json (src/graph/schema.cc). Left out:
operators that no exported inference graph contains (out= overloads, gradients,
foreach, fused optimisers, sparse and quantised tensors).
"""

import json
import math
import re
import sys

import torch

LEFT_OUT = re.compile(
    r"_backward|_foreach_|_fused_(adam|sgd|adagrad)|_jvp$|_double_|sparse|quantize|_q_|"
    r"_dimI|_dimV|_test_|mkldnn|miopen|_nested|_cslt|_mps|vulkan|_amp_|_dummy|_efficientzero|q_per_channel|q_scale|q_zero_point"
)
TYPES = {
    "Tensor": "tensor", "List[Tensor]": "tensor_list", "List[Optional[Tensor]]": "optional_tensor_list",
    "int": "int", "SymInt": "int", "List[int]": "int_list", "List[SymInt]": "int_list",
    "float": "real", "List[float]": "real_list", "bool": "bool", "List[bool]": "bool_list",
    "number": "scalar", "Scalar": "scalar", "str": "string", "Device": "device",
}
# c10::ScalarType, c10::MemoryFormat
DTYPES = {0: "u8", 1: "i8", 2: "i16", 3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64", 8: "c32",
          9: "c64", 10: "c128", 11: "bool", 15: "bf16"}
FORMATS = {0: "contiguous", 1: "preserve", 2: "channels_last", 3: "channels_last_3d"}


def type_of(schema_type, text):
    """('int_list', optional) of one argument; `text` is its part of the printed schema."""
    name = str(schema_type)
    optional = name.startswith("Optional[")
    if optional:
        name = name[len("Optional["):-1]
    for word, kind in (("ScalarType", "dtype"), ("Layout", "layout"), ("MemoryFormat", "memory_format")):
        if re.match(word + r"\b", text):
            return kind, optional
    return TYPES.get(name, "other"), optional


def default_of(value, kind):
    if kind == "dtype" and isinstance(value, int):
        return {"dtype": DTYPES[value]}
    if kind == "memory_format" and isinstance(value, int):
        return {"memory_format": FORMATS[value]}
    if kind == "layout" and value is not None:
        return {"layout": "strided"}
    if kind == "device" and value is not None:
        return {"device": "host" if str(value) == "cpu" else "plan"}
    if isinstance(value, float) and not math.isfinite(value):
        return {"real": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if kind == "real" and isinstance(value, int):
        return float(value)
    return value


def split_top_level(text):
    """Splits at commas outside brackets and quotes."""
    parts, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c in "\"'":
            quoted = not quoted
        if quoted:
            continue
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in parts + [text[start:].strip()] if p]


def alias_of(text):
    """'a' or 'a!' of Tensor(a! -> *)[]; None without an alias set."""
    found = re.match(r"\w+\((\w+)(!?)", text)
    return found and found.group(1) + found.group(2)


def convert(schema):
    left, right = str(schema).rsplit(" -> ", 1)
    arg_texts = [t for t in split_top_level(left[left.index("(") + 1:-1]) if t != "*"]
    if right.startswith("(") and right.endswith(")"):
        right = right[1:-1]
    entry = {"args": [], "returns": []}
    for arg, text in zip(schema.arguments, arg_texts, strict=True):
        kind, optional = type_of(arg.type, text)
        item = {"name": arg.name, "type": kind}
        if optional:
            item["optional"] = True
        if arg.kwarg_only:
            item["kw"] = True
        if arg.has_default_value():
            item["default"] = default_of(arg.default_value, kind)
        if alias_of(text):
            item["alias"] = alias_of(text)
        entry["args"].append(item)
    for value, text in zip(schema.returns, split_top_level(right), strict=True):
        item = {"type": type_of(value.type, text)[0]}
        if alias_of(text):
            item["alias"] = alias_of(text)
        entry["returns"].append(item)
    return entry


def tags_of(name, overload):
    packet = getattr(torch.ops.aten, name.split("::")[1], None)
    op = getattr(packet, overload or "default", None)
    return set(getattr(op, "tags", ()))


def main():
    ops = {}
    for schema in torch._C._jit_get_all_schemas():
        name, overload = schema.name, schema.overload_name
        if not name.startswith("aten::") or LEFT_OUT.search(name):
            continue
        if any(a.is_out for a in schema.arguments) or "..." in str(schema):
            continue
        if not any("Tensor" in str(v.type) for v in [*schema.arguments, *schema.returns]):
            continue
        entry = convert(schema)
        tags = tags_of(name, overload)
        if torch.Tag.nondeterministic_seeded in tags:
            entry["random"] = True
        if tags & {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}:
            entry["data_dependent"] = True
        ops[name + ("." + overload if overload else "")] = entry
    table = {"ops": ops, "torch": torch.__version__.split("+")[0], "version": 1}
    json.dump(table, sys.stdout, sort_keys=True, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
