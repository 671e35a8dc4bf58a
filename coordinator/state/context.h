// One call: the state it changes, its time, and what it asks for.
#ifndef INLIER_COORDINATOR_STATE_CONTEXT_H_
#define INLIER_COORDINATOR_STATE_CONTEXT_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "coordinator/state/state.h"
#include "coordinator/store/changes.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

// Both clocks, read at once: `at` for deadlines, `wall` for rows and users.
struct Moment {
  Timestamp at;
  WallTime wall;
};

// Requests of a call to its caller, in addition to its reply.
struct Effects {
  ChangeBatch changes;                         // To be committed before the reply leaves.
  std::set<std::string> workers;               // Incarnations whose next replies refer to these changes.
  std::vector<std::string> log;                // One line each, at INFO.
  std::vector<double> lease_wait_seconds;      // For each lease granted: from ready to leased.
  std::vector<double> train_steps_per_second;  // For each train attempt that reported a result.
  std::set<std::string> stopped;  // Incarnations with an attempt to stop, or data to check, not sent yet.
  // By incarnation: to be sent once `changes` is committed.
  std::map<std::string, v1::CoordinatorSync> pushes;
};

struct Context {
  State& state;
  Moment now;
  Effects& out;
  // Sweeps with trials that have ended; checked when the call ends (sweeps/settle.h).
  std::set<SweepId> settle = {};
  // Sweeps whose sums of time are to be stored when the call ends (usage/usage.h).
  std::set<SweepId> used = {};
  // Trials whose state has changed, with the state they had: the difference is stored when the call ends, so
  // that a trial that passes through several states costs one row.
  std::map<TrialId, v1::TrialState> changed = {};

  // A line for Effects::log, of these parts.
  template <typename... Parts>
  void Log(const Parts&... parts) {
    out.log.push_back(absl::StrCat(parts...));
  }
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_CONTEXT_H_
