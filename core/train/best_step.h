// The best step of a training by a curve, and the trained model of that step (training.checkpoint: BEST).
//
// It stands between the trainer and its sink, and sees the points of the curve on rank 0. Of equal points the earliest is the
// best; NaN is worse than every number. What it knows is in each periodic checkpoint, so that a resumed training ends with the
// same model.
#ifndef INLIER_CORE_TRAIN_BEST_STEP_H_
#define INLIER_CORE_TRAIN_BEST_STEP_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/train/checkpoint.h"
#include "core/train/trial_sink.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

class BestStep : public TrialSink {
 public:
  // `training` is resolved. Both must outlive it.
  BestStep(const v1::TrainingSpec& training, TrialSink& sink);

  void OnMeasurement(const v1::MeasurementPoint& point) override;

  // Whether the step, of so many, is compared: each best_every, and the last. Never without BEST.
  bool IsPoint(std::uint64_t step, std::uint64_t updates) const;
  // The point that was reported at this step is better than the best so far. InvalidArgument where none was.
  absl::StatusOr<bool> IsBetter(std::uint64_t step) const;
  // Counts a point. On every rank, with what rank 0 found; it alone has `model` (TrainedTensors), not shared with the
  // training, where it is better.
  void Count(std::uint64_t step, bool better, TensorMap model);

  // Patience has run out.
  bool IsOver() const;

  // Without one: no point yet, or no BEST.
  const std::optional<BestSoFar>& best() const { return best_; }
  void Resume(std::optional<BestSoFar> best) { best_ = std::move(best); }

 private:
  const v1::TrainingSpec& training_;
  TrialSink& sink_;
  const bool more_is_better_;
  std::optional<v1::MeasurementPoint> latest_;
  std::optional<BestSoFar> best_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_BEST_STEP_H_
