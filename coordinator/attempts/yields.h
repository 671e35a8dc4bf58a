// Attempts that were asked to write a checkpoint and stop.
#ifndef INLIER_COORDINATOR_ATTEMPTS_YIELDS_H_
#define INLIER_COORDINATOR_ATTEMPTS_YIELDS_H_

#include "coordinator/state/context.h"

namespace inlier {

// The attempt has stopped for other work: its stage waits again, and no failure is counted.
void Preempted(Context& context, const Attempt& attempt, std::string message);

// Ends yielding attempts of the worker that its sync no longer lists.
void EndForgottenYields(Context& context, const WorkerEntry& worker, const v1::WorkerSync& sync);

// Ends yielding attempts that are past their yields_until.
void EndOverdueYields(Context& context);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_YIELDS_H_
