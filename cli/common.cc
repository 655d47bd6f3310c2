#include "common.h"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/bytes.h"

namespace lowwater::cli {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

void on_interrupt(int) {
  if (interrupt_count > 0) _exit(kInterrupted);
  interrupt_count = 1;
}

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal:
      return "internal";
    case ErrorKind::bad_input:
      return "bad_input";
    case ErrorKind::does_not_fit:
      return "does_not_fit";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::machine:
      return "machine";
    case ErrorKind::interrupted:
      return "interrupted";
  }
  return "internal";
}

// Adds the flag's name to what is wrong with its value.
template <typename Function>
auto for_flag(const char* flag, Function&& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw Error(error.kind(), error.message(), flag, error.hint());
  }
}

Bytes positive_bytes(const std::string& text) {
  const Bytes bytes = parse_bytes(text);
  if (bytes <= 0) throw Error(ErrorKind::bad_input, "'" + text + "' is not more than nothing");
  return bytes;
}

void parse_budget(const std::string& text, Options& options) {
  if (text.empty()) return;
  if (text.back() != '%') {
    options.budget = positive_bytes(text);
    return;
  }
  double percent = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size() - 1, percent);
  if (status != std::errc() || end != text.data() + text.size() - 1 || !(percent > 0) ||
      percent > 100) {
    throw Error(ErrorKind::bad_input, "'" + text + "' is not a percentage between 0 and 100");
  }
  options.budget_percent = percent;
}

}  // namespace

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal:
      return kInternal;
    case ErrorKind::bad_input:
      return kUsage;
    case ErrorKind::does_not_fit:
      return kDoesNotFit;
    case ErrorKind::unsupported:
      return kUnsupported;
    case ErrorKind::machine:
      return kMachine;
    case ErrorKind::interrupted:
      return kInterrupted;
  }
  return kInternal;
}

void add_archive_flags(CLI::App& command, CommonFlags& flags) {
  command.add_option("archive", flags.archive, "The .pt2 file, as torch.export.save writes it")
      ->required()
      ->type_name("MODEL.pt2");
  command.add_option("--model", flags.model, "Which model of the archive, if it holds several")
      ->type_name("NAME");
  command.add_flag("--json", flags.json, "One JSON object on stdout; sizes in bytes");
  command.add_flag("-q,--quiet", flags.quiet, "No progress, no notes");
  command.add_flag("-v,--verbose", flags.verbose, "More detail; twice for all of it");
}

void add_common_flags(CLI::App& command, CommonFlags& flags) {
  add_archive_flags(command, flags);
  command.add_option("--device", flags.device, "Where to run: cpu, cuda:0")->capture_default_str();
  command
      .add_option("--budget", flags.budget,
                  "Most memory that may be used: 1.5GiB, 800MB, bytes, or 60% of the device;\n"
                  "without it, 90% of what is free")
      ->type_name("SIZE");
  command
      .add_option("--scope", flags.scope,
                  "What the budget counts: process (all this process holds on the device; default\n"
                  "on CUDA), session, tensors (default on the CPU)")
      ->type_name("SCOPE");
  command
      .add_option(
          "--exact", flags.exact,
          "Which plans are allowed: same-kernels, or same-mathematics (rounding may differ)")
      ->capture_default_str();
  command
      .add_option("--max-slowdown", flags.max_slowdown,
                  "Refuse plans slower than X times the fastest")
      ->type_name("X");
  command
      .add_option("--workspace-cap", flags.workspace_cap,
                  "Most bytes that one operator may allocate beside its outputs")
      ->type_name("SIZE");
  command.add_flag("--cuda-graph", flags.cuda_graph, "Capture the run once and replay it (CUDA)");
  command.add_option("--threads", flags.threads, "Threads of CPU operators; 0: PyTorch's default")
      ->capture_default_str();
  command
      .add_option("--measure-time", flags.measure_time,
                  "Seconds that measuring may take; 0: use known records and estimates only")
      ->capture_default_str()
      ->type_name("S");
  command
      .add_option("--shape", flags.shapes,
                  "Sizes of an input that the archive leaves open: x=1x3x512x512")
      ->type_name("NAME=SIZES");
  command
      .add_option("--without", flags.disabled, "Leave out a rewrite or a move by name (may repeat)")
      ->type_name("NAME");
  command.add_option("--seed", flags.seed, "Seed of random operators")->capture_default_str();
  command.add_flag(
      "--poison", flags.poison,
      "Fill free memory with NaN while running: a plan that reads what it should not shows");
}

std::pair<std::string, std::vector<std::int64_t>> parse_shape(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto refuse = [&] {
    return Error(ErrorKind::bad_input, "'" + text + "' is not NAME=SIZES", "--shape",
                 "write it as x=1x3x512x512");
  };
  if (equals == std::string::npos || equals == 0) throw refuse();
  std::vector<std::int64_t> sizes;
  const char* at = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  while (at < end) {
    std::int64_t size = 0;
    const auto [rest, status] = std::from_chars(at, end, size);
    if (status != std::errc() || size < 0) throw refuse();
    sizes.push_back(size);
    if (rest == end) break;
    if (*rest != 'x' && *rest != ',') throw refuse();
    at = rest + 1;
    if (at == end) throw refuse();
  }
  return {text.substr(0, equals), sizes};
}

Options to_options(const CommonFlags& flags) {
  Options options;
  options.device = flags.device;
  options.model = flags.model;
  for_flag("--budget", [&] { parse_budget(flags.budget, options); });
  if (!flags.scope.empty()) {
    if (flags.scope == "process")
      options.scope = Scope::process;
    else if (flags.scope == "session")
      options.scope = Scope::session;
    else if (flags.scope == "tensors")
      options.scope = Scope::tensors;
    else
      throw Error(ErrorKind::bad_input, "'" + flags.scope + "' is not a scope", "--scope",
                  "choose process, session or tensors");
  }
  if (flags.exact == "same-kernels")
    options.exact = Exactness::same_kernels;
  else if (flags.exact != "same-mathematics") {
    throw Error(ErrorKind::bad_input, "'" + flags.exact + "' is not an exactness class", "--exact",
                "choose same-kernels or same-mathematics");
  }
  if (!flags.workspace_cap.empty()) {
    options.workspace_cap =
        for_flag("--workspace-cap", [&] { return parse_bytes(flags.workspace_cap); });
  }
  if (flags.max_slowdown != 0 && flags.max_slowdown < 1) {
    throw Error(ErrorKind::bad_input, "a slowdown is 1 or more", "--max-slowdown");
  }
  if (flags.threads < 0)
    throw Error(ErrorKind::bad_input, "the number of threads is negative", "--threads");
  if (flags.measure_time < 0)
    throw Error(ErrorKind::bad_input, "the time is negative", "--measure-time");
  options.max_slowdown = flags.max_slowdown;
  options.cuda_graph = flags.cuda_graph;
  options.threads = flags.threads;
  options.measure_time_s = flags.measure_time;
  options.seed = flags.seed;
  options.poison = flags.poison;
  options.host_io = true;
  options.disabled = {flags.disabled.begin(), flags.disabled.end()};
  for (const std::string& shape : flags.shapes) options.shapes.insert(parse_shape(shape));
  return options;
}

void report_error(const Error& error, bool json) {
  if (json) {
    const nlohmann::json object = {{"error",
                                    {{"kind", kind_name(error.kind())},
                                     {"what", error.message()},
                                     {"where", error.where()},
                                     {"hint", error.hint()}}}};
    std::cout << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  }
  std::cerr << "lowwater: " << error.what() << '\n';
}

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_count > 0; }

}  // namespace lowwater::cli
