#include "coordinator/store/committer.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"
#include "coordinator/store/commit_queue.h"

namespace inlier {
namespace {

// Of an idle writer, between two looks at the files of the database.
constexpr Duration kLookPeriod = std::chrono::seconds(1);

std::vector<const ChangeBatch*> Batches(const std::vector<QueuedBatch>& group) {
  std::vector<const ChangeBatch*> batches;
  batches.reserve(group.size());
  for (const QueuedBatch& queued : group) batches.push_back(&queued.batch);
  return batches;
}

// What happened to the files that the database has open; OK: nothing.
absl::Status CheckInPlace(Database& database) {
  const std::string displaced = database.DisplacedFile();
  if (displaced.empty()) return absl::OkStatus();
  const absl::StatusOr<std::filesystem::path> rescued = database.Rescue();
  return absl::DataLossError(
      absl::StrCat(displaced, " was moved, removed or replaced while this coordinator works. ",
                   rescued.ok() ? absl::StrCat("All that was committed is in ", rescued->string())
                                : absl::StrCat("A copy of what was committed could not be made: ",
                                               std::string(rescued.status().message())),
                   "; stop every coordinator of the folder, the waiting one first, and restore then"));
}

}  // namespace

CommitOutcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return CommitOutcome::kDurable;
  if (INLIER_BUG("batch_dropped_on_no_space") && absl::IsResourceExhausted(status))
    return CommitOutcome::kDurable;
  if (IsRetriable(status)) return CommitOutcome::kRetry;
  return absl::IsDataLoss(status) ? CommitOutcome::kFatal : CommitOutcome::kRefused;
}

CommitterOptions CommitterOptions::FromConfig(const v1::CoordinatorConfig& config) {
  CommitterOptions options;
  options.commit_delay = std::chrono::milliseconds(config.commit_delay_ms());
  options.commit_rows_max = config.commit_rows_max();
  return options;
}

struct Committer::State {
  State(Store& store, CommitterOptions options, std::function<void(absl::Status)> fatal)
      : store_(store),
        options_(std::move(options)),
        fatal_(std::move(fatal)),
        wal_limit_(options_.wal_bytes_max) {
    health_.wal_bytes = store_.database().WalBytes();
  }

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
  void Fail(std::unique_lock<std::mutex>& lock, const absl::Status& status);
  void Finish(std::unique_lock<std::mutex>& lock, std::vector<QueuedBatch> group, const absl::Status& status);

  Store& store_;
  const CommitterOptions options_;
  const std::function<void(absl::Status)> fatal_;

  std::mutex mutex_;
  std::condition_variable work_;      // Something was queued, or stopping_.
  std::condition_variable finished_;  // finished_count_ grew.
  CommitQueue queue_;
  std::uint64_t submitted_ = 0;
  std::uint64_t settled_ = 0;
  bool stopping_ = false;
  bool ended_ = false;  // An I/O error: nothing may be committed any more.
  bool waits_ = false;  // Of the last call of on_wait.
  bool busy_ = false;   // A commit has just ended and work arrived meanwhile.
  bool dirty_ = false;  // Something was committed since the last idle checkpoint.
  CommitterHealth health_;
  std::uint64_t wal_limit_;  // WAL size at which to try a checkpoint next.
  std::thread thread_;
};

Committer::Committer(Store& store, CommitterOptions options, std::function<void(absl::Status)> fatal)
    : state_(std::make_unique<State>(store, std::move(options), std::move(fatal))) {
  state_->thread_ = std::thread([state = state_.get()] { state->Run(); });
}

Committer::~Committer() {
  {
    const std::lock_guard lock(state_->mutex_);
    state_->stopping_ = true;
  }
  state_->work_.notify_all();
  state_->thread_.join();
}

void Committer::Submit(ChangeBatch batch, Done done) {
  absl::Status refused;
  {
    const std::lock_guard lock(state_->mutex_);
    if (state_->ended_ || state_->stopping_) {
      refused = absl::UnavailableError("the coordinator is ending; nothing more is stored");
    } else if (batch.lane == Lane::kBulk &&
               state_->queue_.bulk_bytes() >= state_->options_.queued_bytes_max) {
      refused = absl::ResourceExhaustedError(
          "measurements and logs arrive faster than they can be stored; send them again later");
    } else {
      state_->queue_.Push(std::move(batch), std::move(done), MonotonicNow());
      ++state_->submitted_;
      state_->work_.notify_one();
    }
  }
  if (!refused.ok() && done) done(refused);
}

