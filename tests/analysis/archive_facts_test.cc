// The committed archives through import, rewrites and facts, on estimates.
#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/estimate.h"
#include "analysis/facts.h"
#include "graph/import.h"
#include "rewrite/rewrite.h"
#include "schemas.h"

namespace lowwater {
namespace {

TEST(ArchiveFacts, EveryArchiveHasFacts) {
  int archives = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LOWWATER_TEST_DATA "/archives")) {
    if (entry.path().extension() != ".pt2") continue;
    SCOPED_TRACE(entry.path().filename());
    ++archives;
    const Archive archive = Archive::open(entry.path().string());
    Graph graph = import_graph(parse_program(archive.program_json()), archive.weights(),
                               snapshot_schemas(), {});
    run_rewrites(graph, {&archive.weights(), &snapshot_schemas(), &archive});
    EstimatingProvider provider(snapshot_schemas());
    const Facts facts = collect_facts(graph, archive.weights(), provider);
    EXPECT_EQ(facts.basis, Basis::estimated);
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      const Type& type = graph.values[i].type;
      if (type.kind != TypeKind::tensor) continue;
      const TensorMeta& meta = facts.values[i].meta;
      ASSERT_NE(facts.values[i].storage, kNone) << graph.values[i].name;
      EXPECT_EQ(meta.sizes, type.sizes) << graph.values[i].name;
      EXPECT_LE(meta.storage_offset * element_size(meta.dtype) + meta.extent_bytes(),
                meta.storage_bytes)
          << graph.values[i].name;
    }
    // Outputs are held at the end, so the peak is no smaller than they are.
    Bytes outputs = 0;
    const std::vector<LiveRange> ranges = live_ranges(graph, facts);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const bool held = ranges[i].end == static_cast<NodeId>(graph.nodes.size());
      if (held && facts.storages[i].owner == Storage::Owner::node)
        outputs += facts.storages[i].size;
    }
    const Footprint footprint = eager_footprint(graph, facts);
    EXPECT_GT(outputs, 0);
    EXPECT_GE(footprint.peak, outputs);
    EXPECT_EQ(footprint.at_node.size(), graph.nodes.size());
  }
  EXPECT_GT(archives, 0);
}

}  // namespace
}  // namespace lowwater
