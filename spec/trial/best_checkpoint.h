// Trainings whose result is the best step by a curve (training.checkpoint: BEST), and the periods of curves.
#ifndef INLIER_SPEC_TRIAL_BEST_CHECKPOINT_H_
#define INLIER_SPEC_TRIAL_BEST_CHECKPOINT_H_

#include <cstdint>

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"
#include "spec/trial/measurements.h"

namespace inlier {

// Updates between the points of the curve, or 0. REQUIRES: `curve` is one.
std::uint32_t CurvePeriod(const MeasurementInfo& curve, const v1::TrainingSpec& training);

// Writes best_every where BEST leaves it to the period of the curve: unlike that period it decides the result.
void FillBestEvery(v1::TrainingSpec* training);

// Adds the problems of a resolved training.
void CheckBestCheckpoint(const v1::TrainingSpec& training, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_BEST_CHECKPOINT_H_
