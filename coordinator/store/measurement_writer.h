// Measurements, many rows a statement; whether the attempt is live is asked once for those of one token.
//
// Not part of the store's interface. Runs inside the transaction of Store::Apply; errors are
// SQLite::Exception. Thread safety: none.
#ifndef INLIER_COORDINATOR_STORE_MEASUREMENT_WRITER_H_
#define INLIER_COORDINATOR_STORE_MEASUREMENT_WRITER_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <span>

#include "coordinator/store/changes.h"
#include "coordinator/store/row_inserter.h"

namespace inlier {

class MeasurementWriter {
 public:
  explicit MeasurementWriter(SQLite::Database& database);

  // How many of `changes`, from the first on, are measurements with one token; 0 when the first is something
  // else.
  static std::size_t RunOf(std::span<const Change> changes);

  // Stores such a run. False: dropped, because its token's attempt is not live.
  bool Write(std::span<const Change> run);

 private:
  SQLite::Statement is_live_;
  RowInserter inserter_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_MEASUREMENT_WRITER_H_
