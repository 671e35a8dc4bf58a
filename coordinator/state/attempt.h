// A live attempt in memory. Plain data.
#ifndef INLIER_COORDINATOR_STATE_ATTEMPT_H_
#define INLIER_COORDINATOR_STATE_ATTEMPT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "coordinator/state/live_values.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/worker_service.pb.h"
#include "spec/program/measurement_list.h"

namespace inlier {

// How long an attempt that was asked to yield may take to write its checkpoint and stop: the worker gives its
// child stop_grace_ms (at most 600 s) and then kills it.
inline constexpr Duration kYieldTerm = std::chrono::seconds(660);

struct AttemptTimes {
  Timestamp started;     // Or adopted after a restart.
  Timestamp began;       // Its lease was granted, also where that was before a restart.
  WallTime leased;       // The same moment, as the clock on the wall had it then.
  Timestamp progressed;  // Its progress changed last.
  Timestamp saved;       // Its latest checkpoint came, or it started: what it would lose began then.
};

// An attempt that is asked to write a checkpoint and stop.
struct AttemptYield {
  std::string why;         // Empty: it is not.
  Timestamp until;         // The attempt is ended then.
  bool timed_out = false;  // Because it has run for its attempt_hours.
};

// How it began, as the attempt reports it.
struct AttemptStart {
  std::uint64_t step = 0;
  std::string trouble;  // Why that is not the step of its assignment; empty: it is.
};

// The checkpoint that completes a training.
struct FinalCheckpoint {
  std::string digest;  // Empty: there is none yet.
  std::uint64_t step = 0;
};

// As its outcome reports it; 0: not known.
struct AttemptMemory {
  std::uint64_t peak_mib = 0;
  std::uint64_t peak_gpu_mib = 0;
  bool gpu_ran_out = false;
};

// Stored since it started, or was adopted after a restart.
struct AttemptLog {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  bool left_out = false;  // A line reports that its sweep keeps no more.
};

struct Attempt {
  Token token = 0;
  StageId stage;
  SweepId sweep;  // Charged for it.
  TrialId trial;  // The first trial that needed the stage.
  std::string worker;
  v1::Assignment assignment;  // As sent to the worker, without the specification: the stage has that.
  v1::Progress progress;
  AttemptTimes times;
  bool recovered = false;  // Started before this process did: its times are not known.
  bool unclaimed = false;  // Recovered, and its worker has not come back yet.
  AttemptYield yield;
  AttemptStart resumed;
  FinalCheckpoint final_checkpoint;
  ResourceRequest request;  // The request when it was leased.
  // Its share of a GPU: its request or its slot's part, of a gang the sum of its processes'. 0: on a CPU.
  std::uint32_t gpu_thousandths = 0;
  std::optional<Timestamp> limit_due;  // When to look at its limits (usage/usage.h).
  AttemptMemory memory;
  AttemptLog log;
  std::shared_ptr<const MeasurementList> measurements;  // That it may report; null: not looked up yet.
  LatestPoints latest;
  std::string setting;  // Of the model that it measures, see SweepValue; empty: not looked up yet.
};

inline Duration RunningTime(const Attempt& attempt, Timestamp now) { return now - attempt.times.began; }

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_ATTEMPT_H_
