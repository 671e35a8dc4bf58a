// y = x W^T + b.
#ifndef INLIER_CORE_NN_LINEAR_H_
#define INLIER_CORE_NN_LINEAR_H_

#include <cstdint>
#include <string>

#include "core/kernels/rows.h"
#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

at::Tensor Apply(kernels::Activation nonlinearity, const at::Tensor& x);

// cap * tanh(x / cap); x itself where cap is 0.
at::Tensor Capped(const at::Tensor& x, double cap);

enum class WeightLayout {
  kOutIn,  // (out, in), as torch's Linear.
  kInOut   // (in, out), as GPT-2's Conv1D.
};

struct LinearOptions {
  bool bias = true;
  WeightLayout layout = WeightLayout::kOutIn;
};

struct Linear {
  // Of its scope: the weight is the parameter `name` + ".weight". Empty where the weight is another's.
  std::string name = {};
  std::string site;  // Where it is tapped.
  at::Tensor weight;  // In the layout `layout`.
  at::Tensor bias;    // (out); undefined without one.
  WeightLayout layout = WeightLayout::kOutIn;

  // Parameters `weight` and perhaps `bias` in `scope`; tapped under the scope's name.
  static Linear Create(const ParameterScope& scope, std::int64_t in, std::int64_t out,
                       const LinearOptions& options = {});

  // The weight as (out, in); a view of it.
  at::Tensor OutIn() const { return layout == WeightLayout::kInOut ? weight.t() : weight; }

  // Input, weight and result go through the tap as those of a linear; the result not as an activation.
  at::Tensor Product(const at::Tensor& x, const ForwardContext& context) const;
  // (..., in) -> (..., out); the result also passes the tap as an activation.
  at::Tensor operator()(const at::Tensor& x, const ForwardContext& context) const;
};

// The same for a weight (out, in) of another owner, such as a tied head: no bias.
at::Tensor LinearProduct(const std::string& site, const at::Tensor& x, const at::Tensor& weight,
                         const ForwardContext& context);

}  // namespace inlier

#endif  // INLIER_CORE_NN_LINEAR_H_
