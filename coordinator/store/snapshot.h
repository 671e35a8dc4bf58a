// The state that the orchestrator recovers from after a restart.
#ifndef INLIER_COORDINATOR_STORE_SNAPSHOT_H_
#define INLIER_COORDINATOR_STORE_SNAPSHOT_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/rows.h"

namespace SQLite {
class Database;
}

namespace inlier {

struct Snapshot {
  // Every sweep, stage and trial ever made, and all data: their ids count from 1.
  std::vector<SweepRow> sweeps{};
  std::vector<DataRow> data{};
  std::vector<StageRow> stages{};
  std::vector<TrialRow> trials{};
  std::vector<AttemptRow> live_attempts{};
  std::vector<CheckpointRow>
      checkpoints{};  // To resume from; of a stage in the order in which they are to be tried.
  std::vector<WorkerRow> workers{};
  std::vector<PruningDecision> pruning_decisions{};  // In the order in which they were committed.
  std::vector<TrialPruning> trial_prunings{};        // By trial.
  std::vector<RequestRow> requests{};
  std::uint64_t next_analysis = 1;
  Token next_token = 1;
};

// Reads and checks a snapshot. Errors of SQLite are SQLite::Exception; DataLoss for a row that this program
// cannot have written. For this folder.
absl::StatusOr<Snapshot> LoadSnapshot(SQLite::Database& database);

// Checks the assumptions of the recovery. The schema keeps all of them in a sound file, so DataLoss, with the
// first row that is wrong and the remedy, means that the file was damaged or edited.
absl::Status CheckSnapshot(const Snapshot& snapshot);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SNAPSHOT_H_
