// Sessions over the small archives: what a caller of the C++ API gets.
#include "lowwater/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exec/scripted_allocator.h"

namespace lowwater {
namespace {

using ::testing::HasSubstr;

std::string archive(const std::string& name) {
  return std::string(LOWWATER_TEST_DATA) + "/archives/" + name;
}

std::vector<unsigned char> from_hex(const std::string& hex) {
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// An owned tensor of a case file.
struct HostTensor {
  std::string dtype;
  std::vector<std::int64_t> sizes;
  std::vector<unsigned char> bytes;
  [[nodiscard]] TensorView view() const { return {bytes.data(), dtype, sizes, {}, false}; }
};

struct Case {
  std::vector<HostTensor> inputs;
  std::vector<std::optional<HostTensor>> outputs;  // nullopt: no tensor
  [[nodiscard]] std::vector<TensorView> views() const {
    std::vector<TensorView> list;
    for (const HostTensor& input : inputs) list.push_back(input.view());
    return list;
  }
};

// What eager PyTorch computed when the archive was written.
std::vector<Case> cases_of(const std::string& name) {
  std::ifstream file(archive(name + ".json"));
  const auto json = nlohmann::json::parse(file);
  const auto tensor = [](const nlohmann::json& in) {
    return HostTensor{in.at("dtype"), in.at("sizes"), from_hex(in.at("hex"))};
  };
  std::vector<Case> cases;
  for (const auto& one : json.at("cases")) {
    Case made;
    for (const auto& input : one.at("inputs")) made.inputs.push_back(tensor(input));
    for (const auto& output : one.at("outputs")) {
      made.outputs.push_back(output.is_object() ? std::optional(tensor(output)) : std::nullopt);
    }
    cases.push_back(std::move(made));
  }
  return cases;
}

std::vector<float> floats_of(const TensorView& view) {
  EXPECT_EQ(view.dtype, "f32");
  std::vector<float> values;
  std::vector<std::int64_t> index(view.sizes.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t size : view.sizes) count *= size;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
    values.push_back(static_cast<const float*>(view.data)[offset]);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < view.sizes[d]) break;
      index[d] = 0;
    }
  }
  return values;
}

// Kernels of another version or machine may round otherwise.
void expect_case(const RunResult& result, const Case& expected) {
  ASSERT_EQ(result.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < expected.outputs.size(); ++i) {
    const TensorView& view = result.outputs[i].view;
    if (!expected.outputs[i]) {
      EXPECT_EQ(view.data, nullptr) << i;
      continue;
    }
    EXPECT_EQ(view.sizes, expected.outputs[i]->sizes) << i;
    const std::vector<float> got = floats_of(view);
    std::vector<float> want(got.size());
    ASSERT_EQ(expected.outputs[i]->bytes.size(), want.size() * sizeof(float));
    std::memcpy(want.data(), expected.outputs[i]->bytes.data(), expected.outputs[i]->bytes.size());
    for (std::size_t k = 0; k < want.size(); ++k)
      EXPECT_NEAR(got[k], want[k], 1e-5) << i << ", " << k;
  }
}

template <typename Call>
std::pair<std::optional<ErrorKind>, std::string> error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {std::nullopt, "no error"};
}

Options quick() {
  Options options;
  options.cache_dir = "-";
  options.budget = std::int64_t{64} << 20;
  return options;
}

class SessionTest : public ::testing::Test {
 protected:
  void TearDown() override { fail_nth_allocation(-1); }
  const std::string net_ = archive("net-2.11.0.pt2"), dynamic_ = archive("dynamic-2.11.0.pt2");
  const Case net_case_ = cases_of("net-2.11.0").front();
};

TEST_F(SessionTest, ArchivesOfSeveralVersionsGiveWhatEagerGave) {
  for (const std::string version : {"2.9.1", "2.11.0", "2.15.0"}) {
    SCOPED_TRACE(version);
    Session session = Session::open(archive("net-" + version + ".pt2"), quick());
    const Case expected = cases_of("net-" + version).front();
    expect_case(session.run(expected.views()), expected);
    expect_case(session.run_unplanned(expected.views()), expected);
  }
}

