#include "core/models/norms.h"

#include <ATen/Functions.h>

#include <utility>
#include <vector>

namespace inlier {
namespace {

// A norm that LibTorch's operations compute, with the gain and the offset of LayerNorm.
NormOptions Function(NormFunction function, std::vector<NormScalar> scalars) {
  return {
      .kind = kernels::NormKind::kLayerNorm, .function = std::move(function), .scalars = std::move(scalars)};
}

// tanh(alpha x): Zhu et al. 2025, "Transformers without Normalization", eq. 3.
at::Tensor Dyt(const at::Tensor& x, const std::vector<at::Tensor>& scalars) {
  return at::tanh(x * scalars[0]);
}

// erf(alpha x + shift): Chen et al. 2025, "Stronger Normalization-Free Transformers" (2512.10938).
at::Tensor Derf(const at::Tensor& x, const std::vector<at::Tensor>& scalars) {
  return at::erf(x * scalars[0] + scalars[1]);
}

NormOptions OptionsOf(const v1::TrialSpec& spec) {
  switch (spec.norm()) {
    case v1::LAYER_NORM:
      break;
    case v1::RMS_NORM_M:
      return {.kind = kernels::NormKind::kRmsPerChannel};
    case v1::RMS_NORM_S:
      return {.kind = kernels::NormKind::kRmsSingle};
    case v1::DYT:
      return Function(Dyt, {{"alpha", spec.dyt_alpha()}});
    case v1::DERF:
      return Function(Derf, {{"alpha", spec.dyt_alpha()}, {"shift", 0}});
  }
  return {.kind = kernels::NormKind::kLayerNorm};
}

}  // namespace

NormOptions NormFromSpec(const v1::TrialSpec& spec, double epsilon) {
  NormOptions options = OptionsOf(spec);
  options.epsilon = epsilon;
  options.gate_rank = spec.norm_gate();
  return options;
}

}  // namespace inlier
