// The known workers, by incarnation, with the latest report of each.
//
// A worker is an incarnation: a fresh uuid for each process. Names and hosts are labels; two workers may
// share them. A worker is connected from its first sync until it has been silent for a lease's full term. One
// that is not connected and holds nothing is forgotten an hour later, or earlier when there are more than
// kForgottenAfterCount of them, or they have more than kForgottenAfterSlots slots.
//
// A worker belongs to the first caller that syncs as it, which alone may report, renew or take anything in
// its name. Owners are kept in memory: after a restart a worker belongs to its first caller again.
#ifndef INLIER_COORDINATOR_STATE_WORKER_REGISTRY_H_
#define INLIER_COORDINATOR_STATE_WORKER_REGISTRY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "coordinator/state/device_health.h"
#include "coordinator/state/device_history.h"
#include "coordinator/state/resources.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

// Why a worker gets no new work.
struct Unavailable {
  bool draining = false;     // As it reports itself.
  bool held = false;         // An admin drains it.
  bool job_drained = false;  // Its job is one of ClusterJobs::drained.
  bool outdated = false;     // Another version, which reads trials of another form.
  std::string trouble;       // Why its machine can start no trial now; empty: it can.

  bool Any() const { return draining || held || job_drained || outdated || !trouble.empty(); }
};

// Receipt of its last fresh sync; start of the process for one known from the store only.
struct LastSeen {
  Timestamp at;
  WallTime wall;
  std::int64_t written_ms = 0;  // Wall time of the last row about it.
};

// How far its syncs have come.
struct SyncPosition {
  std::uint64_t id = 0;        // Highest that arrived; reports with lower ones are out of date.
  std::uint64_t sequence = 0;  // Events up to here have been taken (and are acknowledged once committed).
  std::uint64_t events_thinned = 0;
};

struct WorkerEntry {
  static constexpr int kGpusMax = 64;

  std::string incarnation;
  std::uint32_t number = 0;  // From 1, for the life of this process.
  std::string name;
  std::string host;
  std::string version;
  std::string owner;            // The caller; empty: not known, or callers are not checked. SetOwner sets it.
  std::string job;              // The engine's name of the job that it runs in; empty: in none.
  std::vector<v1::Slot> slots;  // Constant for an incarnation.
  bool slots_reported = false;  // By the worker itself; before that the slots are the stored ones.
  WorkerResources resources;    // Of the slots, with what its attempts have taken.
  DeviceHealths devices;        // Of devices that have failed since their last success.
  std::vector<v1::DeviceReading> gpus;  // The latest that it reported; at most kGpusMax.
  v1::DeviceReading machine;         // The latest; without `device`: none yet.
  bool keeps_artifacts = false;      // Apart from the coordinator and the others.
  Unavailable unavailable;
  bool connected = false;
  bool listening = false;         // Its stream is open and nothing on it is unanswered.
  std::uint64_t idle_ticket = 0;  // Its number among those that wait for work; 0: it does not.
  bool used = false;              // It has had an attempt: its row in the database stays.
  Timestamp leased{};             // When it got its latest attempt.
  LastSeen seen;
  SyncPosition sync;
  // Token -> why, for attempts it reports that have ended here.
  std::map<std::uint64_t, std::string> stop_reasons;

  bool TakesWork() const { return connected && !unavailable.Any(); }
};

class WorkerRegistry {
 public:
  static constexpr int kForgottenAfterCount = 1000;
  static constexpr std::uint64_t kForgottenAfterSlots = 100'000;
  static constexpr Duration kForgottenAfter = std::chrono::hours(1);

  // The connected workers of one owner.
  struct Share {
    std::uint64_t workers = 0;
    std::uint64_t slots = 0;
  };

  // `term`: the silence after which a worker counts as gone.
  explicit WorkerRegistry(Duration term) : term_(term) {}

  // The entry of `incarnation`, made when there is none. The reference lives until the worker is forgotten.
  WorkerEntry& FindOrAdd(const std::string& incarnation);
  WorkerEntry* Find(const std::string& incarnation);
  const WorkerEntry* Find(const std::string& incarnation) const;
  WorkerEntry* FindByNumber(std::uint32_t number);

  // `memory_mib`: of the machine; 0: not reported.
  void SetSlots(WorkerEntry& worker, std::vector<v1::Slot> slots, std::uint64_t memory_mib = 0);

  // A sign of life: connected until now + term.
  void Seen(WorkerEntry& worker, Timestamp now, WallTime wall);

  // The worker is not connected: it may be forgotten later.
  void NoteSilent(const WorkerEntry& worker);

  // Marks those silent for the term as not connected and returns them, the longest silent first.
  std::vector<WorkerEntry*> Expire(Timestamp now);

  // Forgets workers by the rule of the file comment, and returns the incarnations of those that never had an attempt.
  // `holds(incarnation)`: the worker has leases.
  template <typename Holds>
  std::vector<std::string> Forget(Timestamp now, Holds holds);

  void SetOwner(WorkerEntry& worker, const std::string& owner);
  Share ShareOf(const std::string& owner) const {
    const auto at = shares_.find(owner);
    return at == shares_.end() ? Share() : at->second;
  }

  // What they reported of their devices, also those that are forgotten.
  DeviceHistory& devices() { return devices_; }
  const DeviceHistory& devices() const { return devices_; }

  std::optional<Timestamp> NextDeadline() const;

  const std::map<std::string, WorkerEntry>& all() const { return workers_; }
  int connected() const { return static_cast<int>(by_silence_.size()); }
  // Slots of connected workers, draining ones included.
  std::uint64_t slots() const { return slots_; }

 private:
  // Adds a connected worker to the share of its owner, or takes it away.
  void Count(const WorkerEntry& worker, bool add);

  Duration term_;
  DeviceHistory devices_;
  std::map<std::string, WorkerEntry> workers_;
  std::set<std::pair<Timestamp, std::string>> by_silence_;  // (last seen, incarnation) of the connected.
  std::set<std::string> silent_;                            // Incarnations of the others.
  std::optional<Timestamp> forget_at_;                      // When the first of them may be forgotten.
  std::uint64_t slots_ = 0;
  std::map<std::string, Share> shares_;  // By owner.
  std::map<std::uint32_t, std::string> by_number_;
  std::uint32_t last_number_ = 0;
};

template <typename Holds>
std::vector<std::string> WorkerRegistry::Forget(Timestamp now, Holds holds) {
  std::set<std::pair<Timestamp, std::string>> gone;
  std::uint64_t slots = 0;
  for (const std::string& incarnation : silent_) {
    if (holds(incarnation)) continue;
    const WorkerEntry& worker = workers_.at(incarnation);
    gone.emplace(worker.seen.at, incarnation);
    slots += worker.slots.size();
  }
  std::vector<std::string> forgotten;
  forget_at_.reset();
  for (auto at = gone.begin(); at != gone.end(); at = gone.erase(at)) {
    const bool few = static_cast<int>(gone.size()) <= kForgottenAfterCount && slots <= kForgottenAfterSlots;
    if (few && now - at->first < kForgottenAfter) {
      forget_at_ = at->first + kForgottenAfter;
      break;
    }
    const WorkerEntry& worker = workers_.at(at->second);
    if (!worker.used) forgotten.push_back(worker.incarnation);
    slots -= worker.slots.size();
    by_number_.erase(worker.number);
    silent_.erase(at->second);
    workers_.erase(at->second);
  }
  if (!forget_at_ && !silent_.empty()) forget_at_ = now + kForgottenAfter;  // They have leases.
  return forgotten;
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_WORKER_REGISTRY_H_
