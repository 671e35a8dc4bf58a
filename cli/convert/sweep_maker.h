// From what a sweep of another tool says to a sweep of inlier: names that programs may have, axes, sampling and pruning.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_SWEEP_MAKER_H_
#define INLIER_CLI_CONVERT_SWEEP_MAKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/convert/conversion.h"
#include "cli/convert/foreign_sweep.h"

namespace inlier {

// All of the conversion but its tool. `stem` names a sweep that has no name; `program` is the program's name when it is not empty. Errors
// name line and column.
absl::StatusOr<Conversion> MakeSweep(ForeignSweep foreign, const std::string& stem,
                                     const std::string& program);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_SWEEP_MAKER_H_
