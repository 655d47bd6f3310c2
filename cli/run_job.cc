#include "run_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "base/bytes.h"
#include "common.h"
#include "load.h"
#include "manifest.h"
#include "queue.h"

namespace lowwater::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A decoded item, or why it could not be decoded.
struct Decoded {
  const Item* item = nullptr;
  std::vector<HostTensor> tensors;
  std::optional<Error> failure;
};

// What is to be written of one item.
struct Result {
  const Item* item = nullptr;
  std::vector<HostTensor> outputs;
};

std::string output_path(const RunJob& job, const Item& item, const std::string& name, bool single) {
  const std::string stem = single || name.empty() ? item.stem : item.stem + "." + name;
  return (fs::path(job.folder) / (stem + "." + job.format)).string();
}

std::vector<std::string> output_paths(const RunJob& job, const Item& item,
                                      const std::vector<IoDescription>& outputs) {
  std::vector<std::string> paths;
  const auto tensors =
      std::count_if(outputs.begin(), outputs.end(), [](const auto& o) { return o.is_tensor; });
  for (const IoDescription& output : outputs) {
    paths.push_back(output.is_tensor ? output_path(job, item, output.name, tensors == 1) : "");
  }
  return paths;
}

void write_result(const RunJob& job, const Result& result,
                  const std::vector<IoDescription>& outputs) {
  const std::vector<std::string> paths = output_paths(job, *result.item, outputs);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) continue;
    if (job.folder == "-")
      write_npy_stream(stdout, result.outputs[i]);
    else if (job.format == "png")
      write_label_png(paths[i], result.outputs[i]);
    else
      write_npy(paths[i], result.outputs[i]);
  }
}

// Stacks the tensors of several items along the first dimension.
std::vector<HostTensor> stack(const std::vector<Decoded>& group) {
  std::vector<HostTensor> out = group.front().tensors;
  for (std::size_t k = 1; k < group.size(); ++k) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const HostTensor& more = group[k].tensors[i];
      if (out[i].sizes.empty()) continue;
      out[i].sizes[0] += more.sizes[0];
      out[i].bytes.insert(out[i].bytes.end(), more.bytes.begin(), more.bytes.end());
    }
  }
  return out;
}

// The k-th of `parts` equal slices of an output along its first dimension.
HostTensor slice(const HostTensor& whole, std::size_t k, std::size_t parts,
                 const std::string& name) {
  if (parts == 1) return whole;
  if (whole.sizes.empty() || whole.sizes[0] % static_cast<std::int64_t>(parts) != 0) {
    throw Error(ErrorKind::bad_input, "the output '" + name + "' has no batch dimension to split",
                "--batch", "run without --batch");
  }
  HostTensor part{whole.dtype, whole.sizes, {}};
  part.sizes[0] /= static_cast<std::int64_t>(parts);
  const auto bytes = static_cast<std::ptrdiff_t>(whole.bytes.size() / parts);
  const auto from = whole.bytes.begin() + static_cast<std::ptrdiff_t>(k) * bytes;
  part.bytes.assign(from, from + bytes);
  return part;
}

bool same_shapes(const Decoded& a, const Decoded& b) {
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    if (a.tensors[i].sizes != b.tensors[i].sizes || a.tensors[i].dtype != b.tensors[i].dtype)
      return false;
  }
  return true;
}

// The pipeline's state; the three threads share it, each its own part.
class Pipeline {
 public:
  Pipeline(const RunJob& job, Session& session, Progress& progress)
      : job_(job),
        session_(session),
        progress_(progress),
        manifest_(job.folder),
        decoded_(static_cast<std::size_t>(job.batch) + 1),
        results_(2) {}

  RunSummary run() {
    summary_.items = static_cast<int>(job_.items.size()) + job_.skipped;
    summary_.skipped = job_.skipped;
    const auto start = Clock::now();
    std::thread decoder([&] { decode(); });
    std::thread writer([&] { write(); });
    compute();
    decoded_.close();
    results_.finish();
    decoder.join();
    writer.join();
    summary_.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return std::move(summary_);
  }

 private:
  void decode() {
    for (const Item& item : job_.items) {
      Decoded decoded{&item, {}, {}};
      try {
        decoded.tensors = load_item(item, session_.inputs(), job_.image);
      } catch (const Error& error) {
        decoded.failure = error;
      } catch (const std::exception& error) {
        decoded.failure = Error(ErrorKind::machine, error.what(), item.stem);
      }
      if (!decoded_.push(std::move(decoded))) return;
    }
    decoded_.finish();
  }

