#include "core/train/best_step.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

bool MoreIsBetter(const v1::TrainingSpec& training) {
  const MeasurementInfo* curve = FindMeasurement(training.best_by());
  return curve != nullptr && curve->better == Better::kHigher;
}

}  // namespace

BestStep::BestStep(const v1::TrainingSpec& training, TrialSink& sink)
    : training_(training), sink_(sink), more_is_better_(MoreIsBetter(training)) {}

void BestStep::OnMeasurement(const v1::MeasurementPoint& point) {
  if (!point.final() && point.name() == training_.best_by()) latest_ = point;
  sink_.OnMeasurement(point);
}

bool BestStep::IsPoint(std::uint64_t step, std::uint64_t updates) const {
  return training_.checkpoint() == v1::TrainingSpec::BEST &&
         (step % training_.best_every() == 0 || step == updates);
}

absl::StatusOr<bool> BestStep::IsBetter(std::uint64_t step) const {
  if (!latest_ || latest_->step() != step)
    return absl::InvalidArgumentError(absl::StrCat("training.best_by: this training reports no ",
                                                   training_.best_by(), " (at step ", step,
                                                   "): give another curve, such as loss"));
  if (!best_) return true;
  const double now = latest_->value(), before = best_->value;
  if (std::isnan(now) || std::isnan(before)) return std::isnan(before) && !std::isnan(now);
  return more_is_better_ ? now > before : now < before;
}

void BestStep::Count(std::uint64_t step, bool better, TensorMap model) {
  if (better) {
    best_ = {.step = step, .value = latest_ ? latest_->value() : 0, .model = std::move(model)};
  } else {
    ++best_->points_since;
  }
}

bool BestStep::IsOver() const {
  return training_.has_patience() && best_ && best_->points_since >= training_.patience();
}

}  // namespace inlier
