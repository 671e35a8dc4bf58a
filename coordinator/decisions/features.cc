#include "coordinator/attempts/retry_policy.h"
#include "coordinator/attempts/timers.h"
#include "coordinator/data/data_binding.h"
#include "coordinator/data/data_check.h"
#include "coordinator/imports/import_sweep.h"
#include "coordinator/protocol/events.h"
#include "coordinator/quarantine/quarantine.h"
#include "coordinator/removal/removal.h"
#include "coordinator/scheduling/job_ends.h"
#include "coordinator/scheduling/preemption.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/search/search.h"
#include "coordinator/state/feature.h"
#include "coordinator/sweeps/expand.h"
#include "coordinator/sweeps/settle.h"
#include "coordinator/usage/time_limits.h"
#include "coordinator/usage/usage.h"

namespace inlier {

// Features that end attempts come before those that give their slots away; expansion, which may be long, is last.
std::span<const Feature> Features() {
  static const Feature features[] = {
      LeaseEnds(),    SilentWorkers(), Stalls(),         TimeLimits(),     Yields(),
      UsageOfTime(),  SweepLimits(),   HolderWaitEnds(), Retries(),        Quarantine(),
      RaisedMemory(), JobEnds(),       LostModels(),     FreedStages(),    DataChecks(),
      LackingData(),  Preemption(),    SearchedSweeps(), ImportedSweeps(), Expansion(),
  };
  return features;
}

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
    if (feature.due != nullptr) next = Earlier(next, feature.due(state));
  }
  return next;
}

}  // namespace inlier
