#include "core/nn/linear.h"

#include <ATen/Functions.h>

namespace inlier {

at::Tensor Apply(Nonlinearity nonlinearity, const at::Tensor& x) {
  switch (nonlinearity) {
    case Nonlinearity::kGeluErf:
      return at::gelu(x);
    case Nonlinearity::kGeluTanh:
      return at::gelu(x, "tanh");
    case Nonlinearity::kRelu:
      return at::relu(x);
    case Nonlinearity::kSilu:
      return at::silu(x);
  }
  TORCH_CHECK(false, "unknown nonlinearity ", static_cast<int>(nonlinearity));
}

Linear Linear::Create(const ParameterScope& scope, std::int64_t in, std::int64_t out, bool has_bias) {
  Linear linear;
  linear.site = scope.path();
  linear.weight = scope.Create("weight", {out, in});
  if (has_bias) linear.bias = scope.Create("bias", {out});
  return linear;
}

at::Tensor Linear::Product(const at::Tensor& x, const ForwardContext& context) const {
  if (context.tap == nullptr) return at::linear(x, weight, bias);
  const at::Tensor input = context.tap->OnLinearInput(site, x);
  return context.tap->OnLinearOutput(site,
                                     at::linear(input, context.tap->OnLinearWeight(site, weight), bias));
}

at::Tensor Linear::operator()(const at::Tensor& x, const ForwardContext& context) const {
  return context.Activation(site, Product(x, context));
}

}  // namespace inlier
