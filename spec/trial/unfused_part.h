// The part of a trial that the fused engine lacks on a CPU (docs/decisions/0021-two-engines.md).
#ifndef INLIER_SPEC_TRIAL_UNFUSED_PART_H_
#define INLIER_SPEC_TRIAL_UNFUSED_PART_H_

#include <string_view>

#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The path of the field that needs training.engine REFERENCE; empty where all can be fused, sizes apart.
inline std::string_view UnfusedPart(const v1::TrialSpec& spec) {
  if (spec.training().regularizer().has_kurtosis()) return "training.regularizer.kurtosis";
  if (spec.attention().softmax().has_script()) return "attention.softmax.script";
  if (spec.attention().gate().has_script()) return "attention.gate.script";
  return spec.attention().key_value_bias() ? "attention.key_value_bias" : "";
}

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_UNFUSED_PART_H_
