#include "coordinator/store/measurement_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <variant>

namespace inlier {

MeasurementWriter::MeasurementWriter(SQLite::Database& database)
    : handle_(database.getHandle()),
      inserter_(database, "measurement (token, name, step, value, site, final, at_ms)") {}

MeasurementWriter::~MeasurementWriter() { sqlite3_finalize(is_live_); }

std::size_t MeasurementWriter::RunOf(std::span<const Change> changes) {
  const auto* first = changes.empty() ? nullptr : std::get_if<MeasurementRow>(&changes.front());
  if (first == nullptr) return 0;
  const auto end = std::find_if(changes.begin() + 1, changes.end(), [first](const Change& change) {
    const auto* row = std::get_if<MeasurementRow>(&change);
    return row == nullptr || row->token != first->token;
  });
  return static_cast<std::size_t>(end - changes.begin());
}

int MeasurementWriter::Step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  if (code == SQLITE_ROW || code == SQLITE_DONE) return code;
  const SQLite::Exception failed(handle_, code);
  sqlite3_reset(statement);
  throw failed;
}

bool MeasurementWriter::Write(std::span<const Change> run) {
  if (is_live_ == nullptr) {
    constexpr char kIsLive[] = "SELECT 1 FROM attempt WHERE token = ?1 AND ended_ms IS NULL";
    const int code = sqlite3_prepare_v3(handle_, kIsLive, -1, SQLITE_PREPARE_PERSISTENT, &is_live_, nullptr);
    if (code != SQLITE_OK) throw SQLite::Exception(handle_, code);
  }
  const auto token = static_cast<std::int64_t>(std::get<MeasurementRow>(run.front()).token);
  sqlite3_bind_int64(is_live_, 1, token);
  const bool live = Step(is_live_) == SQLITE_ROW;
  sqlite3_reset(is_live_);
  if (!live) return false;
  inserter_.Insert(run, [token](const Change& change, RowValues& values) {
    const auto& row = std::get<MeasurementRow>(change);
    values.Integer(token).Text(row.name).Integer(row.step).Real(row.value).Text(row.site);
    values.Integer(row.final).Integer(row.at.unix_ms);
  });
  return true;
}

}  // namespace inlier
