#include "spec/trial/unfused_part.h"

namespace inlier {

std::string_view UnfusedPart(const v1::TrialSpec& spec) {
  if (spec.training().regularizer().has_kurtosis()) return "training.regularizer.kurtosis";
  return spec.attention().key_value_bias() ? "attention.key_value_bias" : "";
}

}  // namespace inlier
