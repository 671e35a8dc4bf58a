// Which ready stage runs next on a free slot.
//
// Order: sweeps of higher priority first; among equals the one that has had the least service for its weight;
// within a sweep evaluate stages first, since they finish trials, then the stage whose first trial is
// earliest. A paused sweep waits, and so does one at its max_parallel, or whose group or owner is at its quota. A
// stage that trials of several sweeps wait for is ready in each of them; the sweep it is taken from is charged
// for the attempt.
//
// Service is counted in attempts started. Each sweep has a virtual time that grows by 1 / weight with every
// attempt, and the smallest goes next, so that sweeps that always have something ready start attempts in the
// proportion of their weights. A sweep that had nothing ready (or might not start) begins again at the
// virtual time of its priority, the one at which the last attempt was started: waiting saves nothing up.
// Virtual times are not durable; after a restart all begin equal.
//
// Ready stages are kept by shape: the resource request, and the worker that the stage waits for, if any. A
// slot where the best does not fit gets the best that does. Next() looks at the first of each shape, never at
// all stages: it is O(shapes), one where no sweep asks for anything; every change is O(shapes of the sweep *
// (log sweeps + log stages)), and one that fills a quota or frees it also O(owners in the group, or groups of the
// owner). Everything is ordered, so that the same history gives the same choices.
#ifndef INLIER_COORDINATOR_STATE_READY_QUEUE_H_
#define INLIER_COORDINATOR_STATE_READY_QUEUE_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "base/time.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

// Constraints on where a ready stage may start.
struct ReadyShape {
  std::uint32_t worker = 0;  // Only there until its wait ends: the worker's number. 0: anywhere.
  ResourceRequest request{};
  friend auto operator<=>(const ReadyShape&, const ReadyShape&) = default;
};

// A sweep's share relative to others, and its limits.
struct ReadyRules {
  std::int32_t priority = 0;
  std::optional<std::uint32_t> max_parallel{};  // Most attempts charged to it at once; no limit when absent.
  double weight = 1;                            // From 0.001 to 1000.
  std::string group{};                          // Whose quota it shares; empty: none.
  bool paused = false;
  bool preempts = false;                              // Attempts of lower priority yield to it.
  std::string owner{};                                // Whose quota it shares, too.
  std::optional<std::uint32_t> owner_max_parallel{};  // That quota, the same for all sweeps of the owner.
  bool owner_has_budget = false;                      // SetSpent may be called for the owner.
};

// The attempts of a group or an owner that run, and their quota (absent: none, and an owner's are not counted).
struct QuotaUsage {
  std::uint32_t running = 0;
  std::optional<std::uint32_t> max_parallel;
  bool spent = false;

  // How many more attempts may start, once `further` of them have.
  std::uint64_t Room(std::uint64_t further = 0) const {
    if (spent) return 0;
    if (!max_parallel) return std::numeric_limits<std::uint64_t>::max();
    return *max_parallel - std::min<std::uint64_t>(*max_parallel, running + further);
  }
};

// The ready stages of a shape. A sweep may have a million: a tree with a node for each would take more than the stages.
struct ReadyLane {
  using StageKey = std::pair<TrialId, StageId>;  // First trial, stage.

  ReadyShape shape;
  absl::btree_set<StageKey> evaluations, trainings;

  bool empty() const { return evaluations.empty() && trainings.empty(); }
  std::size_t size() const { return evaluations.size() + trainings.size(); }
  // REQUIRES: not empty. Evaluations go first.
  std::pair<bool, StageKey> First() const {
    return evaluations.empty() ? std::pair(true, *trainings.begin()) : std::pair(false, *evaluations.begin());
  }
};

class ReadyQueue {
 public:
  struct Pick {
    SweepId sweep;
    StageId stage;
    friend bool operator==(const Pick&, const Pick&) = default;
  };

  // Most attempts at once of all sweeps of a group. REQUIRES: no sweep of it is known.
  void SetQuota(const std::string& group, std::uint32_t max_parallel);

  // The owner's budget is used: no attempt of its sweeps starts any more.
  void SetSpent(const std::string& owner);

  // REQUIRES: the sweep is not known.
  void AddSweep(SweepId sweep, const ReadyRules& rules);
  // From now on. Attempts beyond a smaller limit continue, and none starts until their number is below it.
  // REQUIRES of all that follow: the sweep is known.
  void SetRules(SweepId sweep, const ReadyRules& rules);

  // `stage` may run for `sweep`; `first_trial` orders it within the sweep. Adding it again changes its shape alone.
  void AddReady(SweepId sweep, StageId stage, v1::StageKind kind, TrialId first_trial,
                const ReadyShape& shape = {}, Timestamp now = {});
  // The stage is no longer ready (it runs, it has ended, no trial needs it). Harmless when it was not ready.
  void RemoveReady(SweepId sweep, StageId stage);

  // An attempt charged to `sweep` has started or ended.
  void Started(SweepId sweep);
  void Ended(SweepId sweep);

