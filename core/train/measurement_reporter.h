// Reports numbers to a sink under their names in spec/trial/measurements.cc, all at one step.
#ifndef INLIER_CORE_TRAIN_MEASUREMENT_REPORTER_H_
#define INLIER_CORE_TRAIN_MEASUREMENT_REPORTER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/train/trial_sink.h"

namespace inlier {

// A result of the stage, or a point of a curve.
enum class ReportKind { kResult, kCurve };

class MeasurementReporter {
 public:
  MeasurementReporter(ReportKind kind, std::uint64_t step, TrialSink& sink)
      : kind_(kind), step_(step), sink_(sink) {}

  void Add(const char* name, double value, const std::string& site = "") {
    v1::MeasurementPoint point;
    point.set_name(name);
    point.set_step(step_);
    point.set_value(value);
    if (!site.empty()) point.set_site(site);
    point.set_final(kind_ == ReportKind::kResult);
    sink_.OnMeasurement(point);
  }
  void Add(const char* name, const std::optional<double>& value) {
    if (value) Add(name, *value);
  }

  // Numbers of single layers are results only: as curves they would be most of the stored points.
  bool has_sites() const { return kind_ == ReportKind::kResult; }

 private:
  const ReportKind kind_;
  const std::uint64_t step_;
  TrialSink& sink_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_MEASUREMENT_REPORTER_H_
