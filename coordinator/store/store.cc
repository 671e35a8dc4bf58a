#include "coordinator/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include "base/failpoint.h"
#include "base/status.h"
#include "coordinator/store/change_applier.h"
#include "coordinator/store/measurement_writer.h"
#include "coordinator/store/snapshot_loader.h"
#include "coordinator/store/statement.h"
#include "coordinator/store/trial_writer.h"

namespace inlier {

class Store::Statements {
 public:
  explicit Statements(SQLite::Database& database)
      : begin(database, "BEGIN IMMEDIATE"),
        commit(database, "COMMIT"),
        applier(database),
        trials(database),
        measurements(database) {}

  // Applies the first of `changes` and returns their number; `live`: whether they were stored.
  std::size_t ApplyFirst(std::span<const Change> changes, bool& live) {
    live = true;
    if (const std::size_t run = MeasurementWriter::RunOf(changes); run > 0) {
      live = measurements.Write(changes.first(run));
      return run;
    }
    if (const std::size_t run = RunOf<StageRow, TrialRow>(changes); run > 0) {
      trials.Write(changes.first(run));
      return run;
    }
    if (const std::size_t run = RunOf<AttemptRow>(changes); run > 0) {
      applier.Start(changes.first(run));
      return run;
    }
    live = applier.Apply(changes.front());
    return 1;
  }

  BoundStatement begin;
  BoundStatement commit;
  ChangeApplier applier;
  TrialWriter trials;
  MeasurementWriter measurements;
};

Store::Store(Database& database) : database_(database) {}
Store::~Store() = default;

absl::StatusOr<Snapshot> Store::Load() {
  SQLite::Database& connection = database_.connection();
  try {
    SQLite::Transaction transaction(connection);  // One moment for all tables.
    return LoadSnapshot(connection);
  } catch (const SQLite::Exception& exception) {
    return SqliteStatus(exception, "loading the state from " + database_.path().string());
  }
}

absl::StatusOr<ApplyStats> Store::Apply(const ChangeBatch& batch) {
  const ChangeBatch* const one = &batch;
  return Apply(std::span(&one, 1));
}

absl::StatusOr<ApplyStats> Store::Apply(std::span<const ChangeBatch* const> batches) {
  SQLite::Database& connection = database_.connection();
  try {
    if (statements_ == nullptr) statements_ = std::make_unique<Statements>(connection);
    statements_->begin.Run();
    ApplyStats stats;
    for (const ChangeBatch* batch : batches) {
      std::span<const Change> changes(batch->changes);
      while (!changes.empty()) {
        bool live = false;
        const std::size_t applied = statements_->ApplyFirst(changes, live);
        (live ? stats.rows : stats.fenced) += applied;
        changes = changes.subspan(applied);
      }
    }
    statements_->applier.Finish();
    Failpoint("commit.before");
    statements_->commit.Run();
    Failpoint("commit.after");
    return stats;
  } catch (const SQLite::Exception& exception) {
    const absl::Status status = database_.WriteStatus(exception);
    // Some errors have rolled back already. A failed COMMIT that cannot be undone leaves the file as the WAL
    // has it; the process ends then.
    statements_.reset();
    if (sqlite3_get_autocommit(connection.getHandle()) == 0)
      sqlite3_exec(connection.getHandle(), "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }
}

}  // namespace inlier
