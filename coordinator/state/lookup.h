// Finding what a person names. NotFound suggests names that are close.
#ifndef INLIER_COORDINATOR_STATE_LOOKUP_H_
#define INLIER_COORDINATOR_STATE_LOOKUP_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/state/state.h"

namespace inlier {

// What people see. NotFound names what comes close.
absl::StatusOr<SweepId> FindSweep(const State& state, const std::string& id_or_name);

absl::StatusOr<TrialId> FindTrial(const State& state, const std::string& id);

absl::StatusOr<std::string> FindWorker(const State& state, const std::string& name);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_LOOKUP_H_
