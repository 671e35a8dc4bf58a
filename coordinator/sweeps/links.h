// How a trial depends on its stages.
#ifndef INLIER_COORDINATOR_SWEEPS_LINKS_H_
#define INLIER_COORDINATOR_SWEEPS_LINKS_H_

#include "coordinator/state/context.h"

namespace inlier {

// Where a trial stands, from its stages; reopens failed ones where `reopen` says so.
v1::TrialState Link(Context& context, Trial& trial, bool reopen_train, bool reopen_evaluate,
                    std::string& message);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_LINKS_H_
