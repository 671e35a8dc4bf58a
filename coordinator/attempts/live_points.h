// The points of live attempts that people watch: kept by the attempt and by the sweeps that need it.
#ifndef INLIER_COORDINATOR_ATTEMPTS_LIVE_POINTS_H_
#define INLIER_COORDINATOR_ATTEMPTS_LIVE_POINTS_H_

#include "coordinator/state/state.h"
#include "spec/trial/measurements.h"

namespace inlier {

// Points of single modules are left out.
void NoteLivePoint(State& state, Attempt& attempt, const MeasurementInfo& info,
                   const v1::MeasurementPoint& point);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_LIVE_POINTS_H_
