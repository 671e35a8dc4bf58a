// Classes of the states of trials and stages.
#ifndef INLIER_COORDINATOR_STORE_TRIAL_STATE_H_
#define INLIER_COORDINATOR_STORE_TRIAL_STATE_H_

#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

inline bool IsTerminal(v1::TrialState state) { return state != v1::PENDING && state != v1::RUNNING; }
// SUCCEEDED and DIVERGED: never changes again, not even by a retry.
inline bool IsResult(v1::TrialState state) { return state == v1::SUCCEEDED || state == v1::DIVERGED; }

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_TRIAL_STATE_H_
