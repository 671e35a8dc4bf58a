#include "core/quant/input_statistics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>

#include "base/check.h"

namespace inlier {

void InputStatistics::OnPass(const at::Tensor& attention_mask) {
  token_mask_ = MakeTokenMask(attention_mask);
  attention_mask_ = token_mask_.padding.defined() ? attention_mask : at::Tensor();
}

void InputStatistics::SeeInput(const std::string& reads, const std::string& site, const at::Tensor& input) {
  Input& seen = inputs_[reads];
  if (seen.first_site.empty()) seen.first_site = site;
  if (seen.first_site != site) return;
  if (counts_maxima_) {
    const at::Tensor largest = WithoutPadding(token_mask_, input).abs().reshape({-1, input.size(-1)}).amax(0);
    seen.maxima = seen.maxima.defined() ? at::maximum(seen.maxima, largest) : largest;
  }
  if (counts_moments_) seen.moments.Add(input, attention_mask_);
}

void InputStatistics::SeeWeight(const std::string& reads, const std::string& site, const at::Tensor& weight) {
  inputs_[reads].weights.try_emplace(site, weight);
}

const InputStatistics::Input& InputStatistics::At(const std::string& reads) const {
  const auto found = inputs_.find(reads);
  INLIER_CHECK(found != inputs_.end());  // Else no calibration batch has reached it.
  return found->second;
}

}  // namespace inlier
