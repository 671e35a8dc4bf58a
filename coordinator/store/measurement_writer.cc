#include "coordinator/store/measurement_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <limits>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

constexpr int kColumns = 6;  // Beside the token, which is ?1 of all rows.

sqlite3_stmt* PrepareText(sqlite3* handle, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK)
    throw SQLite::Exception(handle, sqlite3_errcode(handle));
  return statement;
}

void BindText(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

}  // namespace

MeasurementWriter::MeasurementWriter(SQLite::Database& database) : handle_(database.getHandle()) {}

MeasurementWriter::~MeasurementWriter() {
  for (sqlite3_stmt* statement : {is_live_, insert_many_, insert_one_}) sqlite3_finalize(statement);
}

std::size_t MeasurementWriter::RunOf(std::span<const Change> changes) {
  const auto* first = changes.empty() ? nullptr : std::get_if<MeasurementRow>(&changes.front());
  if (first == nullptr) return 0;
  const auto end = std::find_if(changes.begin() + 1, changes.end(), [first](const Change& change) {
    const auto* row = std::get_if<MeasurementRow>(&change);
    return row == nullptr || row->token != first->token;
  });
  return static_cast<std::size_t>(end - changes.begin());
}

sqlite3_stmt* MeasurementWriter::Prepare(int rows) const {
  std::string sql = "INSERT INTO measurement (token, name, step, value, site, final, at_ms) VALUES ";
  int number = 1;
  for (int row = 0; row < rows; ++row) {
    absl::StrAppend(&sql, row == 0 ? "(?1" : ", (?1");
    for (int column = 0; column < kColumns; ++column) absl::StrAppend(&sql, ", ?", ++number);
    sql += ")";
  }
  return PrepareText(handle_, sql);
}

int MeasurementWriter::Step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  if (code == SQLITE_ROW || code == SQLITE_DONE) return code;
  const SQLite::Exception failed(handle_, code);
  sqlite3_reset(statement);
  throw failed;
}

void MeasurementWriter::Insert(sqlite3_stmt* statement, std::span<const Change> rows) {
  int index = 0;
  const auto token = static_cast<std::int64_t>(std::get<MeasurementRow>(rows.front()).token);
  sqlite3_bind_int64(statement, ++index, token);
  for (const Change& change : rows) {
    const auto& row = std::get<MeasurementRow>(change);
    BindText(statement, ++index, row.name);
    // SQLite's integers end at 2^63 - 1.
    const std::uint64_t step = std::min<std::uint64_t>(row.step, std::numeric_limits<std::int64_t>::max());
    sqlite3_bind_int64(statement, ++index, static_cast<std::int64_t>(step));
    sqlite3_bind_double(statement, ++index, row.value);
    BindText(statement, ++index, row.site);
    sqlite3_bind_int(statement, ++index, row.final ? 1 : 0);
    sqlite3_bind_int64(statement, ++index, row.at.unix_ms);
  }
  Step(statement);
  sqlite3_reset(statement);
}

bool MeasurementWriter::Write(std::span<const Change> run) {
  if (insert_one_ == nullptr) {
    is_live_ = PrepareText(handle_, "SELECT 1 FROM attempt WHERE token = ?1 AND ended_ms IS NULL");
    insert_one_ = Prepare(1);
    insert_many_ = Prepare(kRowsMax);
  }
  const auto token = static_cast<std::int64_t>(std::get<MeasurementRow>(run.front()).token);
  sqlite3_bind_int64(is_live_, 1, token);
  const bool live = Step(is_live_) == SQLITE_ROW;
  sqlite3_reset(is_live_);
  if (!live) return false;
  for (; run.size() >= kRowsMax; run = run.subspan(kRowsMax)) Insert(insert_many_, run.first(kRowsMax));
  for (; !run.empty(); run = run.subspan(1)) Insert(insert_one_, run.first(1));
  return true;
}

}  // namespace inlier
