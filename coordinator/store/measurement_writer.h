// Measurements, many rows a statement; whether the attempt is live is asked once for those of one token.
//
// Not part of the store's interface. Runs inside the transaction of Store::Apply; errors are
// SQLite::Exception. Thread safety: none.
#ifndef INLIER_COORDINATOR_STORE_MEASUREMENT_WRITER_H_
#define INLIER_COORDINATOR_STORE_MEASUREMENT_WRITER_H_

#include <sqlite3.h>

#include <span>

#include "coordinator/store/changes.h"
#include "coordinator/store/row_inserter.h"

namespace SQLite {
class Database;
}

namespace inlier {

class MeasurementWriter {
 public:
  explicit MeasurementWriter(SQLite::Database& database);
  ~MeasurementWriter();
  MeasurementWriter(const MeasurementWriter&) = delete;
  MeasurementWriter& operator=(const MeasurementWriter&) = delete;

  // How many of `changes`, from the first on, are measurements with one token; 0 when the first is something
  // else.
  static std::size_t RunOf(std::span<const Change> changes);

  // Stores such a run. False: dropped, because its token's attempt is not live.
  bool Write(std::span<const Change> run);

 private:
  int Step(sqlite3_stmt* statement);

  sqlite3* const handle_;
  sqlite3_stmt* is_live_ = nullptr;
  RowInserter inserter_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_MEASUREMENT_WRITER_H_
