#include "coordinator/store/measurement_writer.h"

#include <algorithm>
#include <variant>

namespace inlier {

MeasurementWriter::MeasurementWriter(SQLite::Database& database)
    : is_live_(database, "SELECT 1 FROM attempt WHERE token = ?1 AND ended_ms IS NULL"),
      inserter_(database, "measurement (token, name, step, value, site, final, at_ms)") {}

std::size_t MeasurementWriter::RunOf(std::span<const Change> changes) {
  const auto* first = changes.empty() ? nullptr : std::get_if<MeasurementRow>(&changes.front());
  if (first == nullptr) return 0;
  const auto end = std::find_if(changes.begin() + 1, changes.end(), [first](const Change& change) {
    const auto* row = std::get_if<MeasurementRow>(&change);
    return row == nullptr || row->token != first->token;
  });
  return static_cast<std::size_t>(end - changes.begin());
}

bool MeasurementWriter::Write(std::span<const Change> run) {
  const auto token = static_cast<std::int64_t>(std::get<MeasurementRow>(run.front()).token);
  is_live_.tryReset();
  is_live_.bind(1, token);
  const bool live = is_live_.executeStep();
  is_live_.tryReset();
  if (!live) return false;
  inserter_.Insert(run, [token](const Change& change, RowValues& values) {
    const auto& row = std::get<MeasurementRow>(change);
    values.Integer(token).Text(row.name).Integer(row.step).Real(row.value).Text(row.site);
    values.Integer(row.final).Integer(row.at.unix_ms);
  });
  return true;
}

}  // namespace inlier
