#include "plan/liveness.h"

#include <algorithm>
#include <utility>

#include "plan/liveness_drafts.h"

namespace lowwater {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Mirrors lower*.cc: share, emit. Runs the drafts and counts.
class Walk {
 public:
  Walk(const LivenessModel::Shape& shape, FlatDrafts drafts, std::size_t positions)
      : s_(shape), d_(std::move(drafts)) {
    result_.at_step.assign(positions, 0);
    result_.ms = d_.ms;
  }

  Liveness run() {
    const Bytes once_peak = simulate(d_.once, nullptr);
    result_.arena = std::max(once_peak, simulate(d_.body, &result_.at_step));
    add_up();
    return std::move(result_);
  }

 private:
  Place& place(BufferId id) { return d_.places[at(id)]; }
  bool in_arena(BufferId id) { return id >= 0 && place(id).space == Space::arena; }

  void find_sharing(std::vector<FlatDraft>& drafts) {
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      const FlatDraft& draft = drafts[i];
      for (std::int32_t t = draft.touch_begin; t < draft.touch_end; ++t)
        place(d_.touches[at(t)]).last = static_cast<std::int32_t>(i);
    }
    if (!s_.options.share_addresses) return;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      FlatDraft& draft = drafts[i];
      if (draft.node == kNone || s_.nodes[at(draft.node)].shared_alloc < 0) continue;
      const BufferId out = draft.first_alloc + s_.nodes[at(draft.node)].shared_alloc;
      if (!in_arena(out)) continue;
      for (const BufferId operand : d_.takers[at(out)]) {
        if (!in_arena(operand) || place(operand).last != static_cast<std::int32_t>(i)) continue;
        place(operand).taken = draft.shares = true;
        break;
      }
    }
  }

  Bytes aligned(BufferId id) { return align_up(place(id).size, s_.alignment); }

  // Peak of the arena over one time line; by position into `at_step`.
  Bytes simulate(std::vector<FlatDraft>& drafts, std::vector<Bytes>* at_step) {
    for (Place& each : d_.places) each.last = -1;
    find_sharing(drafts);
    Bytes live = 0, most = 0;
    std::size_t next_position = 0;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      const FlatDraft& draft = drafts[i];
      if (at_step != nullptr && draft.position >= 0)
        for (; next_position < at(draft.position); ++next_position)
          (*at_step)[next_position] = live;
      Bytes peak = live;
      if (draft.node != kNone) peak = run_events(draft, live);
      if (in_arena(draft.copy_to)) peak = live += aligned(draft.copy_to);
      most = std::max(most, peak);
      if (at_step != nullptr && draft.position >= 0) (*at_step)[next_position++] = peak;
      for (std::int32_t t = draft.touch_begin; t < draft.touch_end; ++t) {
        const BufferId id = d_.touches[at(t)];
        if (!in_arena(id) || place(id).last != static_cast<std::int32_t>(i) || place(id).taken)
          continue;
        live -= aligned(id);
        place(id).last = -1;  // touched twice, released once
      }
    }
    return most;
  }

  // Updates `live`; returns the most during the script.
  Bytes run_events(const FlatDraft& draft, Bytes& live) {
    const NodeShape& node = s_.nodes[at(draft.node)];
    Bytes most = live, open = 0;
    for (const NodeShape::Event& event : node.events) {
      const BufferId id = draft.first_alloc + event.id;
      if (!in_arena(id) || (draft.shares && event.id == node.shared_alloc)) continue;
      const bool temporary = place(id).temporary;
      if (event.is_alloc)
        live += aligned(id), open += temporary ? aligned(id) : 0;
      else if (temporary)
        live -= aligned(id), open -= aligned(id);
      most = std::max(most, live);
    }
    live -= open;  // what the step never frees ends with it
    return most;
  }

  void add_up() {
    for (const Place& each : d_.places) {
      if (each.space == Space::constant) result_.constants += align_up(each.size, s_.alignment);
      if (each.space == Space::weight) result_.weights += each.size;
      if (each.space == Space::input) result_.inputs += each.size;
      if (each.space == Space::output) result_.outputs += each.size;
    }
  }

  const LivenessModel::Shape& s_;
  FlatDrafts d_;
  Liveness result_;
};

}  // namespace

LivenessModel::LivenessModel(const Graph& graph, const WeightTable& weights, const Facts& facts,
                             CostProvider& costs, const LowerOptions& options) {
  auto shape =
      std::make_unique<Shape>(Shape{graph, weights, facts, options, costs.alignment(), {}, {}});
  describe_nodes(graph, facts, costs, shape->nodes, shape->values);
  shape_ = std::move(shape);
}

LivenessModel::~LivenessModel() = default;
LivenessModel::LivenessModel(LivenessModel&&) noexcept = default;

Liveness LivenessModel::run(const Schedule& schedule) const {
  const std::vector<NodeId> order = flat_order(schedule);
  return Walk(*shape_, draft_schedule(*shape_, schedule, order), order.size()).run();
}

}  // namespace lowwater
