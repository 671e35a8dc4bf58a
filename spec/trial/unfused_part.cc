#include "spec/trial/unfused_part.h"

namespace inlier {

std::string_view UnfusedPart(const v1::TrialSpec& spec) {
  const v1::AttentionSpec& attention = spec.attention();
  if (spec.training().regularizer().has_kurtosis()) return "training.regularizer.kurtosis";
  if (attention.query_key_norm() != v1::NO_NORM) return "attention.query_key_norm";
  if (attention.key_value_bias()) return "attention.key_value_bias";
  if (attention.gate().has_projected() &&
      attention.gate().projected().place() != v1::ProjectedGateSpec::CONTEXT)
    return "attention.gate.projected.place";
  return "";
}

}  // namespace inlier
