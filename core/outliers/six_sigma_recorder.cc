#include "core/outliers/six_sigma_recorder.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/models/sites.h"
#include "core/outliers/outlier_metrics.h"

namespace inlier {

void SixSigmaRecorder::OnPass(const at::Tensor& attention_mask) {
  if (!count_padding_) mask_ = MakeTokenMask(attention_mask);
}

at::Tensor SixSigmaRecorder::OnActivation(const std::string& site, const at::Tensor& activation) {
  // Some models have the output as (B * T, d): B is that of the embeddings, which come first.
  if (site == "hidden.0") sequences_ = activation.size(0);
  if (!IsFfnOutputSite(site)) return activation;
  const c10::NoGradGuard no_grad;
  INLIER_CHECK(activation.dim() == 3 || sequences_ > 0);
  const at::Tensor x =
      activation.dim() == 3 ? activation : activation.reshape({sequences_, -1, activation.size(-1)});
  const at::Tensor padding = PaddingOf(mask_, x);
  const at::Tensor beyond = BeyondSixSigma(x, SixSigmaScope::kSequence, padding);
  const at::Tensor per_position = beyond.sum(at::IntArrayRef({0, 2}));
  const at::Tensor per_dimension = beyond.sum(at::IntArrayRef({0, 1}));
  // NaN is not beyond any threshold.
  const at::Tensor visible_nan =
      (padding.defined() ? x.masked_fill(padding, 0) : x).detach().sum(at::kDouble).mul_(0);

  const auto found = std::find_if(records_.begin(), records_.end(),
                                  [&site](const Record& record) { return record.site == site; });
  if (found == records_.end()) {
    records_.push_back({site, x.size(0), per_position, per_dimension, visible_nan});
    return activation;
  }
  INLIER_CHECK(found->per_position.sizes() == per_position.sizes());
  found->sequences += x.size(0);
  found->per_position = found->per_position + per_position;
  found->per_dimension = found->per_dimension + per_dimension;
  found->visible_nan = found->visible_nan + visible_nan;
  return activation;
}

std::vector<SixSigmaSite> SixSigmaRecorder::Sites() const {
  std::vector<SixSigmaSite> sites;
  for (const Record& record : records_) {
    SixSigmaSite site{.site = record.site,
                      .per_position = record.per_position.to(at::kCPU),
                      .per_dimension = record.per_dimension.to(at::kCPU)};
    site.mean_count = site.per_position.sum().item<double>() / static_cast<double>(record.sequences) +
                      record.visible_nan.item<double>();
    sites.push_back(std::move(site));
  }
  return sites;
}

}  // namespace inlier
