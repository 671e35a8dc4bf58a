// A table like those of the papers, from the results of sweeps: mean and standard deviation over everything not named,
// the best of each column, and differences to a baseline.
//
// Reads the views `trials` and `results` through a Reader (blocking). Of the trials of a cell's row that match its column,
// SUCCEEDED ones with a value are averaged, DIVERGED ones are counted apart, others are missing. A table is bounded in
// cells, in the trials that it names and in time.
#ifndef INLIER_RESULTS_TABLES_TABLE_BUILDER_H_
#define INLIER_RESULTS_TABLES_TABLE_BUILDER_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// TableAskedFor of `spec` and the first of 1 to kTableSweepsMax sweeps, with all their trials. An axis that a sweep lacks
// is empty there. InvalidArgument names an unknown axis, column, measurement or published table and the nearest known
// one, or a table with too many cells; DeadlineExceeded past kTableTime; Cancelled once `cancelled` is true.
inline constexpr int kTableSweepsMax = 100;
inline constexpr Duration kTableTime = std::chrono::seconds(30);
absl::StatusOr<v1::Table> BuildTable(Reader& reader, const std::vector<SweepId>& sweeps,
                                     const v1::TableSpec& spec, const std::function<bool()>& cancelled = {});

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_TABLE_BUILDER_H_
