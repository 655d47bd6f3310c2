// One `lowwater run`: its items, its pipeline, its summary.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/data.h"
#include "items.h"
#include "lowwater/session.h"
#include "progress.h"

namespace lowwater::cli {

struct RunJob {
  // As typed.
  std::vector<std::string> inputs;
  std::string folder, format = "npy";
  ImageOptions image;
  int batch = 1;
  bool overwrite = false, resume = false;
  // Made by prepare().
  std::vector<Item> items;  // still to do
  int skipped = 0;          // finished by an earlier run
};

struct RunSummary {
  int items = 0, ok = 0, skipped = 0;
  struct Failure {
    std::string item, what;
  };
  std::vector<Failure> failures;
  bool interrupted = false;
  std::optional<Error> fatal;  // the machine refused, or an internal error: the rest was not tried
  RunStats peak;               // maxima over the items; strays in sum
  std::vector<double> run_ms;  // on the device, of each run in order
  double wall_ms = 0;          // of everything
};

// Lists the items, makes the folder, checks existing results. Before anything runs.
void prepare(RunJob& job, const ArchiveInfo& info);

// Sizes of the first readable item for inputs whose sizes the archive leaves open.
std::map<std::string, std::vector<std::int64_t>> first_item_shapes(const RunJob& job,
                                                                   const ArchiveInfo& info);

RunSummary execute(const RunJob& job, Session& session, Progress& progress);

std::string summary_to_json(const RunSummary& summary);
std::string summary_to_text(const RunSummary& summary);

}  // namespace lowwater::cli