bool Committer::SubmitAndWait(ChangeBatch batch, const std::function<bool()>& must_stop) {
  const auto committed = std::make_shared<std::promise<bool>>();  // It may be made when the wait is over.
  std::future<bool> answer = committed->get_future();
  Submit(std::move(batch), [committed](const absl::Status& status) { committed->set_value(status.ok()); });
  while (answer.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (must_stop()) return false;
  }
  return answer.get();
}

void Committer::Flush() {
  std::unique_lock lock(state_->mutex_);
  const std::uint64_t until = state_->submitted_;
  state_->finished_.wait(lock, [&] { return state_->settled_ >= until; });
}

CommitterHealth Committer::Health() const {
  const std::lock_guard lock(state_->mutex_);
  CommitterHealth health = state_->health_;
  health.queued_batches += state_->queue_.batches();
  health.queued_rows += state_->queue_.rows();
  health.queued_bytes += state_->queue_.bytes();
  health.accepts_bulk = state_->queue_.bulk_bytes() < state_->options_.queued_bytes_max;
  return health;
}

void Committer::State::Run() {
  std::unique_lock lock(mutex_);
  while (WaitForWork(lock)) {
    Commit(lock, queue_.Take(options_.commit_rows_max));
    busy_ = !queue_.empty();
    if (!ended_) CheckpointIfLarge(lock);
  }
  while (!queue_.empty()) {
    Finish(lock, queue_.Take(options_.commit_rows_max),
           absl::UnavailableError("the coordinator ended before this could be stored"));
  }
}

// True: there is something to commit. False: an I/O error, or stopped and nothing is left.
bool Committer::State::WaitForWork(std::unique_lock<std::mutex>& lock) {
  while (!ended_ && queue_.empty()) {
    busy_ = false;
    if (stopping_) return false;
    const auto ready = [this] { return stopping_ || !queue_.empty(); };
    if (work_.wait_for(lock, dirty_ ? options_.idle_checkpoint : kLookPeriod, ready)) continue;
    if (std::exchange(dirty_, false)) CheckpointWal(lock);
    if (!ended_) CheckPlace(lock);
  }
  if (ended_) return false;
  // Bulk that came while the writer was busy waits for company; control never does.
  while (busy_ && !stopping_ && !queue_.has_control() && queue_.rows() < options_.commit_rows_max) {
    const Duration age = MonotonicNow() - *queue_.oldest_bulk();
    if (age >= options_.commit_delay) break;
    work_.wait_for(lock, options_.commit_delay - age);
  }
  return true;
}

void Committer::State::Commit(std::unique_lock<std::mutex>& lock, std::vector<QueuedBatch> group) {
  const absl::Status status = ended_ ? health_.status : ApplyUntilSettled(lock, group);
  if (OutcomeOf(status) == CommitOutcome::kFatal && !ended_) Fail(lock, status);
  if (status.ok() || group.size() == 1 || ended_ || OutcomeOf(status) == CommitOutcome::kRetry)
    return Finish(lock, std::move(group), status);
  // One of them broke a constraint: the others must not suffer for it.
  for (QueuedBatch& queued : group) {
    std::vector<QueuedBatch> one;
    one.push_back(std::move(queued));
    Commit(lock, std::move(one));
  }
}

void Committer::State::Fail(std::unique_lock<std::mutex>& lock, const absl::Status& status) {
  ended_ = true;
  health_.status = status;
  lock.unlock();
  spdlog::critical("database_failed reason=\"{}\"", std::string(status.message()));
  if (fatal_) fatal_(status);
  lock.lock();
}

