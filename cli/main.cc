// lowwater: the command line. Each subcommand is one file; this one parses,
// dispatches and turns errors into one line and an exit code.
#include <array>
#include <iostream>
#include <new>

#include "common.h"

namespace {

using lowwater::Error;
using lowwater::ErrorKind;

struct Command {
  lowwater::cli::Runner (*add)(CLI::App&);
};
constexpr std::array<Command, 5> kCommands = {{{lowwater::cli::add_inspect},
                                               {lowwater::cli::add_plan},
                                               {lowwater::cli::add_run},
                                               {lowwater::cli::add_verify},
                                               {lowwater::cli::add_doctor}}};

constexpr const char* kFooter = R"(
examples:
  lowwater inspect unet.pt2
  lowwater plan unet.pt2 --budget 600MiB
  lowwater run unet.pt2 --budget 600MiB --input 'x=scans/*.npy' --output out/

exit codes: 0 done, 1 internal error, 2 usage or bad input, 3 does not fit, 4 unsupported
model, 5 finished with failed items, 6 the machine refused, 130 interrupted)";

// Is --json among the arguments? Needed where parsing itself fails.
bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

int run(int argc, char** argv, bool json) {
  CLI::App app{
      "Runs a trained PyTorch network (a torch.export .pt2 archive) inside a memory budget."};
  app.name("lowwater");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", lowwater::version());
  std::vector<std::pair<CLI::App*, lowwater::cli::Runner>> runners;
  for (const Command& command : kCommands) {
    lowwater::cli::Runner runner = command.add(app);
    runners.emplace_back(app.get_subcommands({}).back(), std::move(runner));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::string where = "lowwater";
    for (const auto& [command, runner] : runners) {
      if (command->parsed()) where += " " + command->get_name();
    }
    lowwater::cli::report_error(
        Error(ErrorKind::bad_input, error.what(), "", "see " + where + " --help"), json);
    return lowwater::cli::kUsage;
  }
  lowwater::cli::install_interrupt_handler();
  for (const auto& [command, runner] : runners) {
    if (command->parsed()) return runner();
  }
  return lowwater::cli::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = wants_json(argc, argv);
  try {
    return run(argc, argv, json);
  } catch (const Error& error) {
    lowwater::cli::report_error(error, json);
    return lowwater::cli::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    lowwater::cli::report_error(Error(ErrorKind::machine, "out of host memory"), json);
    return lowwater::cli::kMachine;
  } catch (const std::exception& error) {
    lowwater::cli::report_error(
        Error(ErrorKind::internal, error.what(), "", "this is a bug in lowwater; please report it"),
        json);
    return lowwater::cli::kInternal;
  }
}
