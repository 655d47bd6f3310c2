// lowwater inspect: what is in an archive.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "common.h"

namespace lowwater::cli {
namespace {

struct InspectFlags : CommonFlags {
  bool check = false;
};

std::string shape_text(const IoDescription& io) {
  if (!io.is_tensor) return "(no tensor)";
  std::string text = io.dtype + "[";
  for (std::size_t i = 0; i < io.sizes.size(); ++i) {
    if (i > 0) text += ", ";
    text +=
        io.sizes[i] >= 0 || i >= io.symbols.size() ? std::to_string(io.sizes[i]) : io.symbols[i];
  }
  return text + "]";
}

nlohmann::json io_json(const std::vector<IoDescription>& list) {
  nlohmann::json out = nlohmann::json::array();
  for (const IoDescription& io : list) {
    nlohmann::json sizes = nlohmann::json::array();
    for (std::size_t i = 0; i < io.sizes.size(); ++i) {
      if (io.sizes[i] >= 0 || i >= io.symbols.size())
        sizes.push_back(io.sizes[i]);
      else
        sizes.push_back(io.symbols[i]);
    }
    out.push_back(
        {{"name", io.name}, {"tensor", io.is_tensor}, {"dtype", io.dtype}, {"sizes", sizes}});
  }
  return out;
}

void print_json(const ArchiveInfo& info, bool checked) {
  nlohmann::json operators = nlohmann::json::array();
  for (const auto& op : info.operators) {
    operators.push_back({{"name", op.name}, {"nodes", op.nodes}, {"known", op.known}});
  }
  nlohmann::json out = {{"path", info.path},
                        {"model", info.model},
                        {"torch_version", info.torch_version},
                        {"schema_version", info.schema_version},
                        {"inputs", io_json(info.inputs)},
                        {"outputs", io_json(info.outputs)},
                        {"nodes", info.nodes},
                        {"operators", operators},
                        {"parameters", info.parameters},
                        {"buffers", info.buffers},
                        {"constants", info.constants},
                        {"weight_elements", info.weight_elements},
                        {"weight_bytes", info.weight_bytes},
                        {"file_bytes", info.file_bytes}};
  if (checked) out["corrupt"] = info.corrupt;
  std::cout << out.dump(2) << '\n';
}

void print_io(const char* title, const std::vector<IoDescription>& list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    fmt::print("{:<9} {:<24} {}\n", i == 0 ? title : "",
               list[i].name.empty() ? "(the result)" : list[i].name, shape_text(list[i]));
  }
}

void print_text(const ArchiveInfo& info, int verbose) {
  fmt::print("{}: model '{}', {}, exported by PyTorch {} (schema {})\n", info.path, info.model,
             format_bytes(info.file_bytes), info.torch_version.empty() ? "?" : info.torch_version,
             info.schema_version);
  print_io("inputs", info.inputs);
  print_io("outputs", info.outputs);
  fmt::print("{:<9} {} in {} parameters, {} buffers, {} constants ({:.1f} M elements)\n", "weights",
             format_bytes(info.weight_bytes), info.parameters, info.buffers, info.constants,
             static_cast<double>(info.weight_elements) / 1e6);
  fmt::print("{:<9} {} nodes of {} kinds\n", "operators", info.nodes, info.operators.size());
  const std::size_t shown =
      verbose > 0 ? info.operators.size() : std::min<std::size_t>(10, info.operators.size());
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::print("  {:>6}  {}{}\n", info.operators[i].nodes, info.operators[i].name,
               info.operators[i].known ? "" : "   (unknown to the installed PyTorch)");
  }
  if (shown < info.operators.size())
    fmt::print("  ... and {} more (-v shows all)\n", info.operators.size() - shown);
}

int inspect_command(const InspectFlags& flags) {
  const ArchiveInfo info = inspect(flags.archive, flags.model, flags.check);
  if (flags.json)
    print_json(info, flags.check);
  else
    print_text(info, flags.verbose);
  if (!info.corrupt.empty()) {
    throw Error(ErrorKind::bad_input,
                fmt::format("{} records do not match their checksums, first '{}'",
                            info.corrupt.size(), info.corrupt.front()),
                flags.archive, "copy or export the file again");
  }
  if (flags.check && !flags.json) fmt::print("every byte matches its checksum\n");
  return kDone;
}

}  // namespace

Runner add_inspect(CLI::App& app) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command =
      app.add_subcommand("inspect", "What is in an archive: inputs, outputs, weights, operators");
  add_archive_flags(*command, *flags);
  command->add_flag("--check", flags->check, "Read every byte and compare it with its checksum");
  command->footer("\nexample:\n  lowwater inspect unet.pt2 --check");
  return [flags] { return inspect_command(*flags); };
}

}  // namespace lowwater::cli
