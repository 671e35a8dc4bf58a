#include "spec/trial/quantized_curve.h"

#include <string_view>

#include "spec/trial/checks/quantization_checks.h"
#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

constexpr char kCurvePath[] = "training.quantized_curve";

// As the resolver chooses for a trial's own quantization where nothing is given.
void ChooseScheme(const v1::ModelSpec& model, v1::QuantizationSpec* quantization) {
  if (quantization->scheme_case() == v1::QuantizationSpec::SCHEME_NOT_SET) {
    if (model.has_gpt2() || model.has_llama()) {
      quantization->mutable_absmax();
    } else {
      quantization->mutable_reference();
    }
  }
  if (model.has_vit() && quantization->has_reference() && !quantization->reference().has_setup())
    quantization->mutable_reference()->set_setup(v1::ReferenceSchemeSpec::ALL);
}

}  // namespace

v1::QuantizationSpec CurveQuantization(const v1::TrialSpec& spec) {
  const v1::QuantizedCurveSpec& curve = spec.training().quantized_curve();
  v1::QuantizationSpec quantization;
  *quantization.mutable_weights() = curve.weights();
  *quantization.mutable_activations() = curve.activations();
  if (curve.has_reference()) *quantization.mutable_reference() = curve.reference();
  if (curve.has_absmax()) *quantization.mutable_absmax() = curve.absmax();
  if (curve.has_zeropoint()) *quantization.mutable_zeropoint() = curve.zeropoint();
  ChooseScheme(spec.model(), &quantization);
  WriteFormatBits(&quantization);
  if (IsCalibrated(quantization)) *quantization.mutable_calibration() = curve.calibration();
  return quantization;
}

void CheckQuantizedCurve(const v1::TrialSpec& spec, Problems* problems) {
  if (spec.training().measure_quantized_every() == 0) {
    if (spec.training().has_quantized_curve()) {
      problems->Add(kCurvePath,
                    "has no effect, for training.measure_quantized_every is 0: give it, such as 100, or "
                    "leave this out");
    }
    return;
  }
  v1::TrialSpec as_evaluated = spec;
  *as_evaluated.mutable_quantization() = CurveQuantization(spec);
  Problems found;
  CheckQuantization(as_evaluated, &found);
  constexpr std::string_view kOwn = "quantization";
  for (const Problem& problem : found.kept())
    problems->Add(kCurvePath + problem.path.substr(kOwn.size()), problem.text);
}

}  // namespace inlier
