// Attempts that were asked to write a checkpoint and stop.
#ifndef INLIER_COORDINATOR_ATTEMPTS_YIELDS_H_
#define INLIER_COORDINATOR_ATTEMPTS_YIELDS_H_

#include "coordinator/state/context.h"

namespace inlier {

// It has stopped for something else: its stage waits again, and nothing is counted against it.
void Preempted(Context& context, const Attempt& attempt, std::string message);

// Yielding attempts of which the worker knows nothing have nothing to tell any more.
void EndForgottenYields(Context& context, const WorkerEntry& worker, const v1::WorkerSync& sync);

void EndOverdueYields(Context& context);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_YIELDS_H_
