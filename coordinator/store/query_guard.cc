#include "coordinator/store/query_guard.h"

#include <sqlite3.h>

#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/time.h"
#include "coordinator/store/database.h"
#include "coordinator/store/param_view.h"
#include "coordinator/store/sqlite_handle.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

constexpr char kOnlySelect[] =
    "only one SELECT may be run here: the database is written by the coordinator alone";
constexpr int kInstructionsBetweenChecks = 2000;
constexpr int kSqlBytesMax = 1 << 20;

int Authorize(void*, int action, const char* first, const char*, const char*, const char*) {
  static const std::set<std::string_view> kDescribing = {
      "table_info",  "table_xinfo",      "table_list",   "index_list",    "index_info",
      "index_xinfo", "foreign_key_list", "user_version", "application_id"};
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_PRAGMA:
      return first != nullptr && kDescribing.contains(first) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

// SQLite's words, with what could have been meant.
absl::Status PrepareError(sqlite3* connection, int code) {
  const std::string message = sqlite3_errmsg(connection);
  if ((code & 0xff) == SQLITE_AUTH) return absl::InvalidArgumentError(kOnlySelect);
  if ((code & 0xff) != SQLITE_ERROR && (code & 0xff) != SQLITE_TOOBIG)
    return SqliteStatus(code, message, "preparing the query");
  for (const std::string_view kind : {"no such column: ", "no such table: "}) {
    if (message.compare(0, kind.size(), kind) != 0) continue;
    std::string word = message.substr(kind.size());
    if (const std::size_t dot = word.rfind('.'); dot != std::string::npos) word = word.substr(dot + 1);
    std::vector<std::string> known;
    for (const View& view : UserViews()) {
      if (kind == "no such table: ") {
        known.push_back(view.name);
      } else {
        for (const ViewColumn& column : view.columns) known.push_back(column.name);
      }
    }
    return absl::InvalidArgumentError(absl::StrCat("SQL: ", message, DidYouMean(word, known)));
  }
  return absl::InvalidArgumentError(absl::StrCat("SQL: ", message));
}

bool SetValue(sqlite3_stmt* statement, int column, std::uint64_t cell_bytes, v1::QueryValue* value,
              std::uint64_t* bytes) {
  *bytes += 8;
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      value->set_integer(sqlite3_column_int64(statement, column));
      return true;
    case SQLITE_FLOAT:
      value->set_real(sqlite3_column_double(statement, column));
      return true;
    case SQLITE_NULL:
      return true;
    default:
      break;
  }
  const bool text = sqlite3_column_type(statement, column) == SQLITE_TEXT;
  const void* data = text ? static_cast<const void*>(sqlite3_column_text(statement, column))
                          : sqlite3_column_blob(statement, column);
  const auto size = static_cast<std::uint64_t>(sqlite3_column_bytes(statement, column));
  if (size > cell_bytes) return false;
  *bytes += size;
  (text ? value->mutable_text() : value->mutable_blob())->assign(static_cast<const char*>(data), size);
  return true;
}

// Prepares the one statement of `sql`. InvalidArgument, for people: nothing there, two statements, one that
// writes, parameters, or SQLite's words.
absl::StatusOr<StatementPtr> PrepareGuarded(sqlite3* connection, const std::string& sql) {
  if (sql.find('\0') != std::string::npos)
    return absl::InvalidArgumentError("SQL: the query has a zero byte");
  if (sql.size() > kSqlBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("SQL: the query has ", sql.size(), " bytes; at most ", kSqlBytesMax, " are allowed"));
  }
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  int code = sqlite3_prepare_v2(connection, sql.c_str(), static_cast<int>(sql.size() + 1), &raw, &tail);
  StatementPtr statement(raw);
  if (code != SQLITE_OK) return PrepareError(connection, code);
  if (statement == nullptr)
    return absl::InvalidArgumentError("SQL: there is no statement; try SELECT * FROM results");
  if (sqlite3_stmt_readonly(raw) == 0) return absl::InvalidArgumentError(kOnlySelect);
  if (sqlite3_bind_parameter_count(raw) != 0) {
    return absl::InvalidArgumentError("SQL: the query has parameters (?, :name); write their values into it");
  }
  for (const char* rest = tail; rest != nullptr && *rest != '\0';) {
    raw = nullptr;
    code = sqlite3_prepare_v2(connection, rest, -1, &raw, &tail);
    const StatementPtr second(raw);
    if (code != SQLITE_OK || second != nullptr) {
      return absl::InvalidArgumentError("SQL: there is more than one statement; send them one at a time");
    }
    rest = tail;
  }
  return statement;
}

