// The batches that wait for the committer, and which go into the next transaction.
//
// The rule of order (committer.h): control in order, bulk in order, control first, but never past bulk of its
// own stream. A stream is a token or a worker's incarnation; the keys of a batch are those it writes for.
// Bulk that a control batch must not overtake is found from the newest to the oldest with a growing set of
// keys, so that bulk keeps its own order.
//
// Thread safety: none; the committer's lock guards it.
#ifndef INLIER_COORDINATOR_STORE_COMMIT_QUEUE_H_
#define INLIER_COORDINATOR_STORE_COMMIT_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "coordinator/store/changes.h"

namespace inlier {

struct QueuedBatch {
  ChangeBatch batch;
  std::function<void(absl::Status)> done;
  Timestamp arrived;
  std::uint64_t number = 0;         // Grows with each Push.
  std::uint64_t bytes = 0;          // Estimate.
  std::vector<std::uint64_t> keys;  // Sorted.
};

class CommitQueue {
 public:
  void Push(ChangeBatch batch, std::function<void(absl::Status)> done, Timestamp now);

  // Takes batches for the next transaction, up to `rows_max` rows (a single one may be larger). Empty when
  // none waits.
  std::vector<QueuedBatch> Take(std::uint64_t rows_max);

  bool empty() const { return control_.empty() && bulk_.empty(); }
  bool has_control() const { return !control_.empty(); }
  // When the oldest bulk batch arrived.
  std::optional<Timestamp> oldest_bulk() const;
  std::uint64_t batches() const { return control_.size() + bulk_.size(); }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t bulk_bytes() const { return bulk_bytes_; }

 private:
  // Moves the bulk that `control` must not overtake to `taken`.
  void TakeBulkBefore(const QueuedBatch& control, std::vector<QueuedBatch>& taken);
  void Account(const QueuedBatch& batch, bool arrives);

  std::deque<QueuedBatch> control_;
  std::deque<QueuedBatch> bulk_;
  std::unordered_map<std::uint64_t, std::uint64_t> bulk_keys_;  // Key -> queued bulk batches that have it.
  std::uint64_t pushed_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bulk_bytes_ = 0;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_COMMIT_QUEUE_H_
