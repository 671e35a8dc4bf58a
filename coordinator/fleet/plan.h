// How many jobs the fleet should have, and what to do about it. Pure: the same facts give the same plan.
//
// A job counts once its submission is stored, so one whose fate is not known is never asked for again. Given back are
// first jobs that wait in the engine's queue, then those whose workers are idle, the longest idle first; a worker with an
// attempt is never given back here.
#ifndef INLIER_COORDINATOR_FLEET_PLAN_H_
#define INLIER_COORDINATOR_FLEET_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace inlier {

struct FleetFacts {
  struct Job {
    std::string id{};
    bool queued = false;  // The engine has not started it.
    bool busy = false;    // Its worker has an attempt, or reads data for a sweep that waits for their digest.
    bool leaving = false;  // It is asked to end, or its worker ends by itself or is drained.
    // Its worker is idle, and drained, outdated, or its job ends too early for all that waits; or no worker comes; or it is
    // queued with an earlier configuration, or after a failed start.
    bool useless = false;
    std::optional<Duration>
        idle_for{};  // Of its connected worker; nullopt: it is busy, or none is connected.
  };
  std::uint32_t minimum = 0;
  std::uint32_t maximum = 0;
  std::uint32_t batch_max = 1;  // Most jobs of one submission.
  Duration idle_after{};        // A worker that is idle for so long is given back.
  bool stopped = false;         // A person has stopped the fleet.
  bool may_submit = false;      // The engine answers, and nothing makes the next submission wait.
  std::uint32_t for_backlog =
      0;  // Jobs that the ready stages would fill; one at least where data wait for a worker to read them.
  std::uint32_t unclear = 0;  // Jobs of submissions that the engine does not list.
  Duration surplus_for{};     // For how long there have been more jobs than wanted.
  std::vector<Job> jobs{};    // That have not ended.
};

struct FleetPlan {
  std::uint32_t wanted = 0;              // Jobs, within minimum and maximum.
  std::uint32_t submit = 0;              // Jobs to ask for now, with one submission.
  std::vector<std::string> give_back{};  // Jobs to end.
  bool surplus = false;                  // There are more jobs than wanted.
};

FleetPlan PlanFleet(const FleetFacts& facts);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_FLEET_PLAN_H_
