// The invariants of the state, computed again from its parts. Reads everything.
#ifndef INLIER_TESTS_COORDINATOR_INVARIANTS_H_
#define INLIER_TESTS_COORDINATOR_INVARIANTS_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/state/state.h"
#include "coordinator/store/snapshot.h"

namespace inlier {

// Ends the process if an invariant of docs/ARCHITECTURE.md, or a count or index of the state, is wrong.
void CheckInvariants(const State& state);

// The durable part of the state in a fixed form, one line an entity: equal to that of an orchestrator
// recovered from the store.
std::string DurableState(const State& state);

// Judges every stored pruning decision again, in order. Internal: names the first that comes out otherwise.
absl::Status ReplayPruning(const Snapshot& snapshot);

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_INVARIANTS_H_
