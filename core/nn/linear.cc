#include "core/nn/linear.h"

#include <ATen/Functions.h>

namespace inlier {

at::Tensor Apply(kernels::Activation nonlinearity, const at::Tensor& x) {
  switch (nonlinearity) {
    case kernels::Activation::kGeluErf:
      return at::gelu(x);
    case kernels::Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case kernels::Activation::kRelu:
      return at::relu(x);
    case kernels::Activation::kSilu:
      return at::silu(x);
  }
  TORCH_CHECK(false, "unknown nonlinearity ", static_cast<int>(nonlinearity));
}

at::Tensor Capped(const at::Tensor& x, double cap) { return cap > 0 ? x.div(cap).tanh().mul(cap) : x; }

Linear Linear::Create(const ParameterScope& scope, std::int64_t in, std::int64_t out,
                      const LinearOptions& options) {
  Linear linear;
  linear.name = linear.site = scope.path();
  linear.layout = options.layout;
  linear.weight = options.layout == WeightLayout::kInOut ? scope.Create("weight", {in, out})
                                                         : scope.Create("weight", {out, in});
  if (options.bias) linear.bias = scope.Create("bias", {out});
  return linear;
}

at::Tensor Linear::Product(const at::Tensor& x, const ForwardContext& context) const {
  const auto multiply = [&](const at::Tensor& input, const at::Tensor& used) {
    return context.linears == nullptr ? at::linear(input, used, bias)
                                      : context.linears->Product(name, input, used, bias);
  };
  if (context.tap == nullptr) return multiply(x, OutIn());
  const at::Tensor input = context.tap->OnLinearInput(site, x);
  return context.tap->OnLinearOutput(site, multiply(input, context.tap->OnLinearWeight(site, OutIn())));
}

at::Tensor Linear::operator()(const at::Tensor& x, const ForwardContext& context) const {
  return context.Activation(site, Product(x, context));
}

at::Tensor LinearProduct(const std::string& site, const at::Tensor& x, const at::Tensor& weight,
                         const ForwardContext& context) {
  const Linear linear{.site = site, .weight = weight, .bias = {}, .layout = WeightLayout::kOutIn};
  return linear.Product(x, context);
}

}  // namespace inlier
