#include "coordinator/store/query_guard.h"

#include <sqlite3.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status.h"
#include "coordinator/store/database.h"
#include "coordinator/store/sql_name.h"
#include "coordinator/store/views/param_view.h"
#include "coordinator/store/views/program_list.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

constexpr char kOnlySelect[] =
    "only one SELECT may be run here: the database is written by the coordinator alone";
constexpr std::string_view kNoColumn = "no such column: ";
constexpr std::string_view kNoTable = "no such table: ";
constexpr std::string_view kNoFunction = "no such function: ";
constexpr std::string_view kNoConstructor = "vtable constructor failed: ";
constexpr std::string_view kUnsafe = "unsafe use of ";
constexpr int kSqlBytesMax = 1 << 20;

template <typename... Texts>
absl::Status SqlError(const Texts&... texts) {
  return absl::InvalidArgumentError(absl::StrCat("SQL: ", texts...));
}

bool IsOneOf(const std::vector<std::string>& sorted, const std::string& word) {
  return std::binary_search(sorted.begin(), sorted.end(), word);
}

// A known name that is close to one that SQLite does not know: a column of the views that `sql` names, a view, or a function.
std::string Suggestion(sqlite3* connection, const std::string& sql, std::string_view kind, std::string word) {
  if (kind == kNoFunction) return DidYouMean(word, AllowedFunctions());
  if (const std::size_t dot = word.rfind('.'); dot != std::string::npos) word = word.substr(dot + 1);
  const std::set<std::string> words =
      absl::StrSplit(absl::AsciiStrToLower(sql), absl::ByAnyChar(" \t\r\n.,;()\"'`[]"));
  std::vector<std::string> known;
  for (const View& view :
       UserViews(ReadPrograms(connection).value_or(std::vector<v1::ProgramDescription>()))) {
    if (kind == kNoTable) {
      known.push_back(view.name);
    } else if (words.contains(view.name)) {
      for (const ViewColumn& column : view.columns) {
        if (!absl::EqualsIgnoreCase(column.name, word)) known.push_back(column.name);
      }
    }
  }
  return DidYouMean(word, known);
}

// SQLite's message, with a suggestion.
absl::Status PrepareError(sqlite3* connection, const std::string& sql, int code,
                          const std::string& refused_function) {
  const std::string message = sqlite3_errmsg(connection);
  if (!refused_function.empty()) {
    return SqlError("the function ", refused_function,
                    " is not allowed here; aggregates, window functions and "
                    "functions of numbers, texts, dates and JSON are",
                    DidYouMean(refused_function, AllowedFunctions()));
  }
  if (message.starts_with(kNoConstructor)) {
    return SqlError("the table ", message.substr(kNoConstructor.size()), " is not allowed here");
  }
  if (message.starts_with(kUnsafe)) {
    return SqlError(message.substr(kUnsafe.size()), " in a view of the file is not allowed here");
  }
  if ((code & 0xff) == SQLITE_AUTH) return absl::InvalidArgumentError(kOnlySelect);
  if ((code & 0xff) == SQLITE_NOMEM) return QueryTooLarge();
  if ((code & 0xff) != SQLITE_ERROR && (code & 0xff) != SQLITE_TOOBIG)
    return SqliteStatus(code, message, "preparing the query");
  if (const std::string why = WhyNoColumn(connection, message); !why.empty())
    return SqlError(message, "; ", why);
  for (const std::string_view kind : {kNoColumn, kNoTable, kNoFunction}) {
    if (message.starts_with(kind))
      return SqlError(message, Suggestion(connection, sql, kind, message.substr(kind.size())));
  }
  return SqlError(message);
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

// Prepares the one statement of `sql`. InvalidArgument for none, for two, for one that writes or has
// parameters, and for SQL errors.
absl::StatusOr<StatementPtr> PrepareGuarded(sqlite3* connection, const std::string& sql,
                                            const std::string& refused_function) {
  if (sql.find('\0') != std::string::npos) return SqlError("the query has a zero byte");
  if (sql.size() > kSqlBytesMax) {
    return SqlError("the query has ", sql.size(), " bytes; at most ", kSqlBytesMax, " are allowed");
  }
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  int code = sqlite3_prepare_v2(connection, sql.c_str(), static_cast<int>(sql.size() + 1), &raw, &tail);
  StatementPtr statement(raw);
  if (code != SQLITE_OK) return PrepareError(connection, sql, code, refused_function);
  if (statement == nullptr) return SqlError("there is no statement; try SELECT * FROM results");
  if (sqlite3_stmt_readonly(raw) == 0) return absl::InvalidArgumentError(kOnlySelect);
  if (sqlite3_bind_parameter_count(raw) != 0) {
    return SqlError("the query has parameters (?, :name); write their values into it");
  }
  for (const char* rest = tail; rest != nullptr && *rest != '\0';) {
    raw = nullptr;
    code = sqlite3_prepare_v2(connection, rest, -1, &raw, &tail);
    const StatementPtr second(raw);
    if (code != SQLITE_OK || second != nullptr) {
      return SqlError("there is more than one statement; send them one at a time");
    }
    rest = tail;
  }
  return statement;
}

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
        return SqlError("a value of column \"", response.columns(i), "\" has more than ", limits.cell_bytes,
                        " bytes; use substr() or length()");
      }
    }
    if (bytes > limits.bytes) {
      response.mutable_rows()->RemoveLast();
      response.set_truncated(true);
      return response;
    }
  }
  if (code == SQLITE_DONE) return response;
  if ((code & 0xff) == SQLITE_INTERRUPT) return QueryTooSlow(limits.time);
  if ((code & 0xff) == SQLITE_NOMEM) return QueryTooLarge();
  if ((code & 0xff) == SQLITE_AUTH) return absl::InvalidArgumentError(kOnlySelect);
  if ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_TOOBIG || (code & 0xff) == SQLITE_MISMATCH) {
    return SqlError(sqlite3_errmsg(connection));
  }
  return SqliteStatus(code, sqlite3_errmsg(connection), "running the query");
}

