// Checks that the resources of a sweep's attempts fit together and to its trainings.
//
// Thread safety: a pure function.
#ifndef INLIER_SPEC_SWEEP_RESOURCE_CHECKS_H_
#define INLIER_SPEC_SWEEP_RESOURCE_CHECKS_H_

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/problems.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// Refuses `gpus` with `gpu` or `processes`, and updates of the first points that do not split over the processes.
void CheckResources(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_RESOURCE_CHECKS_H_
