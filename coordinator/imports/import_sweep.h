// Sweeps of kind imported (SweepSpec.imported): results that `inlier import` read elsewhere.
//
// One is made in one step, ended, with all its trials; nothing of it is ever expanded, leased or edited. A run is a trial like any
// other: a training that has the numbers, without a model (StageFate::kNoModel), and an evaluation of nothing, so that views, tables,
// figures, removal and backups need no second rule. Its stages have fingerprints of their own kind, so no training of ours ever
// has its results. A run that did not finish is a FAILED trial without stages and numbers.
#ifndef INLIER_COORDINATOR_IMPORTS_IMPORT_SWEEP_H_
#define INLIER_COORDINATOR_IMPORTS_IMPORT_SWEEP_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "coordinator/state/feature.h"
#include "inlier/v1/sweep_import.pb.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// What can be said of a request without the state: its form and its size. InvalidArgument names the place.
absl::Status CheckImport(const v1::ImportSweepRequest& request);

// All of it or nothing; where the same was imported before, that sweep. FailedPrecondition where that one was removed. `grid`: of
// request.spec(). REQUIRES: CheckImport is OK.
absl::StatusOr<v1::ImportSweepResponse> ImportSweep(Context& context, const v1::ImportSweepRequest& request,
                                                    const SweepGrid& grid, const Caller& caller);

// From where it is.
Feature ImportedSweeps();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_IMPORTS_IMPORT_SWEEP_H_
