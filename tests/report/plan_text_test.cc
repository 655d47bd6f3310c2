#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "lowwater/plan.h"
#include "report/figures_text.h"

namespace lowwater {
namespace {

constexpr std::int64_t kMiB = INT64_C(1) << 20;

Plan fitting_plan() {
  Plan plan;
  plan.fits = true;
  plan.basis = "measured";
  plan.scope = "tensors";
  plan.device = "cpu";
  plan.budget_bytes = 600 * kMiB;
  plan.peak_bytes = 512 * kMiB;
  plan.arena_bytes = 400 * kMiB;
  plan.outside_arena_bytes = 112 * kMiB;
  plan.lower_bound_bytes = 400 * kMiB;
  plan.smallest_budget_bytes = 420 * kMiB;
  plan.unplanned_peak_bytes = 1280 * kMiB;
  plan.predicted_ms = 12.34;
  plan.unplanned_ms = 12;
  plan.moves = {"recompute", "reorder", "recompute"};
  plan.stages = {"2 operators once per session, %k, 0.1 ms", "41 operators, %a to %z, 12.3 ms"};
  plan.barriers = {{"aten::nms", "detect.py:7 in forward", 3 * kMiB}};
  plan.peak_op = "aten::conv2d";
  plan.peak_source = "unet.py:42 in forward (up1.conv)";
  plan.peak_values = {{"cat_2", "unet.py:40 in forward (up1)", 256 * kMiB},
                      {"conv2d_9", "", 128 * kMiB}};
  plan.peak_temporary_bytes = 16 * kMiB;
  return plan;
}

TEST(PlanText, Fits) {
  EXPECT_EQ(plan_to_text(fitting_plan()), R"(Fits on cpu: 512 MiB of a budget of 600 MiB.

  peak                 512 MiB   85 % of the budget
    arena              400 MiB   packed to its lower bound
    outside            112 MiB   weights, inputs, outputs, constants
  smallest budget      420 MiB
  without a plan      1.25 GiB   2.5x the planned peak
  time                 12.3 ms   1.03x the 12.0 ms without a plan
  budget counts        tensors   weights, inputs, outputs, temporaries
  figures are         measured   on this device
  result           same-kernels   the kernels and their order of arithmetic are PyTorch's own

The peak is at aten::conv2d, unet.py:42 in forward (up1.conv)
      256 MiB  cat_2                         unet.py:40 in forward (up1)
      128 MiB  conv2d_9
     16.0 MiB  temporaries of the operator

Moves: recompute (2 times), reorder

Stages
  2 operators once per session, %k, 0.1 ms
  41 operators, %a to %z, 12.3 ms

Operators that run whole
     3.00 MiB  aten::nms                     detect.py:7 in forward
)");
}

TEST(PlanText, DoesNotFit) {
  Plan plan = fitting_plan();
  plan.fits = false;
  plan.budget_bytes = 100 * kMiB;
  plan.moves.clear();
  plan.stages.clear();
  plan.barriers.clear();
  EXPECT_EQ(
      plan_to_text(plan),
      R"(Does not fit on cpu: the smallest possible budget is 420 MiB, 320 MiB more than 100 MiB.

  without a plan      1.25 GiB   operator by operator, each value freed at its last use
  budget counts        tensors   weights, inputs, outputs, temporaries
  figures are         measured   on this device

What needs the memory: aten::conv2d, unet.py:42 in forward (up1.conv)
      256 MiB  cat_2                         unet.py:40 in forward (up1)
      128 MiB  conv2d_9
     16.0 MiB  temporaries of the operator
)");
}

// Estimated figures say so, one by one; the budget is no estimate.
TEST(PlanText, EstimatesAreMarked) {
  Plan plan = fitting_plan();
  plan.basis = "estimated";
  const std::string text = plan_to_text(plan);
  EXPECT_NE(text.find("Fits on cpu: ~512 MiB of a budget of 600 MiB."), std::string::npos) << text;
  EXPECT_NE(text.find("~12.3 ms"), std::string::npos);
  EXPECT_NE(text.find("~256 MiB  cat_2"), std::string::npos);
  EXPECT_NE(text.find("cannot be executed"), std::string::npos);
}

TEST(PlanText, ProcessScopeComparesTheProcess) {
  Plan plan = fitting_plan();
  plan.scope = "process";
  plan.device = "cuda:0";
  plan.process_peak_bytes = 570 * kMiB;
  const std::string text = plan_to_text(plan);
  EXPECT_NE(text.find("Fits on cuda:0: 570 MiB of a budget of 600 MiB."), std::string::npos)
      << text;
  EXPECT_NE(text.find("process peak         570 MiB   95 % of the budget\n"), std::string::npos)
      << text;
}

TEST(PlanText, LooseArenaAndManyValues) {
  Plan plan = fitting_plan();
  plan.lower_bound_bytes = 320 * kMiB;
  plan.peak_values.assign(11, {"v", "", kMiB});
  plan.stages.assign(20, "stage");
  const std::string text = plan_to_text(plan);
  EXPECT_NE(text.find("25.0 % above its lower bound of 320 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("3.00 MiB  in 3 values more"), std::string::npos) << text;
  EXPECT_NE(text.find("... 8 more"), std::string::npos) << text;
}

TEST(PlanJsonReport, HasEveryDocumentedKey) {
  const nlohmann::json object = nlohmann::json::parse(plan_to_json(fitting_plan()));
  EXPECT_EQ(object["fits"], true);
  EXPECT_EQ(object["basis"], "measured");
  EXPECT_EQ(object["device"], "cpu");
  EXPECT_EQ(object["scope"], "tensors");
  EXPECT_EQ(object["budget_bytes"], 600 * kMiB);
  EXPECT_EQ(object["peak_bytes"], 512 * kMiB);
  EXPECT_EQ(object["process_peak_bytes"], 0);
  EXPECT_EQ(object["outside_arena_bytes"], 112 * kMiB);
  EXPECT_EQ(object["arena_bytes"], 400 * kMiB);
  EXPECT_EQ(object["lower_bound_bytes"], 400 * kMiB);
  EXPECT_EQ(object["smallest_budget_bytes"], 420 * kMiB);
  EXPECT_EQ(object["unplanned_peak_bytes"], 1280 * kMiB);
  EXPECT_EQ(object["predicted_ms"], 12.34);
  EXPECT_EQ(object["unplanned_ms"], 12.0);
  EXPECT_EQ(object["exactness"], "same-kernels");
  EXPECT_EQ(object["moves"].size(), 3U);
  EXPECT_EQ(object["stages"].size(), 2U);
  EXPECT_EQ(object["barriers"][0]["name"], "aten::nms");
  EXPECT_EQ(object["peak"]["op"], "aten::conv2d");
  EXPECT_EQ(object["peak"]["source"], "unet.py:42 in forward (up1.conv)");
  EXPECT_EQ(object["peak"]["temporary_bytes"], 16 * kMiB);
  EXPECT_EQ(object["peak"]["values"][1],
            nlohmann::json({{"name", "conv2d_9"}, {"source", ""}, {"bytes", 128 * kMiB}}));
  EXPECT_FALSE(object.contains("culprits"));
}

TEST(PlanJsonReport, CulpritsWhereItDoesNotFit) {
  Plan plan = fitting_plan();
  plan.fits = false;
  plan.predicted_ms = std::numeric_limits<double>::infinity();
  const nlohmann::json object = nlohmann::json::parse(plan_to_json(plan));
  EXPECT_EQ(object["culprits"], object["peak"]["values"]);
  EXPECT_TRUE(object["predicted_ms"].is_null());
}

TEST(FiguresText, Times) {
  EXPECT_EQ(format_ms(0), "0.000 ms");
  EXPECT_EQ(format_ms(0.1234), "0.123 ms");
  EXPECT_EQ(format_ms(9.996), "10.0 ms");
  EXPECT_EQ(format_ms(999.4), "999 ms");
  EXPECT_EQ(format_ms(999.6), "1.00 s");
  EXPECT_EQ(format_ms(125'000), "2 min 05 s");
  EXPECT_EQ(format_ratio(1, 0), "");
  EXPECT_EQ(format_ratio(1.996, 1), "2.0x");
  EXPECT_EQ(format_ratio(25, 1), "25x");
  EXPECT_EQ(format_count(1, "value"), "1 value");
}

}  // namespace
}  // namespace lowwater