absl::Status Run(sqlite3* connection, const std::string& sql) {
  const int code = sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK
             ? absl::OkStatus()
             : SqliteStatus(code, sqlite3_errmsg(connection), "opening the database for reading");
}

// An authorizer of SQLite; `refused_function` is a std::string.
int Authorize(void* refused_function, int action, const char* first, const char* second, const char*,
              const char*) {
  static const std::vector<std::string> kDescribing = {"application_id", "foreign_key_list", "index_info",
                                                       "index_list",     "index_xinfo",      "table_info",
                                                       "table_list",     "table_xinfo",      "user_version"};
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION: {
      const std::string name = second == nullptr ? "" : absl::AsciiStrToLower(second);
      if (IsOneOf(AllowedFunctions(), name)) return SQLITE_OK;
      *static_cast<std::string*>(refused_function) = name;
      return SQLITE_DENY;
    }
    case SQLITE_PRAGMA:
      return first != nullptr && IsOneOf(kDescribing, first) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<GuardedConnection>> GuardedConnection::Open(
    const std::filesystem::path& database) {
  ASSIGN_OR_RETURN(SqliteHandle handle, OpenForReading(database));
  std::unique_ptr<GuardedConnection> opened(new GuardedConnection(std::move(handle)));
  sqlite3* connection = opened->handle_.get();
  RETURN_IF_ERROR(GuardReading(connection));
  // Users write texts in double quotes, too.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 1, nullptr);
  sqlite3_limit(connection, SQLITE_LIMIT_SQL_LENGTH, kSqlBytesMax);
  // A table-valued function declares itself as a table when first used, which the authorizer would take for a
  // write.
  for (const char* function :
       {"json_each('[]')", "json_tree('[]')", "pragma_table_info('meta')", "pragma_table_xinfo('meta')",
        "pragma_table_list('meta')", "pragma_index_list('meta')"}) {
    sqlite3_exec(connection, absl::StrCat("SELECT 1 FROM ", function).c_str(), nullptr, nullptr, nullptr);
  }
  sqlite3_set_authorizer(connection, &Authorize, &opened->refused_function_);
  return opened;
}

absl::StatusOr<v1::QueryResponse> GuardedConnection::Query(const std::string& sql,
                                                           const QueryLimits& limits) {
  sqlite3* connection = handle_.get();
  Timestamp deadline = MonotonicNow() + limits.time;
  sqlite3_progress_handler(
      connection, kInstructionsBetweenChecks,
      [](void* end) { return MonotonicNow() >= *static_cast<Timestamp*>(end) ? 1 : 0; }, &deadline);
  sqlite3_set_authorizer(connection, nullptr, nullptr);
  RETURN_IF_ERROR(FollowViews(connection, &schema_));
  sqlite3_set_authorizer(connection, &Authorize, &refused_function_);
  refused_function_.clear();
  const auto run = [&]() -> absl::StatusOr<v1::QueryResponse> {
    ASSIGN_OR_RETURN(const StatementPtr statement, PrepareGuarded(connection, sql, refused_function_));
    return CollectRows(connection, statement.get(), limits);
  };
  absl::StatusOr<v1::QueryResponse> response = run();
  sqlite3_progress_handler(connection, 0, nullptr, nullptr);
  return response;
}

const std::vector<std::string>& AllowedFunctions() {
  static const std::vector<std::string> functions = [] {
    std::vector<std::string> names = {
        // Aggregates and windows.
        "avg", "count", "cume_dist", "dense_rank", "first_value", "group_concat", "json_group_array",
        "json_group_object", "lag", "last_value", "lead", "max", "min", "nth_value", "ntile", "percent_rank",
        "rank", "row_number", "sum", "total",
        // Choice and types.
        "coalesce", "ifnull", "iif", "likelihood", "likely", "nullif", "sqlite_version", "typeof", "unlikely",
        // Numbers.
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh",
        "degrees", "exp", "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians",
        "random", "round", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
        // Texts and bytes.
        "char", "concat", "concat_ws", "format", "glob", "hex", "instr", "length", "like", "lower", "ltrim",
        "octet_length", "printf", "quote", "randomblob", "replace", "rtrim", "soundex", "string_agg",
        "substr", "substring", "trim", "unhex", "unicode", "upper", "zeroblob",
        // Dates.
        "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime",
        "time", "timediff", "unixepoch",
        // JSON.
        "->", "->>", "json", "json_array", "json_array_length", "json_error_position", "json_extract",
        "json_insert", "json_object", "json_patch", "json_pretty", "json_quote", "json_remove",
        "json_replace", "json_set", "json_type", "json_valid"};
    std::ranges::sort(names);
    return names;
  }();
  return functions;
}

absl::Status GuardReading(sqlite3* connection) {
  RETURN_IF_ERROR(
      Run(connection, "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; PRAGMA query_only = ON"));
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, 32 << 20);
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  const auto set = [connection](int option, int value) {
    INLIER_CHECK(sqlite3_db_config(connection, option, value, nullptr) == SQLITE_OK);
  };
  set(SQLITE_DBCONFIG_DEFENSIVE, 1);
  set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0);
  set(SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0);
  set(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0);
  set(SQLITE_DBCONFIG_DQS_DML, 0);
  return absl::OkStatus();
}

