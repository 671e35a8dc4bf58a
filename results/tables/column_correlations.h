// Rank correlations of a table's columns.
//
// Thread safety: none.
#ifndef INLIER_RESULTS_TABLES_COLUMN_CORRELATIONS_H_
#define INLIER_RESULTS_TABLES_COLUMN_CORRELATIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "results/tables/comparison.h"

namespace inlier {

// Sets the table's rank correlations. REQUIRES: the form of `spec` is checked, the cells are made.
absl::Status CorrelateColumns(const v1::TableSpec& spec, const std::vector<ColumnPlan>& columns,
                              const CellTrials& trials, v1::Table& table);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_COLUMN_CORRELATIONS_H_
