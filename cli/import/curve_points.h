// How many points imported curves keep.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_IMPORT_CURVE_POINTS_H_
#define INLIER_CLI_IMPORT_CURVE_POINTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/import/foreign_runs.h"

namespace inlier {

// In the order of steps; of several at one step the last.
void Tidy(ForeignCurve& curve);

// `points` of it, evenly spread, the last with them and, of two or more, the first.
ForeignCurve Thinned(const ForeignCurve& curve, std::size_t points);

// `wanted`, or fewer, so that all numbers of the runs together are within the limit; adds to `remarks` how many curves have more.
// InvalidArgument: 0 are wanted, or no number of points is few enough.
absl::StatusOr<std::size_t> PointsOfACurve(const std::vector<ForeignRun>& runs, std::size_t wanted,
                                           std::vector<std::string>& remarks);

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_CURVE_POINTS_H_
