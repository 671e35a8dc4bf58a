// Which ready stage runs next on a free slot.
//
// Order: sweeps of higher priority first; among equals the sweep with the fewest running attempts, then the
// one served longest ago (round robin); within a sweep evaluate stages first, since they finish trials, then
// the stage whose first trial is earliest. A sweep at its max_parallel waits. A stage that trials of several
// sweeps wait for is ready in each of them; the sweep it is taken from is charged for the attempt.
//
// Next() is O(log sweeps + log stages). Everything is ordered, so that the same history gives the same
// choices.
//
// Thread safety: none; lives on the coordinator's thread.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_SCHEDULER_H_
#define INLIER_COORDINATOR_ORCHESTRATION_SCHEDULER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

  // `max_parallel`: most attempts charged to the sweep at once; no limit when absent.
  // REQUIRES: the sweep is not known.
  void AddSweep(SweepId sweep, std::int32_t priority, std::optional<std::uint32_t> max_parallel);

  // `stage` may run for `sweep`; `first_trial` orders it within the sweep. Adding it again changes nothing.
  // REQUIRES: the sweep is known.
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

 private:
  using StageKey = std::tuple<int, TrialId, StageId>;  // Rank of the kind, first trial, stage.
  using SweepKey =
      std::tuple<std::int64_t, std::uint32_t, std::uint64_t, SweepId>;  // -priority, running, served, sweep.

  struct Queue {
    std::int32_t priority = 0;
    std::optional<std::uint32_t> max_parallel;
    std::uint32_t running = 0;
    std::uint64_t served = 0;  // Value of served_ when it was last picked from.
    std::set<StageKey> ready;
    std::map<StageId, StageKey> keys;
  };

  static SweepKey KeyOf(SweepId sweep, const Queue& queue);
  // Runs `change` on the sweep's queue and puts the sweep where it then belongs.
  template <typename Change>
  void Update(SweepId sweep, Change change);

  std::map<SweepId, Queue> sweeps_;
  std::set<SweepKey> eligible_;  // Sweeps with ready stages below their max_parallel.
  std::uint64_t served_ = 0;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_SCHEDULER_H_
