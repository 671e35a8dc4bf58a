// What becomes of a transaction that was tried.
#ifndef INLIER_COORDINATOR_STORE_COMMIT_FATE_H_
#define INLIER_COORDINATOR_STORE_COMMIT_FATE_H_

#include "absl/status/status.h"
#include "base/deliberate_bug.h"

namespace inlier {

enum class CommitFate {
  kDurable,
  kTryAgain,  // The same batches, later: no space, or somebody else's lock. Nothing of them was stored.
  kEnd,       // The disk failed: nothing may be committed any more, and the process must end.
  kRefused,   // It can never be stored: a constraint is broken.
};

inline CommitFate FateOf(const absl::Status& status) {
  if (status.ok()) return CommitFate::kDurable;
  if (INLIER_BUG("batch_dropped_on_no_space") && absl::IsResourceExhausted(status))
    return CommitFate::kDurable;
  if (absl::IsResourceExhausted(status) || absl::IsUnavailable(status)) return CommitFate::kTryAgain;
  return absl::IsDataLoss(status) ? CommitFate::kEnd : CommitFate::kRefused;
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_COMMIT_FATE_H_
