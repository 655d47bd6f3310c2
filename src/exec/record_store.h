// Step records kept between processes: one SQLite file under the XDG cache
// folder. Parallel processes share it; a read-only folder, a full disk or a
// corrupt file cost speed, never correctness: every failure means "not known".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "analysis/step.h"

namespace lowwater {

class RecordStore {
 public:
  // `folder` is created if possible. Never throws.
  explicit RecordStore(const std::string& folder);
  ~RecordStore();

  std::optional<StepRecord> find(const std::string& key);
  void put(const std::string& key, const StepRecord& record);
  // Removes every record; false if that failed.
  bool clear();
  // Why nothing can be stored; empty if all is well. For `doctor`.
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] std::string path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// $XDG_CACHE_HOME/lowwater, else ~/.cache/lowwater; empty if neither is known.
std::string default_cache_folder();

std::string record_to_json(const StepRecord& record);
std::optional<StepRecord> record_from_json(const std::string& json);

}  // namespace lowwater
