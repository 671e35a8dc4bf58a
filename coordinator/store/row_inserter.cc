#include "coordinator/store/row_inserter.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "absl/strings/str_cat.h"

namespace inlier {

RowInserter::RowInserter(SQLite::Database& database, std::string_view table)
    : handle_(database.getHandle()), table_(table) {}

RowInserter::~RowInserter() {
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
}

// OR ROLLBACK: what breaks a rule ends the whole transaction. SQLite keeps no copies of pages for it.
sqlite3_stmt* RowInserter::Prepared(std::size_t size) {
  sqlite3_stmt*& statement = statements_[size];
  if (statement != nullptr) return statement;
  const std::size_t columns = 1 + static_cast<std::size_t>(std::count(table_.begin(), table_.end(), ','));
  std::string row = "(?";
  for (std::size_t i = 1; i < columns; ++i) row += ", ?";
  row += ")";
  std::string sql = absl::StrCat("INSERT OR ROLLBACK INTO ", std::string(table_), " VALUES ", row);
  for (std::size_t i = 1; i < kSizes[size]; ++i) absl::StrAppend(&sql, ", ", row);
  const int code =
      sqlite3_prepare_v3(handle_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(handle_, code);
  return statement;
}

void RowInserter::Run(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  if (code != SQLITE_DONE) {
    const SQLite::Exception failed(handle_, code);
    sqlite3_reset(statement);
    throw failed;
  }
  sqlite3_reset(statement);
}

}  // namespace inlier