  using Fits = absl::FunctionRef<bool(const ResourceRequest&)>;
  // The stage to run next among those that fit and may run anywhere, or on this worker alone; nullopt when
  // there is none. Changes nothing: the caller leases the stage, then calls RemoveReady for every sweep that
  // has it and Started for the one picked. `fits` is asked once or twice for each request.
  std::optional<Pick> Next(std::uint32_t worker, Fits fits) const;
  // No stage may start; whether one fits is not considered.
  bool Idle() const {
    return eligible_.empty() || (eligible_.size() == 1 && eligible_.begin()->second.empty());
  }
  // A gang may start; whether it fits is not considered.
  bool HasGang() const;
  // Workers for which a stage waits that may start, by number.
  std::vector<std::uint32_t> AwaitedWorkers() const;

  std::uint32_t running(SweepId sweep) const { return sweeps_.at(sweep).running; }
  std::uint64_t ready(SweepId sweep) const { return sweeps_.at(sweep).keys.size(); }
  bool IsReady(SweepId sweep, StageId stage) const { return sweeps_.at(sweep).keys.contains(stage); }
  const ReadyRules& rules(SweepId sweep) const { return sweeps_.at(sweep).rules; }

  // Sweeps that preempt and have something ready that they may start, quotas apart; by (-priority, sweep).
  const std::set<std::pair<std::int64_t, SweepId>>& Preempting() const { return preempting_; }

  // The shape of a ready stage, and since when it is ready. REQUIRES: IsReady().
  const ReadyShape& ShapeAt(SweepId sweep, StageId stage) const {
    return sweeps_.at(sweep).keys.at(stage).lane->shape;
  }
  Timestamp ReadySince(SweepId sweep, StageId stage) const { return sweeps_.at(sweep).keys.at(stage).since; }
  // The requests of the sweep's ready stages, with how many stages make each; and the stages that make this one.
  std::map<ResourceRequest, std::uint64_t> ReadyRequests(SweepId sweep) const;
  std::vector<StageId> ReadyWith(SweepId sweep, const ResourceRequest& request) const;

  // How many more attempts its own limit and the quotas of its group and its owner let it start now.
  std::uint64_t RoomOf(SweepId sweep) const;

  QuotaUsage GroupUsage(const std::string& group) const { return UsageIn(groups_, group); }
  QuotaUsage OwnerUsage(const std::string& owner) const { return UsageIn(owners_, owner); }

  // Stages that go before any of this sweep because of a higher priority, as things are. Walks the sweeps.
  std::uint64_t ReadyAbove(std::int32_t priority) const;

 private:
  using SweepKey = std::tuple<std::int64_t, std::uint64_t, SweepId>;  // -priority, virtual time, sweep.
  using Lanes = std::map<ReadyShape, std::set<SweepKey>>;  // Without empty ones, ReadyShape() apart.
  struct Pool;
  struct Quota {
    QuotaUsage usage;
    std::vector<Pool*> pools{};  // The pools that share it.
  };
  using Quotas = std::map<std::string, Quota>;
  // The sweeps of one group and one owner: what lets one of them start lets all.
  struct Pool {
    Quota* group = nullptr;
    Quota* owner = nullptr;
    Lanes eligible{};     // Its sweeps that could start something if the quotas let them.
    bool listed = false;  // Its best are in eligible_.
  };
  struct Ready {
    ReadyLane* lane;
    Timestamp since;
    TrialId first_trial;
  };
  using Keys = absl::btree_map<StageId, Ready>;
  struct Queue {
    ReadyRules rules;
    Pool* pool = nullptr;  // None: no quota.
    std::uint32_t running = 0;
    std::uint64_t virtual_time = 0;
    bool eligible = false;                  // Its key is in the set.
    std::map<ReadyShape, ReadyLane> ready;  // Without empty ones.
    Keys keys;
  };

  static SweepKey KeyOf(SweepId sweep, const Queue& queue);
  static bool MayStart(const Queue& queue);
  static std::uint64_t RoomIn(const Queue& queue);
  static std::uint64_t RoomIn(const Pool* pool);
  static QuotaUsage UsageIn(const Quotas& quotas, const std::string& name);
  Pool* PoolOf(const ReadyRules& rules);
  static void TakeOut(Queue& queue, Keys::iterator ready);
  static void Erase(Lanes& lanes, const ReadyShape& shape, const SweepKey& key);
  // The best sweep of a pool stands for it among all, for each shape, while there is room in the pool.
  void List(Pool* pool);
  void Unlist(Pool* pool);
  // `attempts` more run in the pool, which is not listed; lists and unlists the others that share its quotas.
  void Charge(Pool* pool, std::int64_t attempts);
  // Runs `change` on the sweep's queue and puts the sweep where it then belongs.
  template <typename Change>
  void Update(SweepId sweep, Change change);

  std::map<SweepId, Queue> sweeps_;
  Quotas groups_, owners_;
  std::map<std::pair<Quota*, Quota*>, Pool> pools_;  // By group and owner. Only looked up, never walked.
  Lanes eligible_;                                   // Sweeps without a pool, and the best of each pool.
  std::set<std::pair<std::int64_t, SweepId>> preempting_;
  std::map<std::int32_t, std::uint64_t> clocks_;  // By priority: virtual time of the last start.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_READY_QUEUE_H_