// Steps `statement` through and collects its rows.
absl::StatusOr<v1::QueryResponse> CollectRows(sqlite3* connection, sqlite3_stmt* statement,
                                              const QueryLimits& limits) {
  v1::QueryResponse response;
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) response.add_columns(sqlite3_column_name(statement, i));
  response.set_truncated(false);
  std::uint64_t bytes = 0;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (static_cast<std::uint64_t>(response.rows_size()) >= limits.rows) {
      response.set_truncated(true);
      return response;
    }
    v1::QueryRow* row = response.add_rows();
    for (int i = 0; i < columns; ++i) {
      if (!SetValue(statement, i, limits.cell_bytes, row->add_values(), &bytes)) {
        return absl::InvalidArgumentError(absl::StrCat("SQL: a value of column \"", response.columns(i),
                                                       "\" has more than ", limits.cell_bytes,
                                                       " bytes; use substr() or length()"));
      }
    }
    if (bytes > limits.bytes) {
      response.mutable_rows()->RemoveLast();
      response.set_truncated(true);
      return response;
    }
  }
  if (code == SQLITE_DONE) return response;
  if ((code & 0xff) == SQLITE_INTERRUPT) {
    return absl::DeadlineExceededError(
        absl::StrCat("the query took longer than ", FormatDuration(limits.time),
                     "; narrow it, for example with WHERE sweep = '…', or read inlier.db with sqlite3"));
  }
  if ((code & 0xff) == SQLITE_AUTH) return absl::InvalidArgumentError(kOnlySelect);
  if ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_TOOBIG || (code & 0xff) == SQLITE_MISMATCH) {
    return absl::InvalidArgumentError(absl::StrCat("SQL: ", sqlite3_errmsg(connection)));
  }
  return SqliteStatus(code, sqlite3_errmsg(connection), "running the query");
}

}  // namespace

void GuardConnection(sqlite3* connection) {
  sqlite3_exec(connection, "PRAGMA query_only = ON; PRAGMA trusted_schema = ON; PRAGMA cache_size = -16384",
               nullptr, nullptr, nullptr);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, 32 << 20);
  sqlite3_limit(connection, SQLITE_LIMIT_SQL_LENGTH, kSqlBytesMax);
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  // Table-valued functions declare themselves as tables when first used, which the authorizer would take for
  // a write: used here once.
  for (const char* function :
       {"json_each('[]')", "json_tree('[]')", "pragma_table_info('meta')", "pragma_table_xinfo('meta')",
        "pragma_table_list('meta')", "pragma_index_list('meta')"}) {
    sqlite3_exec(connection, absl::StrCat("SELECT 1 FROM ", function).c_str(), nullptr, nullptr, nullptr);
  }
  sqlite3_set_authorizer(connection, &Authorize, nullptr);
}

absl::StatusOr<v1::QueryResponse> RunGuarded(sqlite3* connection, const std::string& sql,
                                             const QueryLimits& limits) {
  Timestamp deadline = MonotonicNow() + limits.time;
  sqlite3_progress_handler(
      connection, kInstructionsBetweenChecks,
      [](void* end) { return MonotonicNow() >= *static_cast<Timestamp*>(end) ? 1 : 0; }, &deadline);
  const auto run = [&]() -> absl::StatusOr<v1::QueryResponse> {
    ASSIGN_OR_RETURN(const StatementPtr statement, PrepareGuarded(connection, sql));
    return CollectRows(connection, statement.get(), limits);
  };
  absl::StatusOr<v1::QueryResponse> response = run();
  sqlite3_progress_handler(connection, 0, nullptr, nullptr);
  return response;
}

}  // namespace inlier
