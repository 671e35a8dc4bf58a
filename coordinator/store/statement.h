// A prepared statement: values go in and rows come out by their C++ types. For this folder.
//
// Errors are SQLite::Exception; the caller turns them into a Status. Thread safety: none. The connection
// outlives the statement.
#ifndef INLIER_COORDINATOR_STORE_STATEMENT_H_
#define INLIER_COORDINATOR_STORE_STATEMENT_H_

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/digest.h"
#include "base/strong_id.h"
#include "base/time.h"

namespace inlier {

struct Blob {
  const std::string& bytes;
};

// NULL where the value is empty or zero.
template <typename T>
struct OrNull {
  explicit OrNull(const T& wrapped) : value(wrapped) {}
  const T& value;
};

class Statement {
 public:
  Statement(SQLite::Database& database, std::string_view sql) : handle_(database.getHandle()) {
    const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
    if (code != SQLITE_OK) throw SQLite::Exception(handle_, code);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Runs it to the end with ?1, ?2, … bound; returns the number of rows it changed.
  template <typename... Values>
  int Run(const Values&... values) {
    Restart(values...);
    Next();
    sqlite3_reset(statement_);
    return sqlite3_changes(handle_);
  }

  // Begins again with ?1, ?2, … bound. The texts must outlive the run.
  template <typename... Values>
  void Restart(const Values&... values) {
    sqlite3_reset(statement_);
    bound_ = 0;
    Bind(values...);
  }
  // Binds the parameters after those bound since Restart. A text that is a temporary is copied.
  template <typename... Values>
  void Bind(Values&&... values) {
    (BindOne(++bound_, std::forward<Values>(values)), ...);
  }

  // The next row; false after the last.
  bool Next() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    const SQLite::Exception failed(handle_, code);
    sqlite3_reset(statement_);
    throw failed;
  }
  // Reads the row's first columns. NULL is nullopt, NaN, zero or an empty text. A string_view is valid until
  // the next row.
  template <typename... Fields>
  void Read(Fields&... fields) const {
    int column = 0;
    (ReadOne(column++, fields), ...);
  }

 private:
  void BindOne(int index, std::string_view text) {
    sqlite3_bind_text(statement_, index, text.data() == nullptr ? "" : text.data(),
                      static_cast<int>(text.size()), SQLITE_STATIC);
  }
  template <std::same_as<std::string> Text>
  void BindOne(int index, Text&& text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void BindOne(int index, const Digest& digest) {
    sqlite3_bind_blob(statement_, index, digest.data(), static_cast<int>(digest.size()), SQLITE_STATIC);
  }
  void BindOne(int index, const Blob& blob) {
    sqlite3_bind_blob(statement_, index, blob.bytes.data(), static_cast<int>(blob.bytes.size()),
                      SQLITE_STATIC);
  }
  void BindOne(int index, std::monostate) { sqlite3_bind_null(statement_, index); }
  template <typename... Values>
  void BindOne(int index, const std::variant<Values...>& value) {
    std::visit([&](const auto& held) { BindOne(index, held); }, value);
  }
  void BindOne(int index, double value) { sqlite3_bind_double(statement_, index, value); }
  void BindOne(int index, WallTime time) { BindOne(index, time.unix_ms); }
  template <typename Tag>
  void BindOne(int index, const StrongId<Tag>& id) {
    BindOne(index, id.value());
  }
  // SQLite's integers end at 2^63 - 1; a larger one is stored as that.
  template <typename Value>
  requires std::is_integral_v<Value>
  void BindOne(int index, Value value) {
    if constexpr (std::is_unsigned_v<Value> && sizeof(Value) == sizeof(std::int64_t))
      value = std::min<Value>(value, std::numeric_limits<std::int64_t>::max());
    sqlite3_bind_int64(statement_, index, static_cast<std::int64_t>(value));
  }
  template <typename Value>
  void BindOne(int index, const std::optional<Value>& value) {
    value ? BindOne(index, *value) : BindOne(index, std::monostate());
  }
  template <typename Value>
  void BindOne(int index, const OrNull<Value>& wrapped) {
    wrapped.value != Value{} ? BindOne(index, wrapped.value) : BindOne(index, std::monostate());
  }

  void ReadOne(int column, std::string_view& text) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    text = {static_cast<const char*>(bytes),
            static_cast<std::size_t>(bytes == nullptr ? 0 : sqlite3_column_bytes(statement_, column))};
  }
  void ReadOne(int column, std::string& text) const {
    std::string_view view;
    ReadOne(column, view);
    text = view;
  }
  void ReadOne(int column, double& value) const {
    value = sqlite3_column_type(statement_, column) == SQLITE_NULL
                ? std::numeric_limits<double>::quiet_NaN()
                : sqlite3_column_double(statement_, column);
  }
  void ReadOne(int column, WallTime& time) const { ReadOne(column, time.unix_ms); }
  template <typename Tag>
  void ReadOne(int column, StrongId<Tag>& id) const {
    id = StrongId<Tag>(sqlite3_column_int64(statement_, column));
  }
  template <typename Value>
  requires std::is_integral_v<Value>
  void ReadOne(int column, Value& value) const {
    value = static_cast<Value>(sqlite3_column_int64(statement_, column));
  }
  template <typename Value>
  void ReadOne(int column, std::optional<Value>& value) const {
    if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return;
    ReadOne(column, value.emplace());
  }

  sqlite3* const handle_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;  // Parameters bound since Restart.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_STATEMENT_H_
