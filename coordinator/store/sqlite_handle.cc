#include "coordinator/store/sqlite_handle.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/store/database.h"

namespace inlier {
namespace {

// Returns the SQLite URI of a file.
std::string UriOf(const std::filesystem::path& file) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(file).string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '?' || c == '#' || byte <= ' ') {
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      uri += c;
    }
  }
  return uri;
}

absl::StatusOr<SqliteHandle> Open(const std::string& uri, int flags, const std::string& what) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &raw, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteHandle connection(raw);
  if (code != SQLITE_OK)
    return SqliteStatus(code, raw == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(raw), what);
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  return connection;
}

}  // namespace

absl::StatusOr<SqliteHandle> OpenForReading(const std::filesystem::path& file, bool immutable) {
  return Open(absl::StrCat(UriOf(file), immutable ? "?immutable=1" : ""), SQLITE_OPEN_READONLY,
              absl::StrCat("opening ", file.string(), " for reading"));
}

absl::StatusOr<SqliteHandle> OpenForWriting(const std::filesystem::path& file) {
  return Open(UriOf(file), SQLITE_OPEN_READWRITE, absl::StrCat("opening ", file.string()));
}

absl::StatusOr<std::vector<std::vector<std::string>>> QueryTexts(sqlite3* connection,
                                                                 const std::string& sql) {
  std::vector<std::vector<std::string>> rows;
  const auto failed = [&](int code) {
    return SqliteStatus(code, sqlite3_errmsg(connection), "reading the database");
  };
  sqlite3_stmt* raw = nullptr;
  if (const int code = sqlite3_prepare_v2(connection, sql.c_str(), -1, &raw, nullptr); code != SQLITE_OK)
    return failed(code);
  const StatementPtr statement(raw);
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    std::vector<std::string>& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(raw); ++i) {
      const unsigned char* text = sqlite3_column_text(raw, i);
      row.emplace_back(text == nullptr ? "" : reinterpret_cast<const char*>(text));
    }
  }
  if (code != SQLITE_DONE) return failed(code);
  return rows;
}

absl::StatusOr<std::int64_t> QueryInteger(sqlite3* connection, const std::string& sql) {
  ASSIGN_OR_RETURN(const auto rows, QueryTexts(connection, sql));
  std::int64_t value = 0;
  if (!rows.empty() && !rows[0].empty() && !absl::SimpleAtoi(rows[0][0], &value)) return 0;
  return value;
}

absl::StatusOr<bool> IsFromBeforeRelease(sqlite3* connection) {
  ASSIGN_OR_RETURN(
      const std::int64_t signs,
      QueryInteger(
          connection,
          "SELECT (SELECT count(*) FROM sqlite_schema WHERE name = 'trial_spec') + (SELECT count(*) FROM "
          "sqlite_schema WHERE type = 'table' AND name = 'trial' AND NOT EXISTS (SELECT 1 FROM "
          "pragma_table_info('trial') WHERE name = 'known')) + (SELECT count(*) FROM sqlite_schema WHERE "
          "type = 'table' AND name = 'attempt' AND NOT EXISTS (SELECT 1 FROM pragma_table_info('attempt') "
          "WHERE name = 'further_slots'))"));
  return signs > 0;
}

}  // namespace inlier
