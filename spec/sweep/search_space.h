// What a sampler has to know of a sweep with sampling.optuna: what to improve, and the axes that it searches.
#ifndef INLIER_SPEC_SWEEP_SEARCH_SPACE_H_
#define INLIER_SPEC_SWEEP_SEARCH_SPACE_H_

#include <optional>
#include <string>

#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/program/measurement_list.h"
#include "spec/schema/problems.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// Checks objectives, constraints and start points. REQUIRES: `grid` is that of the sweep.
void CheckSearch(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems);

// Writes numbers and labels of a point, or of a part of one, as the search shows them: equal points look equal.
// REQUIRES: SweepGrid::SampleOf takes them.
void WriteOneWay(const SweepGrid& grid, google::protobuf::Struct* values);

// The search without its state and its points. REQUIRES: CheckSearch found no problem.
v1::Search SearchOf(const v1::SweepSpec& sweep, const SweepGrid& grid);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_SEARCH_SPACE_H_
