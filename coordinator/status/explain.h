// Why a trial or a sweep is in its state, as a tree from the state down to its causes.
#ifndef INLIER_COORDINATOR_STATUS_EXPLAIN_H_
#define INLIER_COORDINATOR_STATUS_EXPLAIN_H_

#include "coordinator/state/context.h"

namespace inlier {

// Explains a trial, or a sweep's trials, from the state in memory; past attempts are in the store.
absl::StatusOr<v1::Explanation> Explain(const State& state, const v1::ExplainRequest& request, Moment now,
                                        const std::string& caller = "");

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATUS_EXPLAIN_H_
