// Why a trial or a sweep is in its state, as a tree from the question down to its causes.
#ifndef INLIER_COORDINATOR_STATUS_EXPLAIN_H_
#define INLIER_COORDINATOR_STATUS_EXPLAIN_H_

#include "coordinator/state/context.h"

namespace inlier {

// Why a trial, or the trials of a sweep, stand where they do, as far as the state in memory says; past
// attempts are in the store.
absl::StatusOr<v1::Explanation> Explain(const State& state, const v1::ExplainRequest& request, Moment now);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATUS_EXPLAIN_H_
