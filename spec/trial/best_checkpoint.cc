#include "spec/trial/best_checkpoint.h"

#include <string>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

constexpr char kBy[] = "training.best_by", kEvery[] = "training.best_every",
               kPatience[] = "training.patience";

bool IsCurve(const MeasurementInfo& info) { return info.curve && info.axis != "site"; }

// On the validation part, and one of two points is the better one.
bool CanChoose(const MeasurementInfo& info) {
  return IsCurve(info) && PeriodFieldOf(info) != "measure_every" && info.better != Better::kNone;
}

// BEST chooses by it; null with a problem where it cannot.
const MeasurementInfo* CheckCurve(const v1::TrainingSpec& training, Problems* problems) {
  const MeasurementInfo* curve = FindMeasurement(training.best_by());
  if (curve != nullptr && CanChoose(*curve)) return curve;
  std::vector<std::string> curves;
  for (const MeasurementInfo& info : Measurements()) {
    if (CanChoose(info)) curves.emplace_back(info.name);
  }
  problems->Add(kBy, Quoted(training.best_by()) +
                         (curve == nullptr
                              ? " is not a measurement" + DidYouMean(training.best_by(), curves)
                              : std::string(" is not a curve of the validation part with a better direction; "
                                            "give one such as loss, float_loss or quantized_loss")));
  return nullptr;
}

void CheckWithoutBest(const v1::TrainingSpec& training, Problems* problems) {
  constexpr char kNoEffect[] = "has no effect without training.checkpoint: BEST; give it, or leave this out";
  if (training.best_by() != v1::TrainingSpec::default_instance().best_by()) problems->Add(kBy, kNoEffect);
  if (training.has_best_every()) problems->Add(kEvery, kNoEffect);
  if (training.has_patience()) problems->Add(kPatience, kNoEffect);
}

}  // namespace

std::uint32_t CurvePeriod(const MeasurementInfo& curve, const v1::TrainingSpec& training) {
  const auto* field = training.GetDescriptor()->FindFieldByName(std::string(PeriodFieldOf(curve)));
  INLIER_CHECK(field != nullptr);
  return training.GetReflection()->GetUInt32(training, field);
}

void FillBestEvery(v1::TrainingSpec* training) {
  if (training->checkpoint() != v1::TrainingSpec::BEST || training->has_best_every()) return;
  const MeasurementInfo* curve = FindMeasurement(training->best_by());
  if (curve == nullptr || !CanChoose(*curve)) return;  // Reported by the checks.
  if (const std::uint32_t period = CurvePeriod(*curve, *training); period > 0)
    training->set_best_every(period);
}

void CheckBestCheckpoint(const v1::TrainingSpec& training, Problems* problems) {
  if (training.checkpoint() != v1::TrainingSpec::BEST) return CheckWithoutBest(training, problems);
  const MeasurementInfo* curve = CheckCurve(training, problems);
  if (curve == nullptr) return;
  const std::string period_path = "training." + std::string(PeriodFieldOf(*curve));
  const std::uint32_t period = CurvePeriod(*curve, training), every = training.best_every();
  if (period == 0)
    return problems->Add(kBy, training.best_by() + " is never taken while training, for " + period_path +
                                  " is 0; give it, such as 100");
  if (every == 0) return;  // Reported: out of range.
  if (every % period != 0)
    return problems->Add(kEvery, std::to_string(every) + " is not a multiple of " + period_path + " " +
                                     std::to_string(period) + ", at which " + training.best_by() +
                                     " is taken");
  if (!training.has_steps()) return;
  const std::string steps = std::to_string(training.steps());
  if (every >= training.steps())
    return problems->Add(kEvery, std::to_string(every) + " leaves no point before the end at step " + steps +
                                     ": lower it and " + period_path + ", or leave BEST out");
  if (training.has_patience() && (std::uint64_t{training.patience()} + 1) * every >= training.steps())
    problems->Add(kPatience, std::to_string(training.patience()) + " never ends the training: of its " +
                                 steps + " steps only every " + std::to_string(every) +
                                 "th has a point; lower it, or leave it out");
}

}  // namespace inlier
