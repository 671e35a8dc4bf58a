#include "coordinator/store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include "base/failpoint.h"
#include "coordinator/store/change_writer.h"

namespace inlier {

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
    if (writer_ == nullptr) writer_ = std::make_unique<Writer>(connection);
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
    Failpoint("commit.before");
    connection.exec("COMMIT");
    Failpoint("commit.after");
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
