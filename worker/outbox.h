// The events of attempts that the coordinator has not committed yet: numbered, bounded, and on disk where it
// matters.
//
// (1) Results (final measurements, checkpoints, outcomes) and started events are never dropped; they are on
//     disk before any reader gets them. They survive this process: the next worker takes them over under its
//     own numbers. Each carries its token, so the coordinator takes only events of live attempts.
// (2) Points of curves and log lines are thinned when there are more than the limit: every second one is
//     dropped, and the count is reported.
// (3) Numbers rise by one for each event and are never used twice; after thinning some are missing.
// (4) An event stays until the coordinator has acknowledged its number.
//
// Files: <state_dir>/outbox/<incarnation>/{lock,journal}. The lock is held while the process lives (also by
// workers on other machines that share the folder); a worker that gets the lock of another incarnation owns
// its journal. The journal's records carry a checksum: a torn tail is ignored.
//
// Thread safety: Append, Compact and Remove on one thread (they wait for the disk); everything else on any
// thread, without waiting for the disk.
#ifndef INLIER_WORKER_OUTBOX_H_
#define INLIER_WORKER_OUTBOX_H_

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/descriptor.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

// True for an event that must never be dropped.
bool MustKeep(const v1::TrialEvent& event);

class Outbox {
 public:
  // Makes the outbox of `incarnation` and takes over those of dead incarnations below `state_dir`.
  static absl::StatusOr<std::unique_ptr<Outbox>> Open(const std::filesystem::path& state_dir,
                                                      const std::string& incarnation, std::size_t events_max);

  // An event before it has a number.
  struct Entry {
    std::uint64_t token = 0;
    std::string stage_id;
    v1::TrialEvent event;
    std::string database_id{};  // Empty: that of SetDatabase.
  };

  // The database of the coordinator that leases the attempts whose events are appended from now on. False: it was another
  // one before, which it stays. On the thread of Append.
  bool SetDatabase(const std::string& id) {
    if (database_id_.empty()) database_id_ = id;
    return database_id_ == id;
  }

  // Numbers `entries` in their order; one sync of the disk when there are results among them. Events are kept
  // and sent even when the disk refuses them; the error is then why they would not survive this process.
  // `last_sequence` gets the number of the last.
  absl::Status Append(std::vector<Entry> entries, std::uint64_t* last_sequence = nullptr);

  // The oldest events with a number above `after`: at most `count_max`, and at most `bytes_max` unless the
  // first alone is larger.
  std::vector<v1::NumberedEvent> Pending(std::uint64_t after, std::size_t count_max,
                                         std::size_t bytes_max) const;

  // All events up to `sequence` are committed.
  void Acknowledge(std::uint64_t sequence);

  // Gives disk space back: empties the journal when nothing is pending, rewrites it when most of it has been
  // acknowledged or thinned. Append does so when it thins.
  absl::Status Compact();

  // Removes the files of an outbox with nothing pending; FailedPrecondition otherwise.
  absl::Status Remove();

  std::size_t size() const {
    return Locked([this] { return pending_.size(); });
  }
  std::uint64_t thinned() const {
    return Locked([this] { return thinned_; });
  }
  std::uint64_t acknowledged() const {
    return Locked([this] { return acknowledged_; });
  }
  // Number of the last event that Pending can give.
  std::uint64_t last_sequence() const {
    return Locked([this] { return published_; });
  }
  // True when a result with a number above `after` is pending.
  bool HasResultAfter(std::uint64_t after) const {
    return Locked([&] { return last_result_ > after && last_result_ > acknowledged_; });
  }

 private:
  struct PendingEvent {
    v1::NumberedEvent event;
    bool result = false;
  };
  Outbox(std::filesystem::path folder, std::size_t events_max)
      : folder_(std::move(folder)), events_max_(events_max) {}
  template <typename Read>
  std::invoke_result_t<Read> Locked(Read read) const {
    const std::lock_guard lock(mutex_);
    return read();
  }
  absl::Status OpenFiles();
  absl::Status TakeOver(const std::filesystem::path& folder);
  absl::Status WriteJournal(const std::string& records, bool sync);
  void Thin();  // REQUIRES: mutex_ is held.

  const std::filesystem::path folder_;
  const std::size_t events_max_;
  Descriptor lock_, journal_;
  std::uint64_t journal_bytes_ = 0;  // Appending thread only.
  std::string database_id_;          // The same.

  mutable std::mutex mutex_;  // Never held while waiting for the disk.
  std::deque<PendingEvent> pending_;
  std::size_t thinnable_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t published_ = 0;  // Events above it are being written to the disk.
  std::uint64_t last_result_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t thinned_ = 0;
  std::uint64_t pending_bytes_ = 0;  // Of their journal records.
};

}  // namespace inlier

#endif  // INLIER_WORKER_OUTBOX_H_
