// Writes new stages and trials, many rows a statement.
//
// Not part of the store's interface. Runs inside the transaction of Store::Apply; errors are
// SQLite::Exception. Thread safety: none.
#ifndef INLIER_COORDINATOR_STORE_TRIAL_WRITER_H_
#define INLIER_COORDINATOR_STORE_TRIAL_WRITER_H_

#include <span>
#include <string>
#include <vector>

#include "coordinator/store/changes.h"
#include "coordinator/store/row_inserter.h"

namespace inlier {

// A value of TrialState as it is stored: PENDING for RUNNING, which a live attempt implies.
const std::string& StoredState(v1::TrialState state);

class TrialWriter {
 public:
  explicit TrialWriter(SQLite::Database& database);

  // Stores a run of new stages and trials: first all the stages, which the trials name. REQUIRES: `run` has
  // nothing else.
  void Write(std::span<const Change> run);

 private:
  RowInserter stages_, trials_;
  // Of the run that is written.
  std::vector<const StageRow*> new_stages_;
  std::vector<const TrialRow*> new_trials_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_TRIAL_WRITER_H_
