// A table like those of the papers, from the results of a sweep: mean and standard deviation over everything
// not named.
//
// Reads the views `trials` and `results` through a Reader (blocking). A cell's numbers come from the trials
// of its row that match its column: SUCCEEDED ones with a value are counted and averaged, DIVERGED ones are
// counted apart, all others are missing. A table is bounded in cells, in the trials that it names and in time.
#ifndef INLIER_COORDINATOR_TABLES_TABLE_BUILDER_H_
#define INLIER_COORDINATOR_TABLES_TABLE_BUILDER_H_

#include <functional>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// The table of a sweep that names none: all axes but the seeds as rows, the usual measurements as columns.
v1::TableSpec DefaultTableSpec(const v1::SweepSpec& sweep);

// The table `spec` of `sweep`; spec absent (no columns): the sweep's own, or the default one. InvalidArgument
// names an axis, column, measurement or published table that does not exist, and what comes close, and a table
// with too many cells; DeadlineExceeded past kTableTime; Cancelled once `cancelled` (may be empty) is true.
inline constexpr Duration kTableTime = std::chrono::seconds(30);
absl::StatusOr<v1::Table> BuildTable(Reader& reader, SweepId sweep, const v1::TableSpec& spec,
                                     const std::function<bool()>& cancelled = {});

}  // namespace inlier

#endif  // INLIER_COORDINATOR_TABLES_TABLE_BUILDER_H_
