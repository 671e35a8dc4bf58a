// Group commit: turns many submitted batches into few transactions, all made by the writer's thread.
//
// (1) Result. `done` is called after COMMIT has returned (the batch survives any crash), or with an error when
//     the batch can never be applied. A batch is applied exactly once.
// (2) Timing. An idle writer commits at once. Control batches that arrive during a commit go into the next one,
//     right after it; bulk alone waits until its oldest batch is commit_delay old or commit_rows_max rows are
//     queued. A transaction takes at most commit_rows_max rows, or one batch; of bulk alone, about 1,024 rows.
// (3) Order. Control batches keep their order, bulk batches keep theirs. A control batch overtakes queued bulk
//     batches, except those of its own stream: bulk that shares a token or a worker's incarnation with it
//     (directly or through other queued bulk) goes first. So no event of an attempt is reordered, and no
//     acknowledgement is stored before the events that it acknowledges.
// (4) No space. The transaction is rolled back, its batches stay first in the queue and are retried with
//     back-off until space returns; nothing is acknowledged meanwhile. Health() reports it. Control is always
//     queued (its effects are already in memory): the owner refuses new changes by users while
//     !Health().status.ok(). Bulk above queued_bytes_max is refused.
// (5) I/O error, of a commit or a checkpoint. `fatal` is called once and nothing more is committed; queued
//     batches get an error. The process must end.
// (6) Emptied stages. Their rows are deleted a part after each commit, and while it is idle.
// (7) Checkpoints. The writer makes them between commits when the WAL is large, and when it is idle.
//
// Thread safety: all methods may be called from any thread. Callbacks run on the writer's thread (a refused
// batch's: on the caller's) and must only hand over; they must not call Submit and wait.
#ifndef INLIER_COORDINATOR_STORE_COMMITTER_H_
#define INLIER_COORDINATOR_STORE_COMMITTER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "base/time.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/commit_queue.h"
#include "coordinator/store/store.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

// How a transaction ended, by its status (SqliteStatus in database.h).
enum class CommitOutcome {
  kDurable,
  kRetry,    // No space, or another process holds a lock: nothing was stored, and a later try may succeed.
  kFatal,    // The disk failed: nothing may be committed any more, and the process must end.
  kRefused,  // A constraint is broken: it can never be stored.
};

CommitOutcome OutcomeOf(const absl::Status& status);

// One transaction, for metrics.
struct CommitStats {
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;
  std::uint64_t fenced = 0;
  Duration duration{0};  // BEGIN to COMMIT, with its fsync.
};

struct CommitterOptions {
  Duration commit_delay = std::chrono::milliseconds(2);
  std::uint64_t commit_rows_max = 4096;
  std::uint64_t queued_bytes_max = std::uint64_t{256} << 20;  // Limit of the bulk lane.
  std::uint64_t wal_bytes_max = std::uint64_t{32} << 20;  // Above it the writer checkpoints between commits.
  Duration idle_checkpoint = std::chrono::seconds(2);     // Idle for so long, the writer checkpoints.
  Backoff full_backoff;
  std::function<void(const CommitStats&)> on_commit;
  // Gets, between two tries, why nothing can be committed; OK when it can again.
  std::function<void(const absl::Status&)> on_wait;

  static CommitterOptions FromConfig(const v1::CoordinatorConfig& config);
};

struct CommitterHealth {
  absl::Status status;  // OK; ResourceExhausted while there is no space; DataLoss after `fatal`.
  std::uint64_t queued_batches = 0;
  std::uint64_t queued_rows = 0;
  std::uint64_t queued_bytes = 0;  // Estimate.
  std::uint64_t commits = 0;
  std::uint64_t committed_rows = 0;
  std::uint64_t fenced_rows = 0;
  std::uint64_t wal_bytes = 0;
  bool accepts_bulk = true;
};

class Committer {
 public:
  using Done = std::function<void(absl::Status)>;

  // `store` outlives the committer. `fatal` gets the reason.
  Committer(Store& store, CommitterOptions options, std::function<void(absl::Status)> fatal);
  // Commits the queued batches; those that cannot be committed (no space, an I/O error) get an error.
  ~Committer();

  // Queues `batch`; `done` may be empty. Bulk above the limit gets ResourceExhausted at once, a batch after
  // the end Unavailable.
  void Submit(ChangeBatch batch, Done done);

  // As Submit, and waits. False: it was refused, or `must_stop` became true before it was committed.
  bool SubmitAndWait(ChangeBatch batch, const std::function<bool()>& must_stop);

  // Waits until everything submitted before has been committed or refused. For tests and shutdown.
  void Flush();

  CommitterHealth Health() const;

 private:
  void Run();
  // All below with `lock` held at entry and exit, released while the disk works.
  bool WaitForWork(std::unique_lock<std::mutex>& lock);
  void Commit(std::unique_lock<std::mutex>& lock, std::vector<QueuedBatch> group);
  absl::Status ApplyOnce(std::unique_lock<std::mutex>& lock, std::span<const ChangeBatch* const> batches);
  absl::Status ApplyUntilSettled(std::unique_lock<std::mutex>& lock, const std::vector<QueuedBatch>& group);
  void TellWaits(std::unique_lock<std::mutex>& lock, const absl::Status& status);
  void CheckpointIfLarge(std::unique_lock<std::mutex>& lock);
  void CheckpointWal(std::unique_lock<std::mutex>& lock);
  void CheckPlace(std::unique_lock<std::mutex>& lock);
  // Deletes a part of what emptied stages have left; false when there is none, or it failed.
  bool Thin(std::unique_lock<std::mutex>& lock);
  void Fail(std::unique_lock<std::mutex>& lock, const absl::Status& status);
  void Finish(std::unique_lock<std::mutex>& lock, std::vector<QueuedBatch> group, const absl::Status& status);

  Store& store_;
  const CommitterOptions options_;
  const std::function<void(absl::Status)> fatal_;

  mutable std::mutex mutex_;
  std::condition_variable work_;      // Something was queued, or stopping_.
  std::condition_variable finished_;  // settled_ grew.
  CommitQueue queue_;
  std::uint64_t submitted_ = 0;
  std::uint64_t settled_ = 0;
  bool stopping_ = false;
  bool ended_ = false;  // After an I/O error nothing may be committed any more.
  bool waits_ = false;  // The last call of on_wait had an error.
  bool busy_ = false;   // A commit has just ended and work arrived meanwhile.
  bool dirty_ = false;  // Something was committed since the last idle checkpoint.
  CommitterHealth health_;
  std::uint64_t wal_limit_;  // WAL size at which to try a checkpoint next.
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_COMMITTER_H_
