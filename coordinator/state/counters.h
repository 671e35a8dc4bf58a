// Counts for metrics: of the present states, and of what happened since the process started.
#ifndef INLIER_COORDINATOR_STATE_COUNTERS_H_
#define INLIER_COORDINATOR_STATE_COUNTERS_H_

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// How many stages, trials and sweeps are in each state.
struct StateCounts {
  std::map<std::pair<v1::StageKind, v1::TrialState>, std::int64_t> stages;
  std::map<v1::TrialState, std::int64_t> trials;
  std::map<v1::SweepState, std::int64_t> sweeps;
  std::int64_t paused_sweeps = 0;  // ACTIVE ones.
};

// Each becomes a counter of /metrics.
struct OrchestratorStats {
  std::array<std::uint64_t, 2> attempts_started{};  // By kind: train, evaluate.
  std::array<std::array<std::uint64_t, 5>, 2> attempts_ended{};
  std::map<v1::FailureClass, std::uint64_t> failures;
  std::array<double, 2> attempt_seconds{};  // Of ended attempts, by kind.
  double gpu_seconds = 0;                   // Of ended attempts, multiplied by their shares of a GPU.
  std::uint64_t events_received = 0;
  std::uint64_t events_doubled = 0;
  std::uint64_t events_stale = 0;
  std::uint64_t events_invalid = 0;
  std::uint64_t events_thinned = 0;
  std::uint64_t measurements = 0;
  std::uint64_t leases_expired = 0;
  std::uint64_t attempts_adopted = 0;
  std::uint64_t retries = 0;
  std::uint64_t quarantines = 0;
  std::uint64_t syncs_refused = 0;
  std::uint64_t trials_known = 0;
  std::uint64_t sweeps_submitted = 0;
};

// The index of a kind in the arrays above, and its name in logs.
inline int KindIndex(v1::StageKind kind) { return kind == v1::TRAIN_STAGE ? 0 : 1; }
inline const char* KindName(v1::StageKind kind) { return kind == v1::TRAIN_STAGE ? "train" : "evaluate"; }

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_COUNTERS_H_
