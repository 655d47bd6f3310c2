// Exact rewrites, graph -> graph. Each is one file with one function; this
// header is the catalogue, pipeline.cc runs them in order through one wrapper
// that times each, can switch it off by name, and lints after it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.h"
#include "graph/graph.h"
#include "graph/schema.h"

namespace lowwater {

struct RewriteContext {
  const WeightTable* weights = nullptr;
  const SchemaTable* schemas = nullptr;
  const Archive* archive = nullptr;  // nullptr in tests: contents cannot be compared
};

// Returns how many nodes or values it changed.
using RewriteFn = int (*)(Graph&, const RewriteContext&);

struct Rewrite {
  std::string_view name;     // "dead-code"
  std::string_view summary;  // one line, for docs and --help
  RewriteFn run;
};

// In the order in which they run.
const std::vector<Rewrite>& rewrite_table();

struct RewriteReport {
  std::string name;
  int changes = 0;
  double ms = 0;
};

// Throws Error(internal) naming the rewrite if the graph is unsound after it.
std::vector<RewriteReport> run_rewrites(Graph& graph, const RewriteContext& context,
                                        const std::set<std::string>& disabled = {});

// The passes.
int remove_dead_code(Graph& graph, const RewriteContext& context);
int remove_identities(Graph& graph,
                      const RewriteContext& context);  // alias, detach, dropout(eval), no-op casts
int free_factories(Graph& graph, const RewriteContext& context);  // zeros_like(x) -> zeros(sizes)
int share_equal_weights(Graph& graph,
                        const RewriteContext& context);  // same record, or equal bytes

}  // namespace lowwater
