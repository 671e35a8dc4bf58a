// Comparisons between cells of a table: the best of a column, and differences to a baseline's row.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_TABLES_COMPARISON_H_
#define INLIER_COORDINATOR_TABLES_COMPARISON_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/tables/trial_values.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// The number of a cell that its column shows; nothing without results.
std::optional<double> ShownNumber(const v1::TableCell& cell, v1::TableColumn::Statistic statistic);

// Rows by number that are compared with one another: those that agree in all row axes that the baseline does not
// name; without a baseline all rows.
struct RowGroup {
  std::vector<int> rows;
  int baseline = -1;  // One of `rows`; -1: the group has none.
};
std::vector<RowGroup> GroupsOfRows(const v1::TableSpec& spec, const v1::Table& table);

// Marks the best cells of each group: complete ones (nothing diverged, nothing missing) that no other complete one
// surpasses as printed, where some complete cell is worse.
void MarkBest(const v1::TableSpec& spec, const std::vector<RowGroup>& groups, v1::Table& table);

// The trials behind a cell, by row and column.
using CellTrials = std::function<absl::StatusOr<std::vector<const TrialValues*>>(int row, int column)>;
// Sets difference, interval and tests of each cell that has a baseline.
absl::Status CompareWithBaseline(const v1::TableSpec& spec, const std::vector<RowGroup>& groups,
                                 const std::vector<MeasurementChoice>& measurements, const CellTrials& trials,
                                 v1::Table& table);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_TABLES_COMPARISON_H_
