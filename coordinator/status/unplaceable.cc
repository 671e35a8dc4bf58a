#include "coordinator/status/unplaceable.h"

#include <algorithm>

#include "coordinator/scheduling/gather.h"

namespace inlier {

std::map<SweepId, TrialId> UnplaceableSweeps(const State& state) {
  std::map<ResourceRequest, bool> known;  // Sweeps need a few different things.
  const auto can_run = [&](const ResourceRequest& request) {
    const auto [at, is_new] = known.try_emplace(request);
    const auto& workers = state.workers.all();
    if (is_new)
      at->second = std::any_of(workers.begin(), workers.end(),
                               [&](const auto& entry) { return CouldRun(entry.second, request); });
    return at->second;
  };
  std::map<SweepId, TrialId> found;
  for (const SweepId id : state.active) {
    const Sweep& sweep = state.sweeps.at(id);
    if (sweep.paused) continue;
    if (sweep.bound.waits_for && !can_run(sweep.request)) found[id] = TrialId();
    for (const auto& [request, count] : state.ready.ReadyRequests(id)) {
      if (can_run(request)) continue;
      const Stage& first = state.stages.at(state.ready.ReadyWith(id, request).front());
      found[id] = first.FirstDependentOf(id).value_or(TrialId());
      break;
    }
  }
  return found;
}

}  // namespace inlier
