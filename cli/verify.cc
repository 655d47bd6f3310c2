// lowwater verify: the planned run against the unplanned one.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "common.h"
#include "compare.h"
#include "load.h"
#include "progress.h"

namespace lowwater::cli {
namespace {

struct VerifyFlags : CommonFlags {
  std::vector<std::string> inputs;
};

// The given files (one item) or random tensors.
std::vector<HostTensor> inputs_for(const VerifyFlags& flags, const ArchiveInfo& info,
                                   const Options& options) {
  if (flags.inputs.empty()) return random_inputs(info.inputs, options);
  const std::vector<Item> items = list_items(flags.inputs, info.inputs);
  if (items.size() != 1) {
    throw Error(ErrorKind::bad_input, fmt::format("{} items were given", items.size()), "--input",
                "verify compares one run: give one file per input");
  }
  return load_item(items.front(), info.inputs, {});
}

struct Verdict {
  std::string output;
  Difference difference;
  bool passed = true;
};

// design: fp64 1e-12, fp32 1e-5 relative to the largest value; half types are
// judged against their own precision.
double tolerance(const std::string& dtype) {
  if (dtype == "f64" || dtype == "c128") return 1e-12;
  if (dtype == "f16") return 5e-3;
  if (dtype == "bf16") return 4e-2;
  return 1e-5;
}

int verify_command(const VerifyFlags& flags) {
  Options options = to_options(flags);
  const ArchiveInfo info = inspect(flags.archive, flags.model);
  const std::vector<HostTensor> tensors = inputs_for(flags, info, options);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (info.inputs[i].is_tensor) options.shapes[info.inputs[i].name] = tensors[i].sizes;
  }
  Progress progress("measuring", flags.quiet || flags.json);
  options.progress = [&](const char*, int done, int total) {
    progress.update(done, total);
    return !interrupted();
  };
  Session session = Session::open(flags.archive, options);
  progress.finish();
  const Plan& plan = session.plan();
  if (!plan.fits) {
    if (flags.json)
      std::cout << plan_to_json(plan) << '\n';
    else
      std::cout << plan_to_text(plan);
    return kDoesNotFit;
  }
  const std::vector<TensorView> views = views_of(tensors);
  session.run(views);  // the first runs pay for library start-up
  const RunResult planned = session.run(views);
  session.run_unplanned(views);
  const RunResult whole = session.run_unplanned(views);

  std::vector<Verdict> verdicts;
  bool passed = planned.stats.measured_arena_bytes == planned.stats.planned_arena_bytes;
  for (std::size_t i = 0; i < planned.outputs.size(); ++i) {
    if (planned.outputs[i].view.data == nullptr && whole.outputs[i].view.data == nullptr) continue;
    const std::string& name = session.outputs()[i].name;
    Verdict verdict{name.empty() ? "(the result)" : name,
                    compare(planned.outputs[i].view, whole.outputs[i].view)};
    verdict.passed = verdict.difference.same_shape &&
                     verdict.difference.relative <= tolerance(planned.outputs[i].view.dtype);
    passed = passed && verdict.passed;
    verdicts.push_back(verdict);
  }
  const RunStats& run = planned.stats;
  if (flags.json) {
    nlohmann::json outputs = nlohmann::json::array();
    for (const Verdict& v : verdicts) {
      outputs.push_back({{"name", v.output},
                         {"passed", v.passed},
                         {"bit_equal", v.difference.bit_equal},
                         {"max_absolute", v.difference.absolute},
                         {"max_relative", v.difference.relative}});
    }
    const nlohmann::json out = {{"passed", passed},
                                {"outputs", outputs},
                                {"planned_peak_bytes", run.planned_peak_bytes},
                                {"measured_peak_bytes", run.measured_peak_bytes},
                                {"planned_arena_bytes", run.planned_arena_bytes},
                                {"measured_arena_bytes", run.measured_arena_bytes},
                                {"unplanned_peak_bytes", whole.stats.measured_peak_bytes},
                                {"strays", run.strays},
                                {"planned_ms", run.ms},
                                {"unplanned_ms", whole.stats.ms}};
    std::cout << out.dump(2) << '\n';
    return passed ? kDone : kFailedItems;
  }
  for (const Verdict& v : verdicts) {
    fmt::print("{:<4} {:<20} {}\n", v.passed ? "ok" : "FAIL", v.output,
               !v.difference.same_shape ? std::string("sizes differ")
               : v.difference.bit_equal
                   ? std::string("bit-equal")
                   : fmt::format("largest difference {:.3g} absolute, {:.3g} relative",
                                 v.difference.absolute, v.difference.relative));
  }
  fmt::print("planned    {:>10}  {:>9.1f} ms   (arena predicted {}, measured {}; {} strays)\n",
             format_bytes(run.measured_peak_bytes), run.ms, run.planned_arena_bytes,
             run.measured_arena_bytes, run.strays);
  fmt::print("unplanned  {:>10}  {:>9.1f} ms\n", format_bytes(whole.stats.measured_peak_bytes),
             whole.stats.ms);
  if (run.measured_arena_bytes != run.planned_arena_bytes)
    fmt::print("FAIL the arena's peak is not as predicted\n");
  return passed ? kDone : kFailedItems;
}

}  // namespace

Runner add_verify(CLI::App& app) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = app.add_subcommand(
      "verify", "Compare the planned run with the unplanned one: results, bytes, time");
  add_common_flags(*command, *flags);
  command->add_option("--input", flags->inputs, "[NAME=]FILE; without it, random inputs")
      ->type_name("INPUT");
  command->footer("\nexample:\n  lowwater verify unet.pt2 --budget 600MiB");
  return [flags] { return verify_command(*flags); };
}

}  // namespace lowwater::cli
