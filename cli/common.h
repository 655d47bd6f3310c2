// What the subcommands share: flags, messages, exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "lowwater/options.h"
#include "lowwater/session.h"

namespace lowwater::cli {

// Documented in docs/cli.md.
enum ExitCode : int {
  kDone = 0,
  kInternal = 1,
  kUsage = 2,
  kDoesNotFit = 3,
  kUnsupported = 4,
  kFailedItems = 5,
  kMachine = 6,
  kInterrupted = 130,
};
int exit_code(ErrorKind kind);

// The flags that every planning command takes, as typed.
struct CommonFlags {
  std::string archive;
  std::string model;
  std::string device = "cpu";
  std::string budget;
  std::string scope;
  std::string exact = "same-mathematics";
  std::string workspace_cap;
  double max_slowdown = 0;
  bool cuda_graph = false;
  int threads = 0;
  double measure_time = 60;
  std::vector<std::string> shapes;
  std::vector<std::string> disabled;
  std::uint64_t seed = 0;
  bool poison = false;
  bool json = false;
  bool quiet = false;
  int verbose = 0;
};

// Adds the flags to a subcommand; `flags` must outlive the parse.
void add_common_flags(CLI::App& command, CommonFlags& flags);
// Only --json, -q, -v and the archive.
void add_archive_flags(CLI::App& command, CommonFlags& flags);

// Throws Error(bad_input) naming the flag.
Options to_options(const CommonFlags& flags);

// "NAME=1x3x2048x2048" -> name and sizes.
std::pair<std::string, std::vector<std::int64_t>> parse_shape(const std::string& text);

// One line on stderr, or with --json the object {"error": {...}} on stdout.
void report_error(const Error& error, bool json);

// Set by the first Ctrl-C or SIGTERM; the second ends the process at once.
void install_interrupt_handler();
bool interrupted();

// A subcommand: adds its flags, and returns the function that runs it.
using Runner = std::function<int()>;
Runner add_inspect(CLI::App& app);
Runner add_plan(CLI::App& app);
Runner add_run(CLI::App& app);
Runner add_verify(CLI::App& app);
Runner add_doctor(CLI::App& app);

}  // namespace lowwater::cli
