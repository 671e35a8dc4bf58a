#include "core/nn/norms.h"

#include <ATen/Functions.h>

#include "core/nn/precision.h"

namespace inlier {

LayerNorm LayerNorm::Create(const ParameterScope& scope, std::int64_t size, double epsilon) {
  return {scope.path(), scope.Create("weight", {size}), scope.Create("bias", {size}), epsilon};
}

at::Tensor LayerNorm::operator()(const at::Tensor& x, const ForwardContext& context) const {
  const at::Tensor used_gain = context.Weight(site, gain);
  return context.Activation(site,
                            at::layer_norm(AtLeastFloat32(x), gain.sizes(), used_gain, offset, epsilon));
}

}  // namespace inlier
