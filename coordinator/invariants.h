// What must hold, derived again from the state. Reads everything; for tests and simulation.
#ifndef INLIER_COORDINATOR_INVARIANTS_H_
#define INLIER_COORDINATOR_INVARIANTS_H_

#include "coordinator/state/context.h"

namespace inlier {

// Re-derives what must hold and ends the process where it does not. For tests and simulation: reads
// everything.
void CheckInvariants(const State& state);

// The durable part of the state in a fixed form, one line an entity: equal to that of an orchestrator
// recovered from the store.
std::string DurableState(const State& state);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_INVARIANTS_H_
