#include "coordinator/attempts/live_points.h"

#include <string>

#include "inlier/v1/trial_spec.pb.h"

namespace inlier {
namespace {

// The model that the attempt measures.
std::string SettingOf(const Stage& stage) {
  v1::TrialSpec spec;
  const bool quantized = stage.kind == v1::EVALUATE_STAGE &&
                         spec.ParseFromString(PackedSpec(stage.detail().spec)) && spec.has_quantization();
  const v1::QuantizationSpec& quantization = spec.quantization();
  return quantized ? SettingText(quantization.has_weights() ? quantization.weights().bits() : 0,
                                 quantization.has_activations() ? quantization.activations().bits() : 0)
                   : SettingText(0, 0);
}

}  // namespace

void NoteLivePoint(State& state, Attempt& attempt, const MeasurementInfo& info,
                   const v1::MeasurementPoint& point) {
  if (!point.site().empty()) return;
  attempt.latest.Take(info, point.step(), point.value());
  if (!SweepValues::Has(info)) return;
  const Stage& stage = state.stages.at(attempt.stage);
  if (attempt.setting.empty()) attempt.setting = SettingOf(stage);
  for (const Dependent& dependent : stage.Dependents())
    state.sweeps.at(dependent.sweep).values.Take(info, attempt.setting, point.value());
}

}  // namespace inlier
