// pack_csv [--json] [--ms N] [--nodes N] [--hard N] FILE.csv ...
//
// Packs buffers read from CSV files (MiniMalloc's form) and, with --hard, N
// generated hard instances; prints one line each.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lowwater/error.h"
#include "packing_instances.h"

namespace {

using namespace lowwater;

PackInstance read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::bad_input, "cannot be read", path);
  return {path, read_pack_csv(std::string(std::istreambuf_iterator<char>(file), {})), 0};
}

nlohmann::json measure(const PackInstance& instance, const PackOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Packing packing = pack(instance.items, options);
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const auto above = [&](Bytes height) {
    return packing.lower_bound == 0
               ? 0.0
               : 100.0 *
                     (static_cast<double>(height) / static_cast<double>(packing.lower_bound) - 1);
  };
  return {{"name", instance.name},
          {"n", instance.items.size()},
          {"lower_bound", packing.lower_bound},
          {"height", packing.height},
          {"gap_percent", above(packing.height)},
          {"greedy_by_size_gap_percent", above(greedy_by_size(instance.items))},
          {"ms", ms},
          {"method", packing.method},
          {"optimal", packing.optimal}};
}

int run(const std::vector<std::string>& args) {
  PackOptions options{.node_limit = INT64_MAX};  // the time limit decides
  bool json = false;
  std::vector<PackInstance> instances;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool has_value = i + 1 < args.size();
    if (args[i] == "--json")
      json = true;
    else if (args[i] == "--ms" && has_value)
      options.time_limit_ms = std::stod(args[++i]);
    else if (args[i] == "--nodes" && has_value)
      options.node_limit = std::stoll(args[++i]);
    else if (args[i] == "--hard" && has_value)
      for (PackInstance& instance : hard_instances(std::stoi(args[++i])))
        instances.push_back(std::move(instance));
    else
      instances.push_back(read_file(args[i]));
  }
  nlohmann::json all = nlohmann::json::array();
  if (!json)
    fmt::print("{:24} {:>6} {:>12} {:>12} {:>8} {:>8} {:>9}  method\n", "name", "n", "bound",
               "height", "gap", "by size", "ms");
  for (const PackInstance& instance : instances) {
    const nlohmann::json row = measure(instance, options);
    all.push_back(row);
    if (json) continue;
    fmt::print("{:24} {:6} {:12} {:12} {:7.2f}% {:7.1f}% {:9.1f}  {}{}\n", instance.name,
               instance.items.size(), row["lower_bound"].get<Bytes>(), row["height"].get<Bytes>(),
               row["gap_percent"].get<double>(), row["greedy_by_size_gap_percent"].get<double>(),
               row["ms"].get<double>(), row["method"].get<std::string>(),
               row["optimal"].get<bool>() ? " (optimal)" : "");
    std::fflush(stdout);
  }
  if (json) fmt::print("{}\n", all.dump(2));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "pack_csv: {}\n", error.what());
    return 2;
  }
}
