// Where a sweep's pruning compares trainings, and whether it ever can.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SWEEP_PRUNING_CHECKS_H_
#define INLIER_SPEC_SWEEP_PRUNING_CHECKS_H_

#include <cstdint>
#include <optional>

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/problems.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// The highest rung (step of comparison) at or below `step`; nullopt below the first. REQUIRES: `spec` has a rule.
std::optional<std::uint64_t> PruningRungAt(const v1::PruningSpec& spec, std::uint64_t step);

// Checks that the measurement is a curve of the training, and that some of the sweep's trainings can be compared.
// REQUIRES: the declarations of `sweep` hold, and `grid` is its grid.
void CheckPruning(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_PRUNING_CHECKS_H_
