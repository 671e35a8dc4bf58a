// Lookup of sweeps, trials and workers by the ids and names that users give.
#ifndef INLIER_COORDINATOR_STATE_LOOKUP_H_
#define INLIER_COORDINATOR_STATE_LOOKUP_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/state/state.h"

namespace inlier {

// Finds by id, or the latest of this name, first of those of `caller`. NotFound suggests the closest names, here and below; of
// what was removed it names the remedy.
absl::StatusOr<SweepId> FindSweep(const State& state, const std::string& id_or_name,
                                  const std::string& caller);

// As FindSweep; also one that was removed, by its id.
std::optional<SweepId> FindAnySweep(const State& state, const std::string& id_or_name,
                                    const std::string& caller);

// A note for a caller who names a sweep by name: which sweep it is, and that other users have sweeps of this name. Empty
// where the name is only the caller's. `may_own`: the caller may have sweeps at all.
std::string NoteOnName(const State& state, const std::string& id_or_name, const std::string& caller,
                       bool may_own);

absl::StatusOr<TrialId> FindTrial(const State& state, const std::string& id);
// Of those that were removed first.
absl::StatusOr<SweepId> FindRemovedSweep(const State& state, const std::string& id_or_name,
                                         const std::string& caller);

absl::StatusOr<std::string> FindWorker(const State& state, const std::string& name);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_LOOKUP_H_
