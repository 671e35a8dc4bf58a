#include "core/nn/attention/projected_gate.h"

#include <ATen/Functions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "core/nn/precision.h"

namespace inlier {

ProjectedGate::ProjectedGate(const ParameterScope& scope, const std::string& name, std::int64_t hidden_size,
                             std::int64_t heads, std::int64_t kv_heads, const ProjectedGateOptions& options)
    : options_(options), site_(scope.Name(name)) {
  if (!exists()) return;
  gated_heads_ = is_at(Place::kKey) || is_at(Place::kValue) ? kv_heads : heads;
  const std::int64_t factors = options.headwise ? gated_heads_ : gated_heads_ * (hidden_size / heads);
  weight_ = scope.Child(name).Create("weight", {factors, hidden_size});
}

at::Tensor ProjectedGate::Factors(const at::Tensor& x, const ForwardContext& forward) const {
  TORCH_CHECK(exists(), "there is no gate");
  at::Tensor logits;  // (B, T, n, h or 1)
  {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    logits = at::linear(AtLeastFloat32(x), weight_).unflatten(-1, {gated_heads_, -1});
  }
  const at::Tensor values = forward.Activation(site_, at::sigmoid(logits).transpose(1, 2));
  return options_.output_factor == 1 ? values : values * options_.output_factor;
}

at::Tensor ProjectedGate::Apply(Place place, const at::Tensor& y, const at::Tensor& x,
                                const ForwardContext& forward) const {
  return is_at(place) ? y * Factors(x, forward).transpose(1, 2) : y;
}

}  // namespace inlier
