// A stage that ran out of memory is retried with half as much again as it had, up to the largest registered worker.
#ifndef INLIER_COORDINATOR_ATTEMPTS_MEMORY_RETRY_H_
#define INLIER_COORDINATOR_ATTEMPTS_MEMORY_RETRY_H_

#include "coordinator/state/context.h"

namespace inlier {

// Raises what the stage asks for. Not empty: it cannot be raised, and why it is not tried again.
std::string RaiseMemory(Context& context, const Stage& stage, const Attempt& attempt);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_MEMORY_RETRY_H_
