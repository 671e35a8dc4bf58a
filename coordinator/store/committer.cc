#include "coordinator/store/committer.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"

namespace inlier {
namespace {

// An idle writer checks the files of the database so often.
constexpr Duration kCheckPeriod = std::chrono::seconds(1);

// DataLoss if a file that the database has open was displaced.
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

Committer::Committer(Store& store, CommitterOptions options, std::function<void(absl::Status)> fatal)
    : store_(store),
      options_(std::move(options)),
      fatal_(std::move(fatal)),
      wal_limit_(options_.wal_bytes_max) {
  health_.wal_bytes = store_.database().WalBytes();
  thread_ = std::thread([this] { Run(); });
}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  thread_.join();
}

void Committer::Submit(ChangeBatch batch, Done done) {
  absl::Status refused;
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || stopping_) {
      refused = absl::UnavailableError("the coordinator is ending; nothing more is stored");
    } else if (batch.lane == Lane::kBulk && queue_.bulk_bytes() >= options_.queued_bytes_max) {
      refused = absl::ResourceExhaustedError(
          "measurements and logs arrive faster than they can be stored; send them again later");
    } else {
      queue_.Push(std::move(batch), std::move(done), MonotonicNow());
      ++submitted_;
      work_.notify_one();
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
  std::unique_lock lock(mutex_);
  const std::uint64_t until = submitted_;
  finished_.wait(lock, [&] { return settled_ >= until; });
}

CommitterHealth Committer::Health() const {
  const std::lock_guard lock(mutex_);
  CommitterHealth health = health_;
  health.queued_batches += queue_.batches();
  health.queued_rows += queue_.rows();
  health.queued_bytes += queue_.bytes();
  health.accepts_bulk = queue_.bulk_bytes() < options_.queued_bytes_max;
  return health;
}

void Committer::Run() {
  std::unique_lock lock(mutex_);
  while (WaitForWork(lock)) {
    Commit(lock, queue_.Take(options_.commit_rows_max));
    busy_ = !queue_.empty();
    if (!ended_) Thin(lock);
    if (!ended_) CheckpointIfLarge(lock);
  }
  while (!queue_.empty()) {
    Finish(lock, queue_.Take(options_.commit_rows_max),
           absl::UnavailableError("the coordinator ended before this could be stored"));
  }
}

// Returns false after an I/O error, or when it is stopped and nothing is left.
bool Committer::WaitForWork(std::unique_lock<std::mutex>& lock) {
  while (!ended_ && queue_.empty()) {
    busy_ = false;
    if (stopping_) return false;
    if (Thin(lock)) continue;
    if (ended_) return false;
    const auto ready = [this] { return stopping_ || !queue_.empty(); };
    if (work_.wait_for(lock, dirty_ ? options_.idle_checkpoint : kCheckPeriod, ready)) continue;
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

void Committer::Commit(std::unique_lock<std::mutex>& lock, std::vector<QueuedBatch> group) {
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

bool Committer::Thin(std::unique_lock<std::mutex>& lock) {
  if (!store_.HasLeftovers()) return false;
  lock.unlock();
  const absl::Status status = store_.Thin();
  lock.lock();
  dirty_ = true;
  if (OutcomeOf(status) == CommitOutcome::kFatal) Fail(lock, status);
  return status.ok();
}

void Committer::Fail(std::unique_lock<std::mutex>& lock, const absl::Status& status) {
  ended_ = true;
  health_.status = status;
  lock.unlock();
  spdlog::critical("database_failed reason=\"{}\"", std::string(status.message()));
  if (fatal_) fatal_(status);
  lock.lock();
}

absl::Status Committer::ApplyOnce(std::unique_lock<std::mutex>& lock,
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

// Tries again while a retry may help and it is not stopping.
absl::Status Committer::ApplyUntilSettled(std::unique_lock<std::mutex>& lock,
                                          const std::vector<QueuedBatch>& group) {
  std::vector<const ChangeBatch*> batches;
  batches.reserve(group.size());
  health_.queued_batches = group.size();
  for (const QueuedBatch& queued : group) {
    batches.push_back(&queued.batch);
    health_.queued_rows += queued.batch.rows();
    health_.queued_bytes += queued.bytes;
  }
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

void Committer::TellWaits(std::unique_lock<std::mutex>& lock, const absl::Status& status) {
  if (std::exchange(waits_, !status.ok()) == waits_) return;
  if (waits_) spdlog::error("commit_waits reason=\"{}\"", std::string(status.message()));
  if (!options_.on_wait) return;
  lock.unlock();
  options_.on_wait(status);
  lock.lock();
}

void Committer::Finish(std::unique_lock<std::mutex>& lock, std::vector<QueuedBatch> group,
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

void Committer::CheckpointIfLarge(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t size = health_.wal_bytes = store_.database().WalBytes();
  if (size < options_.wal_bytes_max) wal_limit_ = options_.wal_bytes_max;
  if (size < wal_limit_) return;
  CheckpointWal(lock);
  // A reader may hold it back: not again before it has grown by another quarter.
  wal_limit_ =
      health_.wal_bytes == 0 ? options_.wal_bytes_max : health_.wal_bytes + options_.wal_bytes_max / 4;
}

// Also runs while nothing is to be committed, so that a displaced file is noticed before changes would be
// lost.
void Committer::CheckPlace(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const absl::Status status = CheckInPlace(store_.database());
  lock.lock();
  if (!status.ok()) Fail(lock, status);
}

// A checkpoint that finds no space loses nothing and is tried again later. One whose fsync failed must never
// be repeated: the system may have dropped the pages, and a second, successful one would discard the WAL that
// still has them.
void Committer::CheckpointWal(std::unique_lock<std::mutex>& lock) {
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
