// lowwater doctor: what this machine offers, and what is wrong with it.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "common.h"

namespace lowwater::cli {
namespace {

struct DoctorFlags {
  bool json = false;
  bool clear = false;
};

int doctor_command(const DoctorFlags& flags) {
  if (flags.clear && !clear_cache()) {
    throw Error(ErrorKind::machine, "the stored records cannot be removed", "--clear-cache",
                "remove the folder named by `lowwater doctor` by hand");
  }
  const std::vector<Finding> findings = describe_machine();
  if (flags.json) {
    nlohmann::json out = nlohmann::json::array();
    for (const Finding& finding : findings) {
      out.push_back(
          {{"topic", finding.topic}, {"text", finding.text}, {"problem", finding.problem}});
    }
    std::cout << out.dump(2) << '\n';
    return kDone;
  }
  for (const Finding& finding : findings) {
    fmt::print("{} {:<16} {}\n", finding.problem ? "!" : " ", finding.topic, finding.text);
  }
  return kDone;
}

}  // namespace

Runner add_doctor(CLI::App& app) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command =
      app.add_subcommand("doctor", "What this machine offers: devices, memory, libraries, cache");
  command->add_flag("--json", flags->json, "One JSON list on stdout");
  command->add_flag("--clear-cache", flags->clear, "Forget all stored measurements first");
  command->footer("\nexample:\n  lowwater doctor");
  return [flags] { return doctor_command(*flags); };
}

}  // namespace lowwater::cli
