// The naive run on textual graphs: order, lifetimes, guards, mutations.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exec/executor.h"
#include "exec/scripted_allocator.h"
#include "graph/text.h"
#include "lowwater/error.h"

namespace lowwater {
namespace {

class NaiveTest : public ::testing::Test {
 protected:
  void SetUp() override { install_cpu_allocator(); }

  std::vector<at::Tensor> run(const std::string& text, const std::vector<at::Tensor>& inputs,
                              Bytes* peak = nullptr) {
    const Graph graph = parse_graph(text);
    EXPECT_EQ(lint(graph), std::vector<std::string>{});
    return run_naive(graph, weights_, archive_.weights(), c10::kCPU, inputs, peak);
  }

  const c10::InferenceMode inference_;
  const Archive archive_ =
      Archive::open(std::string(LOWWATER_TEST_DATA) + "/archives/net-2.11.0.pt2");
  const DeviceWeights weights_{archive_, c10::kCPU, {}, {}};
  const at::Tensor x_ = at::tensor({-1.f, 2.f, -3.f, 4.f});
};

TEST_F(NaiveTest, ValuesAreFreedAtTheirLastUse) {
  Bytes peak = 0;
  const auto outputs = run(R"(graph(%x: f32[4]):
  %a: f32[4] = aten::relu(%x)
  %b: f32[4] = aten::neg(%a)
  %c: f32[4] = aten::neg(%b)
  %d: f32[4] = aten::neg(%c)
  return (%d)
)",
                           {x_}, &peak);
  EXPECT_TRUE(at::equal(outputs[0], -at::relu(x_)));
  EXPECT_EQ(peak, 32);  // two of the four values at a time
}

TEST_F(NaiveTest, ResultsThatNobodyReadsAreFreedAtOnce) {
  Bytes peak = 0;
  run(R"(graph(%x: f32[4]):
  %a: f32[4] = aten::relu(%x)
  %b: f32[4] = aten::neg(%x)
  return (%b)
)",
      {x_}, &peak);
  EXPECT_EQ(peak, 16);
}

TEST_F(NaiveTest, InputMutationsReachTheCallersTensor) {
  const at::Tensor mine = x_.clone();
  Graph graph = parse_graph(R"(graph(%x: f32[4]):
  %a: f32[4] = aten::relu(%x)
  return (%a)
)");
  graph.outputs.push_back({OutputKind::input_mutation, graph.outputs[0].value, 0});
  const auto outputs = run_naive(graph, weights_, archive_.weights(), c10::kCPU, {mine});
  EXPECT_TRUE(at::equal(mine, at::relu(x_)));
  EXPECT_TRUE(at::equal(outputs[0], at::relu(x_)));
}

TEST_F(NaiveTest, ErrorsNameTheOperator) {
  try {
    run(R"(graph(%x: f32[4], %i: i64[1]):
  %a: f32[1] = aten::index_select(%x, 0, %i)
  return (%a)
)",
        {x_, at::tensor({std::int64_t{7}})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("aten::index_select"));
  }
}

}  // namespace
}  // namespace lowwater
