// The part of a trial that the fused engine lacks on a CPU (docs/decisions/0021-two-engines.md).
#ifndef INLIER_SPEC_TRIAL_UNFUSED_PART_H_
#define INLIER_SPEC_TRIAL_UNFUSED_PART_H_

#include <string_view>

#include "inlier/v1/trial_spec.pb.h"
#include "spec/trial/checks/decoder_checks.h"
#include "spec/trial/checks/norm_checks.h"

namespace inlier {

// False for a softmax that LibTorch's operations compute.
inline bool HasKernel(const v1::SoftmaxSpec& softmax) {
  switch (softmax.kind_case()) {
    case v1::SoftmaxSpec::KIND_NOT_SET:
    case v1::SoftmaxSpec::kVanilla:
    case v1::SoftmaxSpec::kClipped:
    case v1::SoftmaxSpec::kNcs:
    case v1::SoftmaxSpec::kSoftmaxN:
    case v1::SoftmaxSpec::kSink:
    case v1::SoftmaxSpec::kSoftpick:
    case v1::SoftmaxSpec::kSigmoid:
      return true;
    default:
      return false;
  }
}

// The field that needs training.engine REFERENCE; empty where all can be fused, sizes apart.
inline std::string_view UnfusedPart(const v1::TrialSpec& spec) {
  if (NormPlacementOf(spec.model()) == v1::PERI) return "norm_placement: PERI";
  if (NormPlacementOf(spec.model()) == v1::ENDS) return "norm_placement: ENDS";
  if (spec.residual_gain() != 1) return "residual_gain";
  if (!IsCommonNorm(spec.norm())) return "norm";
  if (spec.norm_gate() > 0) return "norm_gate";
  if (spec.training().regularizer().has_kurtosis()) return "training.regularizer.kurtosis";
  if (spec.training().has_low_precision()) return "training.low_precision";
  if (!HasKernel(spec.attention().softmax())) return "attention.softmax";
  if (spec.attention().gate().has_script()) return "attention.gate.script";
  if (spec.attention().key_value_bias()) return "attention.key_value_bias";
  if (spec.attention().has_window()) return "attention.window";
  if (spec.attention().document_mask()) return "attention.document_mask";
  return spec.model().has_llama() ? UnfusedDecoderPart(spec.model().llama()) : "";
}

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_UNFUSED_PART_H_
