#include "coordinator/decisions/tick.h"

#include "coordinator/state/feature.h"

namespace inlier {

void Tick(Context& context) {
  for (const Feature& feature : Features()) {
    if (feature.due == nullptr) continue;
    const std::optional<Timestamp> due = feature.due(context.state);
    if (due && *due <= context.now.at) feature.act(context);
  }
}

std::optional<Timestamp> NextDeadline(const State& state) {
  std::optional<Timestamp> next;
  for (const Feature& feature : Features()) {
    if (feature.due == nullptr) continue;
    const std::optional<Timestamp> due = feature.due(state);
    if (due && (!next || *due < *next)) next = due;
  }
  return next;
}

}  // namespace inlier
