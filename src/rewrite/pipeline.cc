#include <chrono>

#include "lowwater/error.h"
#include "rewrite/rewrite.h"

namespace lowwater {

const std::vector<Rewrite>& rewrite_table() {
  static const std::vector<Rewrite> table = {
      {"identities", "drop operators that return their operand: detach, no-op casts and views",
       remove_identities},
      {"factories", "let zeros_like(x), new_full(x, ...) and their kin do without x",
       free_factories},
      {"equal-weights", "store weights once that share a storage or hold equal bytes",
       share_equal_weights},
      {"dead-code", "drop what no output needs", remove_dead_code},
  };
  return table;
}

std::vector<RewriteReport> run_rewrites(Graph& graph, const RewriteContext& context,
                                        const std::set<std::string>& disabled) {
  std::vector<RewriteReport> reports;
  for (const Rewrite& rewrite : rewrite_table()) {
    std::string name(rewrite.name);
    if (disabled.contains(name)) continue;
    const auto start = std::chrono::steady_clock::now();
    const int changes = rewrite.run(graph, context);
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    if (const auto violations = lint(graph); !violations.empty()) {
      throw Error(ErrorKind::internal, "the graph is unsound: " + violations.front(),
                  "after the rewrite " + name);
    }
    reports.push_back({std::move(name), changes, spent.count()});
  }
  return reports;
}

}  // namespace lowwater
