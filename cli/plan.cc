// lowwater plan: will it fit, and how.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>

#include "common.h"
#include "data/files.h"
#include "progress.h"

namespace lowwater::cli {
namespace {

struct PlanFlags : CommonFlags {
  std::string output;
};

void print_timings(const Plan& plan) {
  std::string line;
  for (const PlanTiming& timing : plan.timings)
    line += fmt::format("{}{} {:.0f} ms", line.empty() ? "" : ", ", timing.stage, timing.ms);
  if (!line.empty()) std::cout << "\nPlanning: " << line << "\n";
}

int plan_command(const PlanFlags& flags) {
  Options options = to_options(flags);
  Progress progress("measuring", flags.quiet || flags.json);
  options.progress = [&](const char*, int done, int total) {
    progress.update(done, total);
    return !interrupted();
  };
  const Session session = Session::open(flags.archive, options);
  progress.finish();
  const Plan& plan = session.plan();
  if (!flags.output.empty() && plan.fits) write_text_file(flags.output, session.plan_json());
  if (flags.json)
    std::cout << plan_to_json(plan) << '\n';
  else
    std::cout << plan_to_text(plan);
  if (!flags.json && flags.verbose > 0) print_timings(plan);
  return plan.fits ? kDone : kDoesNotFit;
}

}  // namespace

Runner add_plan(CLI::App& app) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command =
      app.add_subcommand("plan", "Will it fit, and how: predicts the peak before anything runs");
  add_common_flags(*command, *flags);
  command->add_option("-o,--output", flags->output, "Write the whole plan, for `run --plan`")
      ->type_name("PLAN.json");
  command->footer("\nexample:\n  lowwater plan unet.pt2 --budget 600MiB -o plan.json");
  return [flags] { return plan_command(*flags); };
}

}  // namespace lowwater::cli
