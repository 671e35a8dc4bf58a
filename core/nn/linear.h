// y = x W^T + b.
#ifndef INLIER_CORE_NN_LINEAR_H_
#define INLIER_CORE_NN_LINEAR_H_

#include <cstdint>
#include <string>

#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

enum class Nonlinearity { kGeluErf, kGeluTanh, kRelu, kSilu };

at::Tensor Apply(Nonlinearity nonlinearity, const at::Tensor& x);

struct Linear {
  std::string site;
  at::Tensor weight;  // (out, in)
  at::Tensor bias;    // (out); undefined without one.

  // Parameters `weight` and, with `has_bias`, `bias` in `scope`; tapped under the scope's name.
  static Linear Create(const ParameterScope& scope, std::int64_t in, std::int64_t out, bool has_bias = true);

  // Input, weight and result go through the tap as those of a linear; the result not as an activation.
  at::Tensor Product(const at::Tensor& x, const ForwardContext& context) const;
  // (..., in) -> (..., out), both through the tap.
  at::Tensor operator()(const at::Tensor& x, const ForwardContext& context) const;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_LINEAR_H_
