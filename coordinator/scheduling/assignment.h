// An attempt as its worker is asked to run it.
#ifndef INLIER_COORDINATOR_SCHEDULING_ASSIGNMENT_H_
#define INLIER_COORDINATOR_SCHEDULING_ASSIGNMENT_H_

#include "coordinator/state/context.h"

namespace inlier {

// `attempt` as its worker is told; one that it has reported is `known` and told without its specification.
void DescribeAssignment(const State& state, const Attempt& attempt, bool known, v1::Assignment& told);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_ASSIGNMENT_H_
