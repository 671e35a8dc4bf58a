#include "coordinator/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>
#include <variant>

#include "base/failpoint.h"
#include "coordinator/store/change_writer.h"

namespace inlier {
namespace {

// The descriptions of the programs of sweeps that are stored or edited, serialised.
std::set<std::string> ProgramsOf(std::span<const ChangeBatch* const> batches) {
  std::set<std::string> programs;
  const auto add = [&programs](const auto* change) {
    if (change != nullptr && change->spec.has_program())
      programs.insert(change->spec.program().description().SerializeAsString());
  };
  for (const ChangeBatch* batch : batches) {
    for (const Change& change : batch->changes) {
      add(std::get_if<SweepRow>(&change));
      add(std::get_if<SweepEdited>(&change));
    }
  }
  return programs;
}

// The stages that are EMPTY and have rows: the process ended before they were deleted.
std::set<StageId> LeftoversOf(SQLite::Database& connection) {
  SQLite::Statement rows(
      connection,
      "SELECT DISTINCT stage FROM attempt WHERE stage IN (SELECT id FROM stage WHERE fate <> 'WHOLE' AND "
      "fate = 'EMPTY') AND "
      "(EXISTS (SELECT 1 FROM measurement WHERE token = attempt.token AND id < (SELECT max(id) FROM "
      "measurement)) OR EXISTS (SELECT 1 FROM log WHERE token = attempt.token AND id < (SELECT max(id) FROM "
      "log)))");
  std::set<StageId> leftovers;
  while (rows.executeStep()) leftovers.insert(StageId(rows.getColumn(0).getInt64()));
  return leftovers;
}

}  // namespace

Store::Store(Database& database) : database_(database) {}
Store::~Store() = default;

absl::StatusOr<Snapshot> Store::Load() {
  SQLite::Database& connection = database_.connection();
  try {
    SQLite::Transaction transaction(connection);  // One moment for all tables.
    leftovers_ = LeftoversOf(connection);
    return LoadSnapshot(connection);
  } catch (const SQLite::Exception& exception) {
    return SqliteStatus(exception, "loading the state from " + database_.path().string());
  }
}

absl::Status Store::Thin() {
  if (leftovers_.empty()) return absl::OkStatus();
  SQLite::Database& connection = database_.connection();
  try {
    if (writer_ == nullptr) writer_ = std::make_unique<Writer>(connection, leftovers_);
    SQLite::Transaction transaction(connection);
    const bool all = writer_->Thin(*leftovers_.begin());
    transaction.commit();
    if (all) leftovers_.erase(leftovers_.begin());
    return absl::OkStatus();
  } catch (const SQLite::Exception& exception) {
    writer_.reset();
    return database_.WriteStatus(exception);
  }
}

absl::StatusOr<ApplyStats> Store::Apply(const ChangeBatch& batch) {
  const ChangeBatch* const one = &batch;
  return Apply(std::span(&one, 1));
}

absl::StatusOr<ApplyStats> Store::Apply(std::span<const ChangeBatch* const> batches) {
  SQLite::Database& connection = database_.connection();
  try {
    if (writer_ == nullptr) writer_ = std::make_unique<Writer>(connection, leftovers_);
    connection.exec("BEGIN IMMEDIATE");
    ApplyStats stats;
    for (const ChangeBatch* batch : batches) {
      std::span<const Change> changes(batch->changes);
      while (!changes.empty()) {
        bool live = false;
        const std::size_t applied = writer_->ApplyFirst(changes, live);
        (live ? stats.rows : stats.fenced) += applied;
        changes = changes.subspan(applied);
      }
    }
    writer_->Finish();
    std::set<std::string> programs = ProgramsOf(batches);
    if (!std::ranges::includes(programs_, programs)) {
      if (const absl::Status status = database_.RefreshViews(); !status.ok()) {
        connection.exec("ROLLBACK");
        return status;
      }
    }
    Failpoint("commit.before");
    connection.exec("COMMIT");
    Failpoint("commit.after");
    programs_.merge(programs);
    return stats;
  } catch (const SQLite::Exception& exception) {
    const absl::Status status = database_.WriteStatus(exception);
    // Some errors have rolled back already. A failed COMMIT that cannot be undone leaves the file as the WAL
    // has it; the process ends then.
    writer_.reset();
    if (sqlite3_get_autocommit(connection.getHandle()) == 0)
      sqlite3_exec(connection.getHandle(), "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }
}

}  // namespace inlier
