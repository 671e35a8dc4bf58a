#include "core/train/regularizer.h"

#include "core/models/sites.h"
#include "core/nn/precision.h"

namespace inlier {
namespace {

// A constant row has no kurtosis; in float32 the smallest spread that matters is far above this.
constexpr double kVarianceEpsilon = 1e-12;

// y: (..., features).
at::Tensor MeanKurtosis(const at::Tensor& y) {
  const at::Tensor values = AtLeastFloat32(y);
  const at::Tensor squares = (values - values.mean(-1, /*keepdim=*/true)).square();
  const at::Tensor variance = squares.mean(-1).add(kVarianceEpsilon);
  return (squares.square().mean(-1) / variance.square()).mean();
}

}  // namespace

bool HasPenalty(const v1::RegularizerSpec& spec) { return spec.has_ffn_output() || spec.has_kurtosis(); }

at::Tensor KurtosisTap::OnLinearOutput(const std::string& site, const at::Tensor& output) {
  if (IsWithinLayer(site)) means_.Add(MeanKurtosis(output));
  return output;
}

Regularizer::Regularizer(const v1::RegularizerSpec& spec) {
  if (spec.has_ffn_output()) {
    const v1::FfnOutputPenaltySpec& ffn = spec.ffn_output();
    ffn_output_.emplace(ffn.weight(), kernels::ScaledPower{.tau = ffn.tau(), .power = ffn.power()});
  }
  if (spec.has_kurtosis()) kurtosis_.emplace(spec.kurtosis().weight());
}

at::Tensor Regularizer::Penalty() const {
  if (!kurtosis_) return ffn_output_ ? ffn_output_->Value() : at::Tensor();
  return ffn_output_ ? ffn_output_->Value().add(kurtosis_->Penalty()) : kurtosis_->Penalty();
}

}  // namespace inlier
