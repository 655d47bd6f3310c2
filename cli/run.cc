// lowwater run: a data set in, a data set out.
//
//   decode thread -> bounded queue -> this thread: run -> bounded queue -> write thread
#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <memory>

#include "common.h"
#include "data/files.h"
#include "progress.h"
#include "run_job.h"

namespace lowwater::cli {
namespace {

struct RunFlags : CommonFlags {
  RunJob job;
  std::string plan;
  std::string batch = "1";
};

void add_run_flags(CLI::App& command, RunFlags& flags) {
  command
      .add_option("--input", flags.job.inputs,
                  "[NAME=]FILE, 'GLOB' or FOLDER: .npy .npz .pt .png .jpg; '-' reads one .npy")
      ->required()
      ->type_name("INPUT");
  command
      .add_option("--output", flags.job.folder,
                  "Folder for the results; '-' writes one .npy to stdout")
      ->required()
      ->type_name("DIR");
  command.add_option("--format", flags.job.format, "npy, or png for label maps")
      ->capture_default_str();
  command
      .add_option("--plan", flags.plan, "Execute a stored plan (`plan -o`) instead of searching")
      ->type_name("PLAN.json");
  command.add_option("--batch", flags.batch, "Items stacked along the first dimension per run")
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--overwrite", flags.job.overwrite, "Replace existing results");
  command.add_flag("--resume", flags.job.resume, "Skip the items that an earlier run finished");
  command.add_option("--mean", flags.job.image.mean,
                     "Images: subtracted after scaling, one number or one per channel");
  command.add_option("--std", flags.job.image.std,
                     "Images: divided by, one number or one per channel");
  command.add_option("--scale", flags.job.image.scale, "Images: factor of 8-bit pixels (1/255)");
  command.footer(
      "\nexamples:\n"
      "  lowwater run unet.pt2 --budget 600MiB --input 'x=scans/*.npy' --output out/\n"
      "  lowwater run unet.pt2 --input photo.png --output masks/ --format png");
}

int parse_batch(const std::string& text) {
  int batch = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), batch);
  if (status != std::errc() || end != text.data() + text.size() || batch < 1) {
    throw Error(ErrorKind::bad_input, "'" + text + "' is not a number of items", "--batch",
                "give a whole number from 1");
  }
  return batch;
}

int run_command(RunFlags& flags) {
  flags.job.batch = parse_batch(flags.batch);
  if (flags.job.format != "npy" && flags.job.format != "png") {
    throw Error(ErrorKind::bad_input, "'" + flags.job.format + "' is not a format", "--format",
                "choose npy or png");
  }
  Options options = to_options(flags);
  Progress measuring("measuring", flags.quiet || flags.json);
  options.progress = [&](const char*, int done, int total) {
    measuring.update(done, total);
    return !interrupted();
  };
  const ArchiveInfo info = inspect(flags.archive, flags.model);
  prepare(flags.job, info);
  options.shapes.merge(first_item_shapes(flags.job, info));
  Session session = flags.plan.empty() ? Session::open(flags.archive, options)
                                       : Session::open_with_plan(
                                             flags.archive, read_text_file(flags.plan), options);
  measuring.finish();
  if (!session.plan().fits) {
    if (flags.json) std::cout << plan_to_json(session.plan()) << '\n';
    std::cerr << plan_to_text(session.plan());
    return kDoesNotFit;
  }
  Progress progress("running", flags.quiet || flags.json);
  if (session.plan().basis != "measured") {
    throw Error(ErrorKind::does_not_fit,
                "the plan rests on estimates: not every step could be measured inside the budget",
                flags.archive, "allow measuring (--measure-time), or a little more memory");
  }
  const RunSummary summary = execute(flags.job, session, progress);
  progress.finish();
  if (flags.json)
    std::cout << summary_to_json(summary) << '\n';
  else if (!flags.quiet)
    std::cerr << summary_to_text(summary);
  if (summary.fatal) {
    if (!flags.json) report_error(*summary.fatal, false);
    return exit_code(summary.fatal->kind());
  }
  if (summary.interrupted) return kInterrupted;
  return summary.failures.empty() ? kDone : kFailedItems;
}

}  // namespace

Runner add_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "Run the model over files, inside the budget");
  add_common_flags(*command, *flags);
  add_run_flags(*command, *flags);
  return [flags] { return run_command(*flags); };
}

}  // namespace lowwater::cli