absl::Status Committer::State::ApplyOnce(std::unique_lock<std::mutex>& lock,
                                         std::span<const ChangeBatch* const> batches) {
  lock.unlock();
  const Timestamp start = MonotonicNow();
  absl::Status in_place = CheckInPlace(store_.database());
  absl::StatusOr<ApplyStats> stats = in_place.ok() ? store_.Apply(batches) : in_place;
  // Not acknowledged where the log that has it may be lost.
  if (stats.ok()) in_place = CheckInPlace(store_.database());
  if (!in_place.ok()) stats = in_place;
  const Timestamp end = MonotonicNow();
  if (stats.ok() && options_.on_commit)
    options_.on_commit({batches.size(), stats->rows, stats->fenced, end - start});
  lock.lock();
  if (!stats.ok()) return stats.status();
  health_.status = absl::OkStatus();
  ++health_.commits;
  health_.committed_rows += stats->rows;
  health_.fenced_rows += stats->fenced;
  health_.wal_bytes = store_.database().WalBytes();
  dirty_ = true;
  return absl::OkStatus();
}

// Tries again while it may help; gives up only when stopping.
absl::Status Committer::State::ApplyUntilSettled(std::unique_lock<std::mutex>& lock,
                                                 const std::vector<QueuedBatch>& group) {
  const std::vector<const ChangeBatch*> batches = Batches(group);
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  for (const QueuedBatch& queued : group) {
    rows += queued.batch.rows();
    bytes += queued.bytes;
  }
  health_.queued_batches = group.size();
  health_.queued_rows = rows;
  health_.queued_bytes = bytes;
  absl::Status status;
  for (int tries = 1;; ++tries) {
    status = ApplyOnce(lock, batches);
    if (status.ok() && tries > 1) spdlog::info("commits_again tries={}", tries);
    const bool waits = OutcomeOf(status) == CommitOutcome::kRetry;
    if (waits) health_.status = status;
    if (waits || status.ok()) TellWaits(lock, status);
    if (!waits || stopping_) break;
    work_.wait_for(lock, options_.full_backoff.Wait(tries, 0.5), [this] { return stopping_; });
  }
  health_.queued_batches = health_.queued_rows = health_.queued_bytes = 0;
  return status;
}

void Committer::State::TellWaits(std::unique_lock<std::mutex>& lock, const absl::Status& status) {
  if (std::exchange(waits_, !status.ok()) == waits_) return;
  if (waits_) spdlog::error("commit_waits reason=\"{}\"", std::string(status.message()));
  if (!options_.on_wait) return;
  lock.unlock();
  options_.on_wait(status);
  lock.lock();
}

void Committer::State::Finish(std::unique_lock<std::mutex>& lock, std::vector<QueuedBatch> group,
                              const absl::Status& status) {
  lock.unlock();
  Failpoint("commit.acknowledge");
  for (QueuedBatch& queued : group) {
    if (queued.done) queued.done(status);
  }
  const std::size_t count = group.size();
  group.clear();
  lock.lock();
  settled_ += count;
  finished_.notify_all();
}

void Committer::State::CheckpointIfLarge(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t size = health_.wal_bytes = store_.database().WalBytes();
  if (size < options_.wal_bytes_max) wal_limit_ = options_.wal_bytes_max;
  if (size < wal_limit_) return;
  CheckpointWal(lock);
  // A reader may hold it back: not again before it has grown by another quarter.
  wal_limit_ =
      health_.wal_bytes == 0 ? options_.wal_bytes_max : health_.wal_bytes + options_.wal_bytes_max / 4;
}

// While nothing is to be committed, too: it is noticed before anybody makes changes that would be lost.
void Committer::State::CheckPlace(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const absl::Status status = CheckInPlace(store_.database());
  lock.lock();
  if (!status.ok()) Fail(lock, status);
}

// A checkpoint that finds no space loses nothing and is tried again later. One whose fsync failed must never
// be repeated: the system may have dropped the pages, and a second, successful one would then give up the WAL
// that still has them.
void Committer::State::CheckpointWal(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const absl::Status status = store_.database().CheckpointWal(/*truncate=*/false);
  const std::uint64_t left = store_.database().WalBytes();
  if (!status.ok() && !absl::IsDataLoss(status))
    spdlog::warn("checkpoint_failed reason=\"{}\"", std::string(status.message()));
  lock.lock();
  health_.wal_bytes = left;
  if (absl::IsDataLoss(status)) Fail(lock, status);
}

}  // namespace inlier