  void compute() {
    std::vector<Decoded> group;
    while (std::optional<Decoded> next = decoded_.pop()) {
      if (interrupted()) break;
      if (next->failure) {
        fail(*next->item, *next->failure);
        continue;
      }
      if (!group.empty() && !same_shapes(group.front(), *next)) flush(group);
      group.push_back(std::move(*next));
      if (group.size() == static_cast<std::size_t>(job_.batch)) flush(group);
      if (stopped()) break;
    }
    if (!interrupted() && !stopped()) flush(group);
    summary_.interrupted = interrupted();
  }

  void flush(std::vector<Decoded>& group) {
    if (group.empty() || stopped()) return;
    try {
      const std::vector<HostTensor> inputs =
          group.size() == 1 ? std::move(group.front().tensors) : stack(group);
      const RunResult result = session_.run(views_of(inputs));
      note_stats(result.stats);
      std::vector<HostTensor> outputs;
      for (const Tensor& output : result.outputs) {
        outputs.push_back(output.view.data != nullptr || output.owner ? to_host_tensor(output.view)
                                                                      : HostTensor{});
      }
      for (std::size_t k = 0; k < group.size(); ++k)
        push_result(group[k], k, group.size(), outputs);
    } catch (const Error& error) {
      for (const Decoded& decoded : group) fail(*decoded.item, error);
      if (error.kind() == ErrorKind::internal || error.kind() == ErrorKind::machine) stop(error);
    }
    group.clear();
  }

  void push_result(const Decoded& decoded, std::size_t k, std::size_t parts,
                   const std::vector<HostTensor>& outputs) {
    Result result{decoded.item, {}};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      result.outputs.push_back(outputs[i].bytes.empty() && outputs[i].sizes.empty()
                                   ? HostTensor{}
                                   : slice(outputs[i], k, parts, session_.outputs()[i].name));
    }
    results_.push(std::move(result));
  }

  void write() {
    while (std::optional<Result> result = results_.pop()) {
      try {
        write_result(job_, *result, session_.outputs());
        if (job_.folder != "-") manifest_.add(result->item->stem);
        const std::lock_guard lock(mutex_);
        ++summary_.ok;
      } catch (const Error& error) {
        fail(*result->item, error);
        if (error.kind() == ErrorKind::machine) stop(error);
      }
      progress_.update(done(), static_cast<long>(job_.items.size()));
    }
  }

  void fail(const Item& item, const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      summary_.failures.push_back({item.stem, error.what()});
    }
    progress_.note("lowwater: " + item.stem + ": " + error.what());
  }

  void stop(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!summary_.fatal) summary_.fatal = error;
  }
  bool stopped() {
    const std::lock_guard lock(mutex_);
    return summary_.fatal.has_value();
  }
  long done() {
    const std::lock_guard lock(mutex_);
    return summary_.ok + static_cast<long>(summary_.failures.size());
  }

  void note_stats(const RunStats& stats) {
    const std::lock_guard lock(mutex_);
    RunStats& peak = summary_.peak;
    peak.planned_peak_bytes = std::max(peak.planned_peak_bytes, stats.planned_peak_bytes);
    peak.measured_peak_bytes = std::max(peak.measured_peak_bytes, stats.measured_peak_bytes);
    peak.planned_arena_bytes = std::max(peak.planned_arena_bytes, stats.planned_arena_bytes);
    peak.measured_arena_bytes = std::max(peak.measured_arena_bytes, stats.measured_arena_bytes);
    peak.process_peak_bytes = std::max(peak.process_peak_bytes, stats.process_peak_bytes);
    peak.strays += stats.strays;
    summary_.run_ms.push_back(stats.ms);
  }

  const RunJob& job_;
  Session& session_;
  Progress& progress_;
  Manifest manifest_;
  BoundedQueue<Decoded> decoded_;
  BoundedQueue<Result> results_;
  std::mutex mutex_;  // guards summary_ while the threads run
  RunSummary summary_;
};

}  // namespace

