// Lookup of sweeps, trials and workers by the ids and names that people use.
#ifndef INLIER_COORDINATOR_STATE_LOOKUP_H_
#define INLIER_COORDINATOR_STATE_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/state/state.h"

namespace inlier {

// NotFound suggests the closest names, here and below.
absl::StatusOr<SweepId> FindSweep(const State& state, const std::string& id_or_name);

absl::StatusOr<TrialId> FindTrial(const State& state, const std::string& id);

absl::StatusOr<std::string> FindWorker(const State& state, const std::string& name);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_LOOKUP_H_
