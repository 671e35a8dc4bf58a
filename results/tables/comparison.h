// Comparisons between cells of a table: the best of a column, and differences to a baseline's row.
//
// Thread safety: none.
#ifndef INLIER_RESULTS_TABLES_COMPARISON_H_
#define INLIER_RESULTS_TABLES_COMPARISON_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "results/tables/cell_maker.h"
#include "spec/program/measurement_list.h"

namespace inlier {

// Numbers of rows that are compared: those that agree in all row axes that the baseline does not name; all without one.
struct RowGroup {
  std::vector<int> rows;
  int baseline = -1;  // One of `rows`; -1: the group has none.
};
std::vector<RowGroup> GroupsOfRows(const v1::TableSpec& spec, const v1::Table& table);

// Marks the best cells of each group: complete ones (nothing diverged or missing) that no other complete one surpasses as
// printed, where some complete cell is worse.
void MarkBest(const v1::TableSpec& spec, const MeasurementList& measurements,
              const std::vector<RowGroup>& groups, v1::Table& table);

// The trials behind a cell, by row and column.
using CellTrials = std::function<absl::StatusOr<Trials>(int row, int column)>;

struct BaselineComparison {
  const v1::TableSpec& spec;
  const std::vector<RowGroup>& groups;
  const std::vector<ColumnPlan>& columns;        // By column; those of mean_of are empty.
  const std::set<std::string>& evaluation_axes;  // AxesOfEvaluations.
  CellTrials trials;
};
// Sets the baseline's row of each row, the difference, intervals and tests of each cell with a baseline, and notes of rows
// without one and cells without a pair. Means over labels or columns have a difference alone.
absl::Status CompareWithBaseline(const BaselineComparison& comparison, v1::Table& table);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_COMPARISON_H_