void prepare(RunJob& job, const ArchiveInfo& info) {
  job.items = list_items(job.inputs, info.inputs);
  if (job.folder == "-") {
    const auto tensors = std::count_if(info.outputs.begin(), info.outputs.end(),
                                       [](const auto& o) { return o.is_tensor; });
    if (job.items.size() != 1 || tensors != 1 || job.format != "npy") {
      throw Error(ErrorKind::bad_input, "standard output takes one .npy: one item, one output",
                  "--output -");
    }
    return;
  }
  std::error_code failed;
  fs::create_directories(job.folder, failed);
  if (failed || !fs::is_directory(job.folder)) {
    throw Error(ErrorKind::machine, "the folder cannot be made: " + failed.message(), job.folder);
  }
  const std::set<std::string> finished =
      job.resume ? Manifest(job.folder).finished() : std::set<std::string>{};
  std::vector<Item> left;
  for (Item& item : job.items) {
    const std::vector<std::string> paths = output_paths(job, item, info.outputs);
    const auto existing = std::find_if(paths.begin(), paths.end(), [](const std::string& path) {
      return !path.empty() && fs::exists(path);
    });
    if (finished.contains(item.stem) && existing != paths.end()) {
      ++job.skipped;
      continue;
    }
    if (existing != paths.end() && !job.overwrite && !job.resume) {
      throw Error(ErrorKind::bad_input, "the result exists already", *existing,
                  "use --overwrite, --resume or another --output folder");
    }
    left.push_back(std::move(item));
  }
  job.items = std::move(left);
}

std::map<std::string, std::vector<std::int64_t>> first_item_shapes(const RunJob& job,
                                                                   const ArchiveInfo& info) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  const bool open =
      std::any_of(info.inputs.begin(), info.inputs.end(), [](const IoDescription& input) {
        return std::any_of(input.sizes.begin(), input.sizes.end(),
                           [](std::int64_t size) { return size < 0; });
      });
  if (!open) return shapes;
  for (const Item& item : job.items) {
    if (std::find(item.files.begin(), item.files.end(), "-") != item.files.end())
      break;  // can be read once only
    try {
      const std::vector<HostTensor> tensors = load_item(item, info.inputs, job.image);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!info.inputs[i].is_tensor) continue;
        shapes[info.inputs[i].name] = tensors[i].sizes;
        if (!tensors[i].sizes.empty()) shapes[info.inputs[i].name][0] *= job.batch;
      }
      return shapes;
    } catch (const Error&) {  // reported when its turn comes
    }
  }
  return shapes;
}

RunSummary execute(const RunJob& job, Session& session, Progress& progress) {
  return Pipeline(job, session, progress).run();
}

namespace {

double device_ms(const RunSummary& summary) {
  return std::accumulate(summary.run_ms.begin(), summary.run_ms.end(), 0.0);
}

}  // namespace

std::string summary_to_json(const RunSummary& summary) {
  nlohmann::json failures = nlohmann::json::array();
  for (const auto& failure : summary.failures)
    failures.push_back({{"item", failure.item}, {"what", failure.what}});
  const int ran = std::max(1, summary.ok);
  const nlohmann::json out = {{"items", summary.items},
                              {"ok", summary.ok},
                              {"skipped", summary.skipped},
                              {"failed", summary.failures.size()},
                              {"planned_peak_bytes", summary.peak.planned_peak_bytes},
                              {"measured_peak_bytes", summary.peak.measured_peak_bytes},
                              {"planned_arena_bytes", summary.peak.planned_arena_bytes},
                              {"measured_arena_bytes", summary.peak.measured_arena_bytes},
                              {"process_peak_bytes", summary.peak.process_peak_bytes},
                              {"strays", summary.peak.strays},
                              {"ms_per_item", device_ms(summary) / ran},
                              {"run_ms", summary.run_ms},
                              {"wall_ms_per_item", summary.wall_ms / ran},
                              {"interrupted", summary.interrupted},
                              {"failures", failures}};
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string summary_to_text(const RunSummary& summary) {
  std::string text =
      fmt::format("{} of {} items done", summary.ok + summary.skipped, summary.items);
  if (summary.skipped > 0) text += fmt::format(" ({} by an earlier run)", summary.skipped);
  if (!summary.failures.empty()) text += fmt::format(", {} failed", summary.failures.size());
  if (summary.interrupted) text += ", interrupted";
  if (summary.ok > 0) {
    text += fmt::format("; {:.1f} ms each ({:.1f} with reading and writing), peak {} (planned {})",
                        device_ms(summary) / summary.ok, summary.wall_ms / summary.ok,
                        format_bytes(summary.peak.measured_peak_bytes),
                        format_bytes(summary.peak.planned_peak_bytes));
  }
  if (summary.peak.strays > 0)
    text += fmt::format(", {} allocations outside the plan", summary.peak.strays);
  return text + "\n";
}

}  // namespace lowwater::cli