TEST_F(SessionTest, MeasuredEqualsPlanned) {
  Session session = Session::open(net_, quick());
  const Plan& plan = session.plan();
  ASSERT_TRUE(plan.fits);
  EXPECT_EQ(plan.basis, "measured");
  EXPECT_EQ(plan.scope, "tensors");
  EXPECT_EQ(plan.device, "cpu");
  EXPECT_EQ(plan.budget_bytes, std::int64_t{64} << 20);
  const RunStats stats = session.run(net_case_.views()).stats;
  EXPECT_EQ(stats.strays, 0);
  EXPECT_EQ(stats.measured_arena_bytes, plan.arena_bytes);
  EXPECT_EQ(stats.measured_peak_bytes, plan.peak_bytes);
  EXPECT_EQ(stats.planned_peak_bytes, plan.peak_bytes);
  EXPECT_EQ(stats.process_peak_bytes, 0);
}

TEST_F(SessionTest, PoisonChangesNothing) {
  Options options = quick();
  options.poison = true;
  Session session = Session::open(net_, options);
  expect_case(session.run(net_case_.views()), net_case_);
}

TEST_F(SessionTest, SmallestBudgetRunsAndOneByteLessDoesNot) {
  Options options = quick();
  options.budget = Session::open(net_, options).plan().smallest_budget_bytes;
  Session fits = Session::open(net_, options);
  EXPECT_TRUE(fits.plan().fits);
  expect_case(fits.run(net_case_.views()), net_case_);

  --*options.budget;
  Session refused = Session::open(net_, options);
  EXPECT_FALSE(refused.plan().fits);
  EXPECT_EQ(refused.plan().smallest_budget_bytes, *options.budget + 1);
  const auto [kind, text] = error_of([&] { refused.run(net_case_.views()); });
  EXPECT_EQ(kind, ErrorKind::does_not_fit);
  EXPECT_THAT(text, HasSubstr(std::to_string(*options.budget + 1)));
  EXPECT_EQ(error_of([&] { static_cast<void>(refused.plan_json()); }).first,
            ErrorKind::does_not_fit);
}

TEST_F(SessionTest, SillyBudgetsAreBadInput) {
  Options options = quick();
  options.budget = 0;
  EXPECT_EQ(error_of([&] { Session::open(net_, options); }).first, ErrorKind::bad_input);
  options.budget.reset();
  options.budget_percent = 120;
  EXPECT_EQ(error_of([&] { Session::open(net_, options); }).first, ErrorKind::bad_input);
  options.budget_percent.reset();
  options.scope = Scope::process;
  EXPECT_EQ(error_of([&] { Session::open(net_, options); }).first, ErrorKind::bad_input);
}

TEST_F(SessionTest, WrongInputsNameTheInputTheExpectedAndTheGiven) {
  Session session = Session::open(net_, quick());
  HostTensor wrong = net_case_.inputs[0];
  EXPECT_EQ(error_of([&] { session.run({}); }).first, ErrorKind::bad_input);
  wrong.sizes = {2, 2, 5, 7};
  EXPECT_EQ(error_of([&] { session.run({wrong.view()}); }).second,
            "input \"x\": the model takes f32[2,2,5,6], got f32[2,2,5,7]");
  wrong = net_case_.inputs[0];
  wrong.dtype = "i32";
  EXPECT_EQ(error_of([&] { session.run({wrong.view()}); }).second,
            "input \"x\": the model takes f32[2,2,5,6], got i32[2,2,5,6]");
  TensorView empty = net_case_.inputs[0].view();
  empty.data = nullptr;
  EXPECT_EQ(error_of([&] { session.run({empty}); }).first, ErrorKind::bad_input);
  expect_case(session.run(net_case_.views()), net_case_);
}

TEST_F(SessionTest, OtherStridesGiveTheSameResult) {
  Session session = Session::open(net_, quick());
  // The same values with the last two dimensions stored the other way round.
  const HostTensor& x = net_case_.inputs[0];
  std::vector<float> values(2 * 2 * 5 * 6), swapped(values.size());
  std::memcpy(values.data(), x.bytes.data(), x.bytes.size());
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t h = 0; h < 5; ++h) {
      for (std::size_t w = 0; w < 6; ++w) swapped[p * 30 + w * 5 + h] = values[p * 30 + h * 6 + w];
    }
  }
  const TensorView view{swapped.data(), "f32", {2, 2, 5, 6}, {60, 30, 1, 5}, false};
  expect_case(session.run({view}), net_case_);
  expect_case(session.run_unplanned({view}), net_case_);
}

