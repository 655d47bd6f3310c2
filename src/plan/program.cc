#include "plan/program.h"

namespace lowwater {

void for_each_step(const std::vector<Step>& steps, const std::function<void(const Step&)>& visit) {
  for (const Step& step : steps) {
    visit(step);
    const auto* loops = std::get_if<std::vector<LoopStep>>(&step);
    if (loops == nullptr) continue;
    for (const LoopStep& loop : *loops) {
      for (const std::vector<Step>& body : loop.bodies) for_each_step(body, visit);
    }
  }
}

}  // namespace lowwater
