// Many rows of one table. For the .cc files of this folder; errors are SQLite::Exception.
#ifndef INLIER_COORDINATOR_STORE_ROW_INSERTER_H_
#define INLIER_COORDINATOR_STORE_ROW_INSERTER_H_

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/statement.h"

namespace inlier {

// The number of first `changes` for which `condition` holds.
template <typename Condition>
std::size_t RunOf(std::span<const Change> changes, Condition condition) {
  return static_cast<std::size_t>(std::find_if_not(changes.begin(), changes.end(), condition) -
                                  changes.begin());
}

template <typename Row>
std::vector<const Row*> RowsOf(std::span<const Change> changes) {
  std::vector<const Row*> rows;
  for (const Change& change : changes) {
    if (const auto* row = std::get_if<Row>(&change)) rows.push_back(row);
  }
  return rows;
}

// Inserts rows of one table, up to 64 with one statement: SQLite opens its cursors once for all of them.
class RowInserter {
 public:
  // `table` with its columns: "stage (id, kind)".
  RowInserter(SQLite::Database& database, std::string_view table) : database_(database), table_(table) {}

  // Inserts `rows` in their order; `bind(row, statement)` binds the values of one in the order of the
  // columns.
  template <typename Row, typename BindRow>
  void Insert(std::span<const Row* const> rows, BindRow bind) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      for (; rows.size() >= kSizes[i]; rows = rows.subspan(kSizes[i])) {
        if (!statements_[i]) statements_[i].emplace(database_, Sql(kSizes[i]));
        statements_[i]->Restart();
        for (const Row* row : rows.first(kSizes[i])) bind(*row, *statements_[i]);
        statements_[i]->Next();
      }
    }
  }

 private:
  static constexpr std::array<std::size_t, 3> kSizes = {64, 8, 1};

  // OR ROLLBACK: a row that breaks a rule ends the whole transaction. SQLite keeps no copies of pages for it.
  std::string Sql(std::size_t rows) const {
    std::string row = "(?";
    for (auto i = std::ranges::count(table_, ','); i > 0; --i) row += ", ?";
    std::string sql = absl::StrCat("INSERT OR ROLLBACK INTO ", std::string(table_), " VALUES ", row, ")");
    for (std::size_t i = 1; i < rows; ++i) absl::StrAppend(&sql, ", ", row, ")");
    return sql;
  }

  SQLite::Database& database_;
  const std::string_view table_;
  std::array<std::optional<Statement>, kSizes.size()> statements_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_ROW_INSERTER_H_
