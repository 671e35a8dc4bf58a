// Rows by id: ids count from 1, rows are never removed and stay where they are in memory.
#ifndef INLIER_COORDINATOR_STATE_ID_TABLE_H_
#define INLIER_COORDINATOR_STATE_ID_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/check.h"

namespace inlier {

// `Row` has a member `Id id`.
template <typename Id, typename Row>
class IdTable {
 public:
  // The id of the next row.
  Id NextId() const { return Id(static_cast<std::int64_t>(rows_.size()) + 1); }
  // REQUIRES: its id is NextId().
  Row& Add(Row row) {
    INLIER_CHECK(row.id == NextId());
    return rows_.emplace_back(std::move(row));
  }

  bool contains(Id id) const { return id >= Id(1) && id < NextId(); }
  // nullptr: there is none.
  const Row* Find(Id id) const { return contains(id) ? &at(id) : nullptr; }
  // REQUIRES: it exists.
  Row& at(Id id) { return rows_.at(static_cast<std::size_t>(id.value() - 1)); }
  const Row& at(Id id) const { return rows_.at(static_cast<std::size_t>(id.value() - 1)); }
  std::size_t size() const { return rows_.size(); }
  // Rows in the order of their ids.
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

 private:
  std::deque<Row> rows_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_ID_TABLE_H_