TEST_F(SessionTest, SymbolicSizesHaveToBeGiven) {
  const auto [kind, text] = error_of([&] { Session::open(dynamic_, quick()); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(text, HasSubstr("\"image\" dimension 0"));
  EXPECT_THAT(text, HasSubstr("\"image\" dimension 3"));
  Options options = quick();
  options.shapes = {{"picture", {1, 1, 8, 12}}};
  EXPECT_THAT(error_of([&] { Session::open(dynamic_, options); }).second,
              HasSubstr("no tensor input \"picture\"; its inputs are: image, gain"));
}

TEST_F(SessionTest, OtherSizesArePlannedAsTheyCome) {
  Options options = quick();
  options.shapes = {{"image", {3, 1, 8, 12}}};
  Session session = Session::open(dynamic_, options);
  for (int round = 0; round < 2; ++round) {
    for (const Case& one : cases_of("dynamic-2.11.0")) expect_case(session.run(one.views()), one);
  }
  HostTensor bad = cases_of("dynamic-2.11.0").front().inputs[0];
  bad.sizes = {3, 1, 8, 11};  // the archive says: an even width
  bad.bytes.resize(3 * 8 * 11 * 4);
  const auto views =
      std::vector<TensorView>{bad.view(), cases_of("dynamic-2.11.0").front().inputs[1].view()};
  EXPECT_EQ(error_of([&] { session.run(views); }).first, ErrorKind::bad_input);
  EXPECT_EQ(session.inputs()[0].sizes, (std::vector<std::int64_t>{-1, 1, 8, -1}));
  EXPECT_EQ(session.outputs()[0].name, "tokens");
  EXPECT_FALSE(session.outputs()[1].is_tensor);
}

TEST_F(SessionTest, EveryFailingAllocationIsAnErrorAndThenAllIsWell) {
  Session session = Session::open(net_, quick());
  expect_case(session.run(net_case_.views()), net_case_);
  int failures = 0;
  for (std::int64_t k = 0;; ++k) {
    fail_nth_allocation(k);
    std::int64_t strays = 0;
    const auto [kind, text] =
        error_of([&] { strays = session.run(net_case_.views()).stats.strays; });
    fail_nth_allocation(-1);
    if (!kind && strays == 0) break;  // the run has fewer than k allocations
    if (!kind) continue;              // the operator tried again: a stray, in the reserve
    ++failures;
    EXPECT_EQ(kind, ErrorKind::machine) << text;
    EXPECT_THAT(text, HasSubstr("out of memory in aten::"));
    EXPECT_THAT(text, HasSubstr("make_archives.py"));  // the line of the model
    const RunResult again = session.run(net_case_.views());
    expect_case(again, net_case_);
    EXPECT_EQ(again.stats.measured_arena_bytes, session.plan().arena_bytes);
  }
  EXPECT_GT(failures, 5);
}

TEST_F(SessionTest, StoredPlansRunElsewhereAndNowhereElse) {
  Session first = Session::open(net_, quick());
  const std::string stored = first.plan_json();
  Session second = Session::open_with_plan(net_, stored, quick());
  EXPECT_EQ(second.plan().arena_bytes, first.plan().arena_bytes);
  EXPECT_EQ(second.plan().peak_bytes, first.plan().peak_bytes);
  EXPECT_EQ(second.plan_json(), stored);
  const RunResult result = second.run(net_case_.views());
  expect_case(result, net_case_);
  EXPECT_EQ(result.stats.measured_arena_bytes, first.plan().arena_bytes);

  const auto refused = [&](const std::string& text, const std::string& file) {
    return error_of([&] { Session::open_with_plan(file, text, quick()); });
  };
  const auto [kind, text] = refused(stored, archive("net-2.9.1.pt2"));
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(text, HasSubstr("another model"));
  EXPECT_EQ(refused("{", net_).first, ErrorKind::bad_input);
  EXPECT_EQ(refused("{}", net_).first, ErrorKind::bad_input);
  auto tampered = nlohmann::json::parse(stored);
  tampered["lowwater"] = "0.0.1";
  EXPECT_THAT(refused(tampered.dump(), net_).second, HasSubstr("another lowwater"));
  tampered = nlohmann::json::parse(stored);
  for (auto& buffer : tampered["program"]["buffers"]) buffer["offset"] = 0;
  EXPECT_EQ(refused(tampered.dump(), net_).first, ErrorKind::bad_input);
}

TEST_F(SessionTest, ResultsOutliveTheSession) {
  RunResult result;
  {
    Session session = Session::open(net_, quick());
    result = session.run(net_case_.views());
    std::vector<unsigned char> zeros(net_case_.inputs[0].bytes.size(), 0);
    session.run({TensorView{zeros.data(), "f32", net_case_.inputs[0].sizes, {}, false}});
  }
  expect_case(result, net_case_);
}

TEST_F(SessionTest, BorrowedOutputsAreTheSameMemoryEachTime) {
  Options options = quick();
  options.borrow_outputs = true;
  Session session = Session::open(net_, options);
  const void* first = session.run(net_case_.views()).outputs[0].view.data;
  const RunResult second = session.run(net_case_.views());
  EXPECT_EQ(first, second.outputs[0].view.data);
  expect_case(second, net_case_);
}

TEST_F(SessionTest, CallsFromManyThreadsQueue) {
  Session session = Session::open(net_, quick());
  std::vector<RunResult> results(8);
  std::vector<std::thread> threads;
  for (RunResult& result : results) {
    threads.emplace_back([&] { result = session.run(net_case_.views()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const RunResult& result : results) expect_case(result, net_case_);
}

TEST_F(SessionTest, SessionsMove) {
  Session first = Session::open(net_, quick());
  Session second = std::move(first);
  first = Session::open(dynamic_, [] {
    Options options = quick();
    options.shapes = {{"image", {3, 1, 8, 12}}};
    return options;
  }());
  expect_case(second.run(net_case_.views()), net_case_);
}

TEST_F(SessionTest, MeasuringCanBeStoppedOrForbidden) {
  Options options = quick();
  options.progress = [](const char*, int, int) { return false; };
  EXPECT_EQ(error_of([&] { Session::open(net_, options); }).first, ErrorKind::interrupted);
  options = quick();
  options.measure_time_s = 0;
  Session session = Session::open(net_, options);
  EXPECT_EQ(session.plan().basis, "estimated");
  EXPECT_EQ(error_of([&] { session.run(net_case_.views()); }).first, ErrorKind::bad_input);
}

TEST_F(SessionTest, RecordsAreKeptBetweenSessions) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("lowwater-session-" + std::to_string(getpid()));
  Options options = quick();
  options.cache_dir = folder;
  Session::open(net_, options);
  options.measure_time_s = 0;
  EXPECT_EQ(Session::open(net_, options).plan().basis, "measured");
  EXPECT_TRUE(clear_cache(folder));
  EXPECT_EQ(Session::open(net_, options).plan().basis, "estimated");
  std::filesystem::remove_all(folder);
}

TEST_F(SessionTest, UnknownDevicesAndFilesAreRefusedByName) {
  Options options = quick();
  options.device = "tpu";
  EXPECT_EQ(error_of([&] { Session::open(net_, options); }).first, ErrorKind::bad_input);
  options.device = "cuda:63";
  const auto [kind, text] = error_of([&] { Session::open(net_, options); });
  EXPECT_EQ(kind, ErrorKind::machine);
  EXPECT_THAT(text, HasSubstr("cuda:63 is not available"));
  EXPECT_THAT(text, HasSubstr("available devices: cpu"));
  EXPECT_EQ(error_of([&] { Session::open("nowhere.pt2", quick()); }).first, ErrorKind::bad_input);
}

TEST_F(SessionTest, InspectTellsWhatIsInside) {
  const ArchiveInfo info = inspect(dynamic_, {}, true);
  EXPECT_EQ(info.model, "model");
  EXPECT_EQ(info.parameters, 4);
  EXPECT_EQ(info.weight_bytes, 200);
  EXPECT_EQ(info.weight_elements, 50);
  EXPECT_EQ(info.nodes, 8);
  EXPECT_TRUE(info.corrupt.empty());
  ASSERT_EQ(info.inputs.size(), 2u);
  EXPECT_EQ(info.inputs[0].name, "image");
  EXPECT_EQ(info.outputs[0].dtype, "f32");
  EXPECT_EQ(info.outputs[0].sizes.size(), 3u);
  for (const auto& op : info.operators) EXPECT_TRUE(op.known) << op.name;
}

TEST(Machine, IsDescribed) {
  const std::vector<Finding> findings = describe_machine();
  EXPECT_EQ(findings.front().text, version());
  const auto cpu = std::find_if(findings.begin(), findings.end(),
                                [](const Finding& f) { return f.topic == "device cpu"; });
  ASSERT_NE(cpu, findings.end());
  EXPECT_FALSE(cpu->problem);
}

}  // namespace
}  // namespace lowwater
