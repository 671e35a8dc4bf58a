// The state that the orchestrator recovers from after a restart.
#ifndef INLIER_COORDINATOR_STORE_SNAPSHOT_H_
#define INLIER_COORDINATOR_STORE_SNAPSHOT_H_

#include <vector>

#include "coordinator/store/ids.h"
#include "coordinator/store/rows.h"

namespace inlier {

struct Snapshot {
  std::vector<SweepRow> sweeps{};  // All vectors by id, oldest first.
  std::vector<StageRow> stages{};  // Every stage ever made: fingerprints stay known.
  std::vector<TrialRow> trials{};  // Every trial ever made.
  std::vector<AttemptRow> live_attempts{};
  std::vector<CheckpointRow> checkpoints{};
  std::vector<WorkerRow> workers{};
  std::vector<PruningDecision> pruning_decisions{};  // In the order in which they were committed.
  std::vector<TrialPruning> trial_prunings{};        // By trial.
  std::vector<RequestRow> requests{};
  SweepId next_sweep{1};
  TrialId next_trial{1};
  StageId next_stage{1};
  Token next_token = 1;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SNAPSHOT_H_
