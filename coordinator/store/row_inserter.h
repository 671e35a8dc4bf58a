// Many rows of one table, up to kRowsMax a statement: SQLite opens its cursors once for all of them.
//
// Not part of the store's interface. Runs inside the transaction of Store::Apply; errors are
// SQLite::Exception. Thread safety: none.
#ifndef INLIER_COORDINATOR_STORE_ROW_INSERTER_H_
#define INLIER_COORDINATOR_STORE_ROW_INSERTER_H_

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/strong_id.h"
#include "base/time.h"

namespace SQLite {
class Database;
}

namespace inlier {

// The values of a statement, in their order. Texts must outlive its run, except CopiedText.
class RowValues {
 public:
  explicit RowValues(sqlite3_stmt* statement) : statement_(statement) {}

  RowValues& Text(std::string_view text) {
    sqlite3_bind_text(statement_, ++index_, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    return *this;
  }
  RowValues& CopiedText(std::string_view text) {
    sqlite3_bind_text(statement_, ++index_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  RowValues& Bytes(std::string_view bytes) {
    sqlite3_bind_blob(statement_, ++index_, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
    return *this;
  }
  RowValues& Real(double value) {
    sqlite3_bind_double(statement_, ++index_, value);
    return *this;
  }
  RowValues& Null() {
    sqlite3_bind_null(statement_, ++index_);
    return *this;
  }
  // SQLite's integers end at 2^63 - 1; a larger one is stored as that.
  template <typename Value>
  requires std::is_integral_v<Value> RowValues& Integer(Value value) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if constexpr (std::is_unsigned_v<Value> && sizeof(Value) == sizeof(kMax))
      value = std::min<Value>(value, kMax);
    sqlite3_bind_int64(statement_, ++index_, static_cast<std::int64_t>(value));
    return *this;
  }
  template <typename Tag>
  RowValues& Integer(const StrongId<Tag>& id) {
    return Integer(id.value());
  }
  // NULL where it is zero.
  template <typename Tag>
  RowValues& IntegerOrNull(const StrongId<Tag>& id) {
    return id ? Integer(id) : Null();
  }
  template <typename Value>
  RowValues& Integer(const std::optional<Value>& value) {
    return value ? Integer(*value) : Null();
  }

 private:
  sqlite3_stmt* const statement_;
  int index_ = 0;
};

class RowInserter {
 public:
  static constexpr std::size_t kRowsMax = 64;  // Of one statement.

  // `table` with its columns: "stage (id, kind)". Both outlive the inserter.
  RowInserter(SQLite::Database& database, std::string_view table);
  ~RowInserter();
  RowInserter(const RowInserter&) = delete;
  RowInserter& operator=(const RowInserter&) = delete;

  // A row for each of `items`, in their order: `give(item, values)` gives its values in that of the columns.
  template <typename Item, typename Give>
  void Insert(std::span<Item> items, Give give) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      for (const std::size_t rows = kSizes[i]; items.size() >= rows; items = items.subspan(rows)) {
        sqlite3_stmt* statement = Prepared(i);
        RowValues values(statement);
        for (Item& item : items.first(rows)) give(item, values);
        Run(statement);
      }
    }
  }

 private:
  static constexpr std::array<std::size_t, 3> kSizes = {kRowsMax, 8, 1};

  sqlite3_stmt* Prepared(std::size_t size);
  void Run(sqlite3_stmt* statement);

  sqlite3* const handle_;
  const std::string_view table_;
  std::array<sqlite3_stmt*, kSizes.size()> statements_ = {};
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_ROW_INSERTER_H_
