// How a transaction ended, by its status (SqliteStatus in database.h).
#ifndef INLIER_COORDINATOR_STORE_COMMIT_OUTCOME_H_
#define INLIER_COORDINATOR_STORE_COMMIT_OUTCOME_H_

#include "absl/status/status.h"
#include "base/deliberate_bug.h"
#include "base/status.h"

namespace inlier {

enum class CommitOutcome {
  kDurable,
  kRetry,    // The same batches, later: no space, or another process holds a lock. Nothing was stored.
  kFatal,    // The disk failed: nothing may be committed any more, and the process must end.
  kRefused,  // It can never be stored: a constraint is broken.
};

inline CommitOutcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return CommitOutcome::kDurable;
  if (INLIER_BUG("batch_dropped_on_no_space") && absl::IsResourceExhausted(status))
    return CommitOutcome::kDurable;
  if (IsRetriable(status)) return CommitOutcome::kRetry;
  return absl::IsDataLoss(status) ? CommitOutcome::kFatal : CommitOutcome::kRefused;
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_COMMIT_OUTCOME_H_
