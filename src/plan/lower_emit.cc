// Releases and ticks.
//
//   step                        ticks      a      b      workspace
//   copy      input -> a        0          [0
//   launch    a -> b            1,2,3      |      [1     [2,3)
//   release   a                 4          0,4)   |
//   release   b                 5                 1,5)
//
// Every script event, copy and release takes one tick. A temporary that its
// step never frees lives until the step's end.
#include <utility>

#include "plan/lower_internal.h"

namespace lowwater {
namespace {

class Emitter {
 public:
  Emitter(Lowering& lowering, std::size_t drafts) : l_(lowering) { steps_.reserve(drafts * 2); }

  void add(Step step) {
    if (const auto* launch = std::get_if<Launch>(&step)) run_script(*launch);
    if (const auto* copy = std::get_if<Copy>(&step)) {
      begin(l_.slot(copy->to).buffer);
      ++now_;
    }
    steps_.push_back(std::move(step));
  }

  void release(BufferId id) {
    l_.buffer(id).end = now_++;
    steps_.push_back(Release{id});
  }

  // Results live on; everything else has been released.
  std::vector<Step> finish() {
    for (const BufferId id : results_) l_.buffer(id).end = now_;
    return std::move(steps_);
  }

 private:
  void begin(BufferId id) {
    Buffer& buffer = l_.buffer(id);
    if (buffer.space != Space::arena && buffer.space != Space::output) return;  // always lives
    buffer.begin = now_;
    if (buffer.space == Space::output) results_.push_back(id);
    if (buffer.shares != kNone)
      l_.buffer(buffer.shares).end = now_;  // from here on it is this buffer
  }

  void run_script(const Launch& launch) {
    std::vector<BufferId> open;  // temporaries not freed yet
    for (const ScriptEvent& event : launch.script) {
      const bool temporary = l_.buffer(event.buffer).kind == BufferKind::temporary;
      if (event.is_alloc) {
        begin(event.buffer);
        if (temporary) open.push_back(event.buffer);
      } else {
        l_.buffer(event.buffer).end = now_;
        std::erase(open, event.buffer);
      }
      ++now_;
    }
    for (const BufferId id : open) l_.buffer(id).end = now_;
  }

  Lowering& l_;
  std::vector<Step> steps_;
  std::vector<BufferId> results_;
  Tick now_ = 0;
};

}  // namespace

std::vector<Step> emit(Lowering& l, std::vector<Draft> drafts) {
  const std::vector<std::int32_t> last = last_touches(drafts, l.program.buffers.size());
  Emitter emitter(l, drafts.size());
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    std::vector<BufferId> touches = std::move(drafts[i].touches);
    emitter.add(std::move(drafts[i].step));
    for (const BufferId id : touches) {
      const Buffer& buffer = l.buffer(id);
      const bool dies = buffer.space == Space::arena &&
                        last[static_cast<std::size_t>(id)] == static_cast<std::int32_t>(i);
      // Whose address was taken is released with its last successor.
      if (dies && l.shared_by[static_cast<std::size_t>(id)] == kNone) emitter.release(id);
    }
  }
  return emitter.finish();
}

}  // namespace lowwater
