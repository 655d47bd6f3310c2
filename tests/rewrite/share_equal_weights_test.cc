// Weights of equal content, in real archives.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "graph/text.h"
#include "rewrite/rewrite.h"
#include "temp_file.h"
#include "zip_builder.h"

namespace lowwater {
namespace {

using Json = nlohmann::json;

Json as_sizes(const std::vector<std::int64_t>& numbers) {
  Json list = Json::array();
  for (const std::int64_t number : numbers) list.push_back({{"as_int", number}});
  return list;
}

// An archive with one record per weight; every weight is a row of floats.
class Archived {
 public:
  explicit Archived(const std::vector<std::string>& payloads) {
    Json config = Json::object();
    test::ZipFile file;
    file.entries = {{.name = "m/archive_format", .payload = "pt2"},
                    {.name = "m/archive_version", .payload = "0"},
                    {.name = "m/byteorder", .payload = "little"},
                    {.name = "m/models/model.json", .payload = "{}"}};
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const std::string record = "weight_" + std::to_string(i);
      const auto count = static_cast<std::int64_t>(payloads[i].size() / 4);
      config["w" + std::to_string(i)] = {{"path_name", record},
                                         {"is_param", true},
                                         {"use_pickle", false},
                                         {"tensor_meta",
                                          {{"dtype", 7},
                                           {"sizes", as_sizes({count})},
                                           {"strides", as_sizes({1})},
                                           {"storage_offset", {{"as_int", 0}}},
                                           {"device", {{"type", "cpu"}, {"index", nullptr}}},
                                           {"layout", 7},
                                           {"requires_grad", false}}}};
      file.entries.push_back({.name = "m/data/weights/" + record, .payload = payloads[i]});
    }
    file.entries.push_back({.name = "m/data/weights/model_weights_config.json",
                            .payload = Json{{"config", config}}.dump()});
    file.entries.push_back({.name = "m/data/constants/model_constants_config.json",
                            .payload = Json{{"config", Json::object()}}.dump()});
    archive_ = Archive::open(folder_.write("m.pt2", file.bytes()));
  }

  // A graph that negates each weight, in order; `outputs` may mutate some.
  // Returns the weights that are left after the rewrite.
  std::set<std::string> left(const std::string& outputs = "") const {
    std::string head = "graph(", body, results;
    const WeightTable& table = archive_->weights();
    for (std::size_t i = 0; i < table.weights.size(); ++i) {
      const std::string type = "f32[" + std::to_string(table.weights[i].sizes[0]) + "]";
      const std::string id = std::to_string(i);
      head += (i > 0 ? ", %" : "%") + table.weights[i].name + ": weight " + id + " " + type;
      body += "  %n" + id + ": " + type + " = aten::neg(%" + table.weights[i].name + ")\n";
      results += (i > 0 ? ", %n" : "%n") + id;
    }
    Graph graph = parse_graph(head + "):\n" + body + "  return (" + results + outputs + ")\n");
    RewriteContext context;
    context.weights = &table;
    context.archive = &*archive_;
    const int changes = share_equal_weights(graph, context);
    EXPECT_TRUE(lint(graph).empty());
    std::set<std::string> names;
    for (const Value& value : graph.values) {
      if (value.kind == ValueKind::weight) names.insert(value.name);
    }
    EXPECT_EQ(names.size() + static_cast<std::size_t>(changes), table.weights.size());
    return names;
  }

  [[nodiscard]] const Archive& archive() const { return *archive_; }

 private:
  test::TempFolder folder_;
  std::optional<Archive> archive_;
};

using Names = std::set<std::string>;

TEST(ShareEqualWeights, ByContent) {
  const Archived model({"abcdefgh", "abcdefgh", "abcdefgi", "abcdefgh", "abcd"});
  EXPECT_EQ(model.left(), (Names{"w0", "w2", "w4"}));
}

TEST(ShareEqualWeights, NotWhatIsWritten) {
  const Archived model({"abcdefgh", "abcdefgh", "abcdefgh"});
  const WeightId written = *model.archive().weights().find("w1");
  EXPECT_EQ(model.left(", weight " + std::to_string(written) + " = %n0"), (Names{"w0", "w1"}));
}

// Two texts of 8 bytes with one CRC: among 300,000 there are about ten pairs.
std::pair<std::string, std::string> collision() {
  std::unordered_map<std::uint32_t, std::string> seen;
  std::uint64_t state = 1;
  for (int i = 0; i < 300'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::string text(8, '\0');
    std::memcpy(text.data(), &state, 8);
    const auto crc = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const unsigned char*>(text.data()), 8));
    const auto [found, is_new] = seen.emplace(crc, text);
    if (!is_new && found->second != text) return {found->second, text};
  }
  throw std::runtime_error("no collision");
}

TEST(ShareEqualWeights, ComparesBytesNotOnlyChecksums) {
  const auto [first, second] = collision();
  const Archived model({first, second, second});
  EXPECT_EQ(model.archive().records().at(4).crc, model.archive().records().at(5).crc);
  EXPECT_EQ(model.left(), (Names{"w0", "w1"}));
}

}  // namespace
}  // namespace lowwater
