// Where a sweep's pruning compares trainings, and whether it ever can.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SWEEP_PRUNING_CHECKS_H_
#define INLIER_SPEC_SWEEP_PRUNING_CHECKS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/problems.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// How many points of each round go to Hyperband's brackets, the first bracket first: ceil(n / (s + 1) * reduction^s) with s
// from n - 1 down to 0 (Li et al. 2018, algorithm 1). {1} without brackets.
std::vector<std::uint64_t> PruningBracketSizes(const v1::PruningSpec& spec);

// The bracket, from 1, of the point of this number. Each round of as many points as the sizes add up to gives every bracket
// its share, in a random order, so that no bracket has the same labels of an axis each time.
std::uint32_t PruningBracketOf(const v1::PruningSpec& spec, std::uint64_t number);

// The highest rung (step of comparison) of the bracket at or below `step`; nullopt below the first. REQUIRES: `spec` has a rule.
std::optional<std::uint64_t> PruningRungAt(const v1::PruningSpec& spec, std::uint32_t bracket,
                                           std::uint64_t step);

// Checks that the measurement is a curve of the training, and that some of the sweep's trainings can be compared.
// REQUIRES: the declarations of `sweep` hold, and `grid` is its grid.
void CheckPruning(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_PRUNING_CHECKS_H_