absl::Status FollowViews(sqlite3* connection, std::int64_t* schema) {
  ASSIGN_OR_RETURN(const std::int64_t now, QueryInteger(connection, "PRAGMA main.schema_version"));
  if (now == *schema) return absl::OkStatus();
  // Read after the number: where another program is stored in between, the next call reads it again.
  ASSIGN_OR_RETURN(const auto programs, ReadPrograms(connection));
  std::string sql = "PRAGMA query_only = OFF;\n";
  for (const View& view : UserViews(programs))
    absl::StrAppend(&sql, "DROP VIEW IF EXISTS temp.", SqlName(view.name), ";\n",
                    view.CreateSql(/*temporary=*/true), ";\n");
  RETURN_IF_ERROR(Run(connection, absl::StrCat(sql, "PRAGMA query_only = ON")));
  *schema = now;
  return absl::OkStatus();
}

absl::Status QueryTooSlow(Duration time) {
  return absl::DeadlineExceededError(
      absl::StrCat("the query took longer than ", FormatDuration(time),
                   "; narrow it, for example with WHERE sweep = '…', or read inlier.db with sqlite3"));
}

absl::Status QueryTooLarge() {
  return absl::ResourceExhaustedError(absl::StrCat("the query needs more than ", kQueryHeapBytes >> 20,
                                                   " MiB of memory; narrow it, for example with WHERE sweep "
                                                   "= '…' or by naming the columns, or read inlier.db "
                                                   "with sqlite3"));
}

}  // namespace inlier
