#include "spec/trial/checks/quantization_checks.h"

#include <cstdint>
#include <string>

#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"
#include "spec/trial/architecture.h"
#include "spec/trial/checks/quantization_method_checks.h"

namespace inlier {
namespace {

using Absmax = v1::AbsmaxSchemeSpec;
using Zeropoint = v1::ZeropointSchemeSpec;

// An asymmetric search for the least squared error tries 200 * 2^(bits - 2) ranges.
constexpr std::uint32_t kAsymmetricSearchBitsMax = 8;

// True where norms have sixteen bits, independent of the rest.
bool HasSixteenBitNorms(const v1::ReferenceSchemeSpec& reference) {
  return reference.setup() == v1::ReferenceSchemeSpec::FP32_HEAD_INT16_FINAL_LN ||
         reference.setup() == v1::ReferenceSchemeSpec::FP32_HEAD_INT16_ALL_LN;
}

// Checks the search for the ranges of one part; `path` is its field.
template <typename Part>
void CheckSearch(const std::string& path, const Part& part, const v1::ReferenceSchemeSpec& reference,
                 Problems* problems) {
  if (!part.range().has_mse() || part.symmetric()) return;
  const char* const remedy = ": use symmetric: true, or another range";
  if (part.bits() > kAsymmetricSearchBitsMax) {
    problems->Add(path + ".range.mse", "an asymmetric search with " + std::to_string(part.bits()) +
                                           " bits tries too many ranges to end, it can be had up to 8" +
                                           remedy);
  } else if (HasSixteenBitNorms(reference)) {
    problems->Add(path + ".range.mse", "an asymmetric search with the 16 bits that " +
                                           v1::ReferenceSchemeSpec::Setup_Name(reference.setup()) +
                                           " gives to norms tries too many ranges to end" + remedy);
  }
}

void CheckReference(const v1::TrialSpec& spec, Problems* problems) {
  const v1::QuantizationSpec& quantization = spec.quantization();
  const v1::ReferenceSchemeSpec& reference = quantization.reference();
  const std::string architecture(ArchitectureName(spec.model()));
  if (spec.model().has_gpt2() || spec.model().has_llama())
    return problems->Add("quantization.reference",
                         "places quantizers where the reference has them, and it has no model." +
                             architecture + ": use quantization.absmax or quantization.zeropoint");
  if (spec.model().has_bert() && reference.setup() != v1::ReferenceSchemeSpec::FP32_HEAD) {
    problems->Add("quantization.reference.setup",
                  v1::ReferenceSchemeSpec::Setup_Name(reference.setup()) +
                      " is for model.opt and model.vit; the head of BERT is never quantized: leave it out");
  }
  const v1::WeightQuantizationSpec& weights = quantization.weights();
  if (weights.range().has_mse() && weights.per_channel() && !weights.symmetric()) {
    problems->Add(
        "quantization.weights.per_channel",
        "true with range.mse needs symmetric: true, for an asymmetric search knows one range a tensor");
  } else {
    CheckSearch("quantization.weights", weights, reference, problems);
  }
  CheckSearch("quantization.activations", quantization.activations(), reference, problems);
}

// Settings of how ranges are found, or how many there are, have no effect where every tensor's own extremes decide.
void CheckPartsOfLinears(const v1::QuantizationSpec& quantization, const std::string& scheme,
                         const char* symmetry, Problems* problems) {
  const auto no_effect = [&](const std::string& field, const std::string& value, const std::string& why) {
    problems->Add("quantization." + field,
                  value + " has no effect with " + scheme + ", " + why + ": leave it out");
  };
  const std::string extremes = "whose scales come from each tensor's own extremes";
  const v1::WeightQuantizationSpec& weights = quantization.weights();
  const v1::ActivationQuantizationSpec& activations = quantization.activations();
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  if (weights.symmetric() != v1::WeightQuantizationSpec::default_instance().symmetric()) {
    no_effect("weights.symmetric", flag(weights.symmetric()), symmetry);
  }
  if (weights.per_channel()) {
    no_effect("weights.per_channel", "true",
              quantization.has_absmax() ? "whose granularity decides it" : "which has one range a row");
  }
  if (weights.range().has_mse() || weights.range().has_percentile())
    no_effect("weights.range", ChosenMember(weights.range(), "kind"), extremes);
  if (activations.symmetric() != v1::ActivationQuantizationSpec::default_instance().symmetric()) {
    no_effect("activations.symmetric", flag(activations.symmetric()), symmetry);
  }
  const std::string kind = ChosenMember(activations.range(), "kind");
  const v1::RunningMinMaxRangeSpec& running = activations.range().running_minmax();
  if (kind != "running_minmax") no_effect("activations.range", kind, extremes);
  if (running.momentum() != v1::RunningMinMaxRangeSpec::default_instance().momentum())
    no_effect("activations.range.running_minmax.momentum", FormatNumber(running.momentum()), extremes);
  if (running.has_percentile())
    no_effect("activations.range.running_minmax.percentile", FormatNumber(running.percentile()), extremes);
}

void CheckHead(const v1::ModelSpec& model, const std::string& path, bool head, Problems* problems) {
  if (head && model.has_bert()) {
    problems->Add(path + ".head", "true is not for model.bert, whose head is never quantized: leave it out");
  }
}

void CheckAbsmax(const v1::TrialSpec& spec, Problems* problems) {
  const std::string path = "quantization.absmax";
  const v1::QuantizationSpec& quantization = spec.quantization();
  const Absmax& absmax = quantization.absmax();
  const bool fine = absmax.granularity() == Absmax::FINE;
  CheckPartsOfLinears(quantization, "absmax", "which is symmetric", problems);
  CheckHead(spec.model(), path, absmax.head(), problems);

  const bool activations = quantization.has_activations();
  const std::string float_activations =
      "activations stay float: leave it out, or give quantization.activations";
  if (absmax.activation_axis() != Absmax::default_instance().activation_axis() && (!fine || !activations)) {
    problems->Add(path + ".activation_axis",
                  v1::ScaleAxis_Name(absmax.activation_axis()) + " has no effect, for " +
                      (fine ? float_activations
                            : Absmax::Granularity_Name(absmax.granularity()) +
                                  " has one scale a tensor: leave it out, or use granularity: FINE"));
  }
  if (absmax.granularity() == Absmax::COARSE && !activations) {
    problems->Add(path + ".granularity",
                  "COARSE is MODERATE with quantized outputs, and outputs are activations, "
                  "which stay float: use MODERATE, or give quantization.activations");
  }
}

void CheckZeropoint(const v1::TrialSpec& spec, Problems* problems) {
  const std::string path = "quantization.zeropoint";
  const v1::QuantizationSpec& quantization = spec.quantization();
  const Zeropoint& zeropoint = quantization.zeropoint();
  CheckPartsOfLinears(quantization, "zeropoint", "which is asymmetric", problems);
  CheckHead(spec.model(), path, zeropoint.head(), problems);
  if (zeropoint.activation_axis() != Zeropoint::default_instance().activation_axis() &&
      !quantization.has_activations()) {
    problems->Add(
        path + ".activation_axis",
        v1::ScaleAxis_Name(zeropoint.activation_axis()) +
            " has no effect, for activations stay float: leave it out, or give quantization.activations");
  }
}

void CheckCalibration(const v1::QuantizationSpec& quantization, Problems* problems) {
  if (!quantization.has_calibration() || IsCalibrated(quantization)) return;
  std::string why =
      "for only the ranges of activations are calibrated: give quantization.activations, or leave it out";
  if (quantization.has_activations() && quantization.has_absmax()) {
    why = "for every batch gives its own scales: use quantization.absmax.calibrated, or leave it out";
  } else if (quantization.has_zeropoint()) {
    why = "for zeropoint takes its ranges from each tensor: leave it out";
  }
  problems->Add("quantization.calibration", "has no effect, " + why);
}

}  // namespace

bool QuantizesAnything(const v1::QuantizationSpec& quantization) {
  return quantization.has_weights() || quantization.has_activations() || quantization.has_kv_cache();
}

bool IsCalibrated(const v1::QuantizationSpec& quantization) {
  if (quantization.has_smoothing() || quantization.has_gptq() || quantization.has_awq() ||
      quantization.rotation().has_learned())
    return true;
  if (!quantization.has_activations() || quantization.has_zeropoint()) return false;
  return !quantization.has_absmax() || quantization.absmax().calibrated();
}

void CheckQuantization(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.has_quantization()) {
    if (spec.evaluation().has_sensitivity_batches()) {
      problems->Add("evaluation.sensitivity_batches",
                    "has no effect, for a trial in float has no quantizer to leave out: set it where "
                    "quantization is set, or leave it out");
    }
    return;
  }
  if (spec.evaluation().has_sensitivity_batches() && spec.evaluation().measure() != v1::EvaluationSpec::ALL) {
    problems->Add(
        "evaluation.sensitivity_batches",
        "leaves out the quantizers one by one, which are listed with evaluation.measure: ALL alone: give "
        "that, or leave measure out");
  }
  const v1::QuantizationSpec& quantization = spec.quantization();
  if (!QuantizesAnything(quantization)) problems->Add("quantization", kNothingToQuantize);
  CheckQuantizationMethods(spec, problems);
  CheckCalibration(quantization, problems);
  switch (quantization.scheme_case()) {
    case v1::QuantizationSpec::kReference:
    case v1::QuantizationSpec::SCHEME_NOT_SET:
      return CheckReference(spec, problems);
    case v1::QuantizationSpec::kAbsmax:
      return CheckAbsmax(spec, problems);
    case v1::QuantizationSpec::kZeropoint:
      return CheckZeropoint(spec, problems);
  }
}

}  // namespace inlier
