// Rows of a query, read straight from SQLite: a start reads some hundred thousand of them.
//
// Not part of the store's interface: for the .cc files of this folder. Errors are SQLite::Exception, as
// everywhere in it. Thread safety: none; lives as long as the connection.
#ifndef INLIER_COORDINATOR_STORE_ROW_READER_H_
#define INLIER_COORDINATOR_STORE_ROW_READER_H_

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace inlier {

class RowReader {
 public:
  RowReader(SQLite::Database& database, const char* sql) : handle_(database.getHandle()) {
    if (sqlite3_prepare_v2(handle_, sql, -1, &statement_, nullptr) != SQLITE_OK)
      throw SQLite::Exception(handle_, sqlite3_errcode(handle_));
  }
  ~RowReader() { sqlite3_finalize(statement_); }
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  // Begins again with ?1 as given.
  void Restart(std::int64_t value) {
    sqlite3_reset(statement_);
    sqlite3_bind_int64(statement_, 1, value);
  }
  // The next row; false after the last.
  bool Next() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) throw SQLite::Exception(handle_, code);
    return false;
  }

  std::int64_t Integer(int column) const { return sqlite3_column_int64(statement_, column); }
  // Valid until the next row; empty for NULL.
  std::string_view Text(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(bytes),
            static_cast<std::size_t>(bytes == nullptr ? 0 : sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3* const handle_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_ROW_READER_H_
