#include "core/nn/norms.h"

#include <ATen/Functions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "core/layer_cuda/layer.h"
#include "core/nn/fused_norm.h"
#include "core/nn/precision.h"

namespace inlier {

Norm Norm::Create(const ParameterScope& scope, std::int64_t size, const NormOptions& options) {
  Norm norm{.site = scope.path(), .options = options};
  norm.gain = scope.Create("weight", {options.kind == kernels::NormKind::kRmsSingle ? 1 : size});
  if (options.kind == kernels::NormKind::kLayerNorm) norm.offset = scope.Create("bias", {size});
  for (const NormScalar& scalar : options.scalars) norm.scalars.push_back(scope.Create(scalar.name, {1}));
  if (options.gate_rank == 0) return norm;
  norm.gate_down = scope.Child("gate_down").Create("weight", {options.gate_rank, size});
  norm.gate_up = scope.Child("gate_up").Create("weight", {size, options.gate_rank});
  return norm;
}

at::Tensor Norm::Normal(const at::Tensor& x, const at::Tensor& used_gain) const {
  const at::Tensor wide = AtLeastFloat32(x);
  if (options.function != nullptr) return options.function(wide, scalars) * used_gain + offset;
  const std::int64_t width[] = {x.size(-1)};
  switch (options.kind) {
    case kernels::NormKind::kLayerNorm:
      return at::layer_norm(wide, width, used_gain, offset, options.epsilon);
    case kernels::NormKind::kRmsPerChannel:
      return at::rms_norm(wide, width, used_gain, options.epsilon);
    case kernels::NormKind::kRmsSingle:
      break;
  }
  return at::rms_norm(wide, width, {}, options.epsilon) * used_gain;
}

at::Tensor Norm::Gated(const at::Tensor& y) const {
  if (!gate_down.defined()) return y;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return y * at::sigmoid(at::linear(at::silu(at::linear(y, gate_down)), gate_up));
}

at::Tensor Norm::operator()(const at::Tensor& x, const ForwardContext& context) const {
  const bool fused = context.products != layer::Products::kReference && context.tap == nullptr;
  if (fused && options.can_fuse() && !layer::gpu::Holds(x))
    return FusedNorm(x, options.kind, options.epsilon, gain, offset);
  if (context.tap != nullptr && offset.defined()) context.tap->OnNormOffset(site, offset);
  return context.Activation(site, Gated(Normal(x, context.Weight(site, gain))));
}

}  // namespace inlier
