#include "core/train/regularizer.h"

#include <ATen/Functions.h>

#include "base/check.h"
#include "core/models/sites.h"
#include "core/nn/precision.h"

namespace inlier {
namespace {

// A constant row has no kurtosis; in float32 the smallest spread that matters is far above this.
constexpr double kVarianceEpsilon = 1e-12;

at::Tensor MeanPower(const at::Tensor& x, const v1::FfnOutputPenaltySpec& spec) {
  return AtLeastFloat32(x).div(spec.tau()).abs().pow(spec.power()).mean();
}

// y: (..., features).
at::Tensor MeanKurtosis(const at::Tensor& y) {
  const at::Tensor values = AtLeastFloat32(y);
  const at::Tensor squares = (values - values.mean(-1, /*keepdim=*/true)).square();
  const at::Tensor variance = squares.mean(-1).add(kVarianceEpsilon);
  return (squares.square().mean(-1) / variance.square()).mean();
}

}  // namespace

bool HasPenalty(const v1::RegularizerSpec& spec) { return spec.has_ffn_output() || spec.has_kurtosis(); }

at::Tensor RegularizerTap::OnActivation(const std::string& site, const at::Tensor& activation) {
  if (spec_.has_ffn_output() && IsFfnOutputSite(site))
    ffn_output_.Add(MeanPower(activation, spec_.ffn_output()));
  return activation;
}

at::Tensor RegularizerTap::OnLinearOutput(const std::string& site, const at::Tensor& output) {
  if (spec_.has_kurtosis() && IsWithinLayer(site)) kurtosis_.Add(MeanKurtosis(output));
  return output;
}

at::Tensor RegularizerTap::Penalty() const {
  at::Tensor penalty;
  const auto add = [&penalty](const Mean& mean, double weight) {
    INLIER_CHECK(mean.count > 0);
    const at::Tensor term = mean.sum.mul(weight / static_cast<double>(mean.count));
    penalty = penalty.defined() ? penalty.add(term) : term;
  };
  if (spec_.has_ffn_output()) add(ffn_output_, spec_.ffn_output().weight());
  if (spec_.has_kurtosis()) add(kurtosis_, spec_.kurtosis().weight());
  return penalty;
}

}  // namespace inlier
