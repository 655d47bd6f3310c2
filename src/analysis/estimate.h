// Step records without a device: from types and schemas alone.
#pragma once

#include <string>
#include <unordered_map>

#include "analysis/step.h"
#include "graph/schema.h"

namespace lowwater {

// Outputs are dense unless the schema says that they alias (then they do, with
// the exported strides); no temporaries; time from bytes touched. Every record
// has Basis::estimated.
StepRecord estimate_step(const StepSpec& spec, const SchemaTable& schemas);

class EstimatingProvider final : public CostProvider {
 public:
  // `schemas` must outlive the provider.
  explicit EstimatingProvider(const SchemaTable& schemas, Bytes alignment = 64)
      : schemas_(schemas), alignment_(alignment) {}
  const StepRecord& record(const StepSpec& spec) override;
  [[nodiscard]] Bytes alignment() const override { return alignment_; }

 private:
  const SchemaTable& schemas_;
  Bytes alignment_;
  std::unordered_map<std::string, StepRecord> records_;
};

}  // namespace lowwater
