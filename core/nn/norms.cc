#include "core/nn/norms.h"

#include <ATen/Functions.h>

#include "core/layer_cuda/layer.h"
#include "core/nn/fused_norm.h"
#include "core/nn/precision.h"

namespace inlier {

Norm Norm::Create(const ParameterScope& scope, std::int64_t size, const NormOptions& options) {
  Norm norm{.site = scope.path(), .gain = {}, .offset = {}, .options = options};
  norm.gain = scope.Create("weight", {options.kind == kernels::NormKind::kRmsSingle ? 1 : size});
  if (options.kind == kernels::NormKind::kLayerNorm) norm.offset = scope.Create("bias", {size});
  return norm;
}

at::Tensor Norm::operator()(const at::Tensor& x, const ForwardContext& context) const {
  if (context.products != layer::Products::kReference && context.tap == nullptr && !layer::gpu::Holds(x))
    return FusedNorm(x, options.kind, options.epsilon, gain, offset);
  const at::Tensor used_gain = context.Weight(site, gain);
  const at::Tensor wide = AtLeastFloat32(x);
  const std::int64_t width[] = {x.size(-1)};
  at::Tensor y;
  switch (options.kind) {
    case kernels::NormKind::kLayerNorm:
      y = at::layer_norm(wide, width, used_gain, offset, options.epsilon);
      break;
    case kernels::NormKind::kRmsPerChannel:
      y = at::rms_norm(wide, width, used_gain, options.epsilon);
      break;
    case kernels::NormKind::kRmsSingle:
      y = at::rms_norm(wide, width, {}, options.epsilon) * used_gain;
      break;
  }
  return context.Activation(site, y);
}

}  // namespace inlier
