// Checks that one engine runs all trainings of a sweep.
#ifndef INLIER_CLI_ENGINE_CHECK_H_
#define INLIER_CLI_ENGINE_CHECK_H_

#include <string>

#include "spec/sweep/sweep_grid.h"

namespace inlier {

// A warning where some of the first 1000 points train by FUSED and others by REFERENCE, with the reasons; else empty.
std::string EngineWarning(const SweepGrid& grid);

}  // namespace inlier

#endif  // INLIER_CLI_ENGINE_CHECK_H_
