// The state that the orchestrator recovers from after a restart.
#ifndef INLIER_COORDINATOR_STORE_SNAPSHOT_H_
#define INLIER_COORDINATOR_STORE_SNAPSHOT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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
  std::vector<CheckpointRow> checkpoints{};  // To resume from; those of a stage in the order to try them.
  std::vector<WorkerRow> workers{};
  std::vector<SearchPointRow> search_points{};       // By sweep and number, from 0 without gaps.
  std::vector<PruningDecision> pruning_decisions{};  // In the order of their commits.
  std::vector<TrialPruning> trial_prunings{};        // By trial.
  std::vector<RequestRow> requests{};
  std::uint64_t next_analysis = 1;
  Token next_token = 1;
};

// Reads and checks a snapshot. Errors of SQLite are SQLite::Exception; DataLoss for a row that this program
// cannot have written. For this folder.
absl::StatusOr<Snapshot> LoadSnapshot(SQLite::Database& database);

// Checks the assumptions of the recovery, which the schema keeps in a sound file. DataLoss names the first
// wrong row.
absl::Status CheckSnapshot(const Snapshot& snapshot);

// DataLoss: the file was damaged or edited, and how, with the remedy.
template <typename... Texts>
absl::Status Damaged(const Texts&... how) {
  return absl::DataLossError(
      absl::StrCat("the database is damaged or was edited: ", how...,
                   "; restore inlier.db from a backup, or salvage it with `sqlite3 inlier.db .recover`"));
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SNAPSHOT_H_
