// How much of a sweep's work is done, and how long the rest takes.
#ifndef INLIER_COORDINATOR_STATUS_WORK_H_
#define INLIER_COORDINATOR_STATUS_WORK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "coordinator/state/state.h"

namespace inlier {

// The part of one sweep's work that is under way.
struct UnderWay {
  std::uint64_t attempts = 0;
  double train_steps_done = 0;
  double evaluations_done = 0;
  std::uint64_t rates = 0;      // Train attempts that report one.
  double seconds_per_step = 0;  // Their sum.
  double longest_seconds_left = 0;

  // A live attempt at a stage that the sweep needs.
  void Add(const Stage& stage, const Attempt& attempt);
  // A training that waits to resume from a checkpoint.
  void AddInterrupted(const Stage& stage);
};

struct SweepWork {
  double done = 0;  // 0 ... 1.
  std::optional<double> seconds_left;
};

SweepWork WorkOf(const State& state, const Sweep& sweep, const UnderWay& under_way);

// The same of several sweeps, in one pass over the live attempts and none over trials. REQUIRES: they exist.
std::map<SweepId, SweepWork> WorkOf(const State& state, const std::vector<SweepId>& sweeps);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATUS_WORK_H_
