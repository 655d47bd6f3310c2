// The whole flow of lowwater on one screen.
#include "lowwater/session.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "exec/device.h"
#include "exec/schemas.h"
#include "plan/search.h"
#include "rewrite/rewrite.h"
#include "session_io.h"
#include "session_plan.h"
#include "session_run.h"
#include "session_shapes.h"
#include "session_state.h"
#include "session_timer.h"

namespace lowwater {
namespace {

std::unique_ptr<RecordStore> open_store(const Options& options) {
  const std::string folder = options.cache_dir.empty() ? default_cache_folder() : options.cache_dir;
  return folder.empty() || folder == "-" ? nullptr : std::make_unique<RecordStore>(folder);
}

// Names of rewrites and moves that do not exist would silently do nothing.
void check_names(const std::set<std::string>& disabled) {
  std::string known;
  std::set<std::string> unknown = disabled;
  const auto pass = [&](std::string_view name) {
    known += (known.empty() ? "" : ", ") + std::string(name);
    unknown.erase(std::string(name));
  };
  for (const Rewrite& rewrite : rewrite_table()) pass(rewrite.name);
  for (const Move& move : move_table()) pass(move.name);
  if (unknown.empty()) return;
  throw Error(ErrorKind::bad_input, "no rewrite or move is called '" + *unknown.begin() + "'",
              "without", "there are: " + known);
}

std::unique_ptr<SessionCore> open_core(const std::string& path, const Options& options) {
  auto core = std::make_unique<SessionCore>();
  StageTimer timer;
  check_names(options.disabled);
  core->options = options;
  core->device = parse_device(options.device);
  core->archive = Archive::open(path, options.model);
  timer.lap("archive");
  core->program = parse_program(core->archive.program_json());
  timer.lap("program");
  core->inputs = describe_inputs(core->program);
  core->outputs = describe_outputs(core->program);
  core->budget_base = budget_base(core->device);
  core->queue = make_queue(core->device);
  timer.lap("device");
  core->schemas = dump_schemas();
  timer.lap("schemas");
  core->store = open_store(options);
  timer.lap("records");
  core->open_timings = timer.take();
  return core;
}

}  // namespace

Session Session::open(const std::string& path, const Options& options) {
  auto state = std::make_unique<State>(options.threads);
  state->worker.run([&] {
    state->core = open_core(path, options);
    SessionCore& core = *state->core;
    core.queue->use(0);
    core.plans.push_back(make_plan(core, shapes_from_options(core.program, options.shapes)));
    fill_output_types(core.outputs, core.plans.front()->graph);
  });
  return Session(std::move(state));
}

Session Session::open_with_plan(const std::string& path, const std::string& plan_json,
                                const Options& options) {
  auto state = std::make_unique<State>(options.threads);
  state->worker.run([&] {
    state->core = open_core(path, options);
    SessionCore& core = *state->core;
    core.queue->use(0);
    core.plans.push_back(adopt_plan(core, plan_json));
    fill_output_types(core.outputs, core.plans.front()->graph);
  });
  return Session(std::move(state));
}

RunResult Session::run(const std::vector<TensorView>& inputs) {
  RunResult result;
  state_->worker.run([&] {
    SessionCore& core = *state_->core;
    const InputShapes shapes = shapes_from_views(core.program, inputs);
    const PlannedShape& planned = plan_for(core, shapes);
    result = run_planned(core, planned, inputs);
  });
  return result;
}

RunResult Session::run_unplanned(const std::vector<TensorView>& inputs) {
  RunResult result;
  state_->worker.run([&] {
    SessionCore& core = *state_->core;
    const InputShapes shapes = shapes_from_views(core.program, inputs);
    result = run_as_exported(core, shapes, inputs);
  });
  return result;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Plan& Session::plan() const { return state_->core->plans.front()->plan; }
const std::vector<IoDescription>& Session::inputs() const { return state_->core->inputs; }
const std::vector<IoDescription>& Session::outputs() const { return state_->core->outputs; }

std::string Session::plan_json() const {
  return stored_plan(*state_->core, *state_->core->plans.front());
}

}  // namespace lowwater
