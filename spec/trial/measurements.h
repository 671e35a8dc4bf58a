// The closed list of measurement names: what a trial may report, and what each number means.
#ifndef INLIER_SPEC_TRIAL_MEASUREMENTS_H_
#define INLIER_SPEC_TRIAL_MEASUREMENTS_H_

#include <string_view>
#include <vector>

#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The better direction of a measurement; kNone: it only describes.
enum class Better { kNone, kLower, kHigher };

struct MeasurementReport {
  std::string_view axis;    // "step" for curves, "site" for one number a module, "" for one number a trial.
  std::string_view source;  // The stage that reports it: "train" or "evaluate".
  bool final = false;       // Reported once at the end of the stage.
  bool curve = false;       // Reported while it runs.
  // Of the evaluate stage: the least evaluation.measure that reports it. Curves do not depend on it.
  v1::EvaluationSpec::Measure measure = v1::EvaluationSpec::SCORES;
  bool quantized = false;  // Of quantized trials alone.
};

struct MeasurementInfo : MeasurementReport {
  Better better = Better::kNone;
  std::string_view name;
  std::string_view unit;         // "1" for pure numbers.
  std::string_view formula;      // In plain text; measurements.cc defines a row.
  std::string_view period = "";  // Of a curve: PeriodFieldOf, where the stage does not decide it.
};

const std::vector<MeasurementInfo>& Measurements();

// "curve and final", "curve" or "final".
std::string_view ReportedWord(const MeasurementReport& report);
// "lower", "higher" or "".
std::string_view BetterWord(Better better);

// nullptr when there is none of that name.
const MeasurementInfo* FindMeasurement(std::string_view name);

// The field of TrainingSpec that has the updates between the points of this curve.
std::string_view PeriodFieldOf(const MeasurementInfo& curve);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_MEASUREMENTS_H_
