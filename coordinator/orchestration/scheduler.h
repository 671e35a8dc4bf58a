// Which ready stage runs next on a free slot.
//
// Order: sweeps of higher priority first; among equals the one that has had the least service for its weight;
// within a sweep evaluate stages first, since they finish trials, then the stage whose first trial is
// earliest. A paused sweep waits, and so does one at its max_parallel or whose group is at its quota. A stage
// that trials of several sweeps wait for is ready in each of them; the sweep it is taken from is charged for
// the attempt.
//
// Service is counted in attempts started. Each sweep has a virtual time that grows by 1 / weight with every
// attempt, and the smallest goes next, so that sweeps that always have something ready start attempts in the
// proportion of their weights. A sweep that had nothing ready (or might not start) begins again at the
// virtual time of its priority, the one at which the last attempt was started: waiting saves nothing up.
// Virtual times are not durable; after a restart all begin equal.
//
// Next() is O(1), every change O(log sweeps + log stages). Everything is ordered, so that the same history
// gives the same choices.
//
// Thread safety: none; lives on the coordinator's thread.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_SCHEDULER_H_
#define INLIER_COORDINATOR_ORCHESTRATION_SCHEDULER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "coordinator/store/ids.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

class Scheduler {
 public:
  struct Pick {
    SweepId sweep;
    StageId stage;
    friend bool operator==(const Pick&, const Pick&) = default;
  };

  // What a sweep is given, beside others.
  struct Rules {
    std::int32_t priority = 0;
    std::optional<std::uint32_t>
        max_parallel{};   // Most attempts charged to it at once; no limit when absent.
    double weight = 1;    // From 0.001 to 1000.
    std::string group{};  // Whose quota it shares; empty: none.
    bool paused = false;
  };

  // Most attempts at once of all sweeps of a group. REQUIRES: no sweep of it is known.
  void SetQuota(const std::string& group, std::uint32_t max_parallel);

  // REQUIRES: the sweep is not known.
  void AddSweep(SweepId sweep, const Rules& rules);
  // From now on. What runs beyond a smaller limit goes on, and nothing new starts until it is below.
  // REQUIRES of all that follow: the sweep is known.
  void SetRules(SweepId sweep, const Rules& rules);

  // `stage` may run for `sweep`; `first_trial` orders it within the sweep. Adding it again changes nothing.
  void AddReady(SweepId sweep, StageId stage, v1::StageKind kind, TrialId first_trial);
  // It may no longer (it runs, it has ended, nobody waits). Harmless when it was not ready.
  void RemoveReady(SweepId sweep, StageId stage);

  // An attempt charged to `sweep` has begun or ended.
  void Started(SweepId sweep);
  void Ended(SweepId sweep);

  // The stage to run next; nullopt when nothing may. Changes nothing: the caller leases the stage, then calls
  // RemoveReady for every sweep that has it and Started for the one picked.
  std::optional<Pick> Next() const;

  std::uint32_t running(SweepId sweep) const { return sweeps_.at(sweep).running; }
  std::uint64_t ready(SweepId sweep) const { return sweeps_.at(sweep).ready.size(); }
  bool IsReady(SweepId sweep, StageId stage) const { return sweeps_.at(sweep).keys.contains(stage); }
  const Rules& rules(SweepId sweep) const { return sweeps_.at(sweep).rules; }

  // Whether one more attempt may be charged to the sweep now: within its own limit and its group's quota.
  bool HasRoom(SweepId sweep) const;

  // Of the group: attempts that run, and its quota (absent: none).
  struct Usage {
    std::uint32_t running = 0;
    std::optional<std::uint32_t> max_parallel;
  };
  Usage GroupUsage(const std::string& group) const;

  // Stages that go before any of this sweep because of a higher priority, as things are. Walks the sweeps.
  std::uint64_t ReadyAbove(std::int32_t priority) const;

 private:
  using StageKey = std::tuple<int, TrialId, StageId>;                 // Rank of the kind, first trial, stage.
  using SweepKey = std::tuple<std::int64_t, std::uint64_t, SweepId>;  // -priority, virtual time, sweep.

  struct Group {
    Usage usage;
    std::set<SweepKey> eligible;  // Its sweeps that could start something if the quota lets them.
  };
  struct Queue {
    Rules rules;
    Group* group = nullptr;
    std::uint32_t running = 0;
    std::uint64_t virtual_time = 0;
    bool eligible = false;  // Its key is in the set.
    std::set<StageKey> ready;
    std::map<StageId, StageKey> keys;
  };

  static SweepKey KeyOf(SweepId sweep, const Queue& queue);
  static bool MayStart(const Queue& queue);
  static bool IsFull(const Group& group);
  Group* GroupOf(const Rules& rules);
  // The best sweep of a group stands for it among all, while there is room in the group.
  void List(const Group* group);
  void Unlist(const Group* group);
  // Runs `change` on the sweep's queue and puts the sweep where it then belongs.
  template <typename Change>
  void Update(SweepId sweep, Change change);

  std::map<SweepId, Queue> sweeps_;
  std::map<std::string, Group> groups_;
  std::set<SweepKey> eligible_;                   // Sweeps without a group, and the best of each group.
  std::map<std::int32_t, std::uint64_t> clocks_;  // By priority: virtual time of the last start.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_SCHEDULER_H_
