// Writes the numbers of imported runs, inside the transaction of Store::Apply. For this folder.
#ifndef INLIER_COORDINATOR_STORE_IMPORT_WRITER_H_
#define INLIER_COORDINATOR_STORE_IMPORT_WRITER_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <span>
#include <vector>

#include "base/digest.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/row_inserter.h"
#include "coordinator/store/statement.h"

namespace inlier {

inline const char* FateName(StageFate fate) {
  constexpr const char* kNames[] = {"WHOLE", "NO_MODEL", "FREED", "EMPTY"};
  return kNames[static_cast<std::size_t>(fate)];
}

inline constexpr char kMeasurementColumns[] = "measurement (token, name, step, value, site, final, at_ms)";
inline void BindMeasurement(const MeasurementRow& row, Statement& values) {
  values.Bind(row.token, row.name, row.step, row.value, row.site, row.final, row.at);
}

// Errors are SQLite::Exception, as those of the other writers.
class ImportWriter {
 public:
  explicit ImportWriter(SQLite::Database& database)
      : attempt_(database,
                 "INSERT OR ROLLBACK INTO attempt (token, stage, number, sweep, worker, slot, started_ms, "
                 "ended_ms, "
                 "outcome) VALUES (?1, ?2, 1, ?3, '', 0, ?4, ?4, 'SUCCEEDED')"),
        result_(
            database,
            "UPDATE OR ROLLBACK stage SET state = 'SUCCEEDED', result_token = ?2, checkpoint = ?3, fate = ?4 "
            "WHERE id = ?1"),
        numbers_(database, kMeasurementColumns) {}

  void Write(const RunImported& run) {
    // An evaluation may have an attempt once its training has a model: zeros, for there is none.
    AddResult(run.train, run.token, run, std::optional(HexOf(Digest{})), StageFate::kNoModel);
    AddResult(run.evaluate, run.token + 1, run, std::nullopt, StageFate::kWhole);
    std::vector<const MeasurementRow*> rows;
    for (const MeasurementRow& row : run.numbers) rows.push_back(&row);
    numbers_.Insert(std::span(std::as_const(rows)), BindMeasurement);
  }

 private:
  void AddResult(StageId stage, Token token, const RunImported& run,
                 const std::optional<std::string>& checkpoint, StageFate fate) {
    attempt_.Run(token, stage, run.sweep, run.at);
    result_.Run(stage, token, checkpoint, FateName(fate));
  }

  Statement attempt_, result_;
  RowInserter numbers_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_IMPORT_WRITER_H_
