// One change, one or two prepared statements; attempts are started many a statement. Runs inside the
// transaction of Store::Apply; errors are SQLite::Exception.
//
// Changes that come from a worker are written by statements that look for the live attempt of the token.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_STORE_CHANGE_APPLIER_H_
#define INLIER_COORDINATOR_STORE_CHANGE_APPLIER_H_

#include <memory>
#include <span>

#include "base/check.h"
#include "coordinator/store/changes.h"

namespace SQLite {
class Database;
}

namespace inlier {

class ChangeApplier {
 public:
  explicit ChangeApplier(SQLite::Database& database);
  ~ChangeApplier();

  // False: dropped, because its token's attempt is not live. REQUIRES: nothing that comes in runs.
  bool Apply(const Change& change);

  // REQUIRES: `run` has AttemptRow only.
  void Start(std::span<const Change> run);

  // Before COMMIT: stores what depends on the whole transaction.
  void Finish();

 private:
  struct Statements;

  bool Apply(const SweepRow& change);
  bool Apply(const SweepChange& change);
  bool Apply(const SweepEdited& change);
  bool Apply(const TrialMoved& change);
  bool Apply(const TrialChange& change);
  bool Apply(const StageChange& change);
  bool Apply(const AttemptYields& change);
  bool Apply(const AttemptInfo& change);
  bool Apply(const AttemptEnded& change);
  // Changes that come in runs: Start's, the TrialWriter's and the MeasurementWriter's.
  bool Apply(const AttemptRow&) { INLIER_CHECK(false); }
  bool Apply(const StageRow&) { INLIER_CHECK(false); }
  bool Apply(const TrialRow&) { INLIER_CHECK(false); }
  bool Apply(const MeasurementRow&) { INLIER_CHECK(false); }
  bool Apply(const LogRow& change);
  bool Apply(const CheckpointRow& change);
  bool Apply(const EventRow& change);
  bool Apply(const WorkerRow& change);
  bool Apply(const WorkerAcknowledged& change);
  bool Apply(const PruningDecision& change);
  bool Apply(const TrialPruning& change);
  bool Apply(const RequestRow& change);
  bool Apply(const AttemptPeak& change);
  bool Apply(const StageMemory& change);

  std::unique_ptr<Statements> sql_;
  Token next_token_ = 0;  // Of this transaction; 0: no attempt was started.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_CHANGE_APPLIER_H_
