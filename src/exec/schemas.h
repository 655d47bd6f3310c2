// The installed PyTorch's operators as plain data.
#pragma once

#include <ATen/core/jit_type_base.h>

#include "graph/schema.h"

namespace lowwater {

// The schemas of every operator registered in this process.
SchemaTable dump_schemas();

// What lowwater distinguishes of a PyTorch type; looks through Optional.
SchemaType schema_type(const c10::Type& type);

}  // namespace lowwater
