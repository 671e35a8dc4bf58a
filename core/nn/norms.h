// Norms over the last dimension, and the gate on their output.
//
//   LayerNorm, RMSNorm:  core/kernels/rows.h
//   a function:          y = gain * f(x; scalars) + offset, of core/models/norms.cc
//   gate:                y' = y * sigmoid(W_up silu(W_down y)), W_down (r, d), W_up (d, r), no biases
//                        (Qiu et al. 2026, "A Unified View of Attention and Residual Sinks", section 3.4: GatedNorm)
#ifndef INLIER_CORE_NN_NORMS_H_
#define INLIER_CORE_NN_NORMS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/kernels/rows.h"
#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

// A learned number of a norm's function.
struct NormScalar {
  std::string name;  // Of its parameter, (1), beside `weight`.
  double start = 0;
};

// f of the head comment: (…, d) to (…, d), with the scalars in the order of NormOptions.
using NormFunction = std::function<at::Tensor(const at::Tensor& x, const std::vector<at::Tensor>& scalars)>;

struct NormOptions {
  kernels::NormKind kind = kernels::NormKind::kLayerNorm;  // With a function: which gain and offset it has.
  double epsilon = 0;
  NormFunction function = nullptr;       // In place of the statistics of `kind`, by LibTorch's operations.
  std::vector<NormScalar> scalars = {};  // Of the function.
  std::int64_t gate_rank = 0;            // r of the gate; 0: none.

  // True where the kernels have it.
  bool can_fuse() const { return function == nullptr && gate_rank == 0; }
};

// Computed in float32 at least: half-width input, as autocast makes it, is widened first. The gate's two products are too:
// they are small, and no tap sees them.
struct Norm {
  std::string site;
  at::Tensor gain;    // Parameter `weight`: (d), single (1).
  at::Tensor offset;  // Parameter `bias`: (d); undefined for the RMS norms.
  std::vector<at::Tensor> scalars;
  at::Tensor gate_down,
      gate_up;  // Parameters `gate_down.weight` and `gate_up.weight`; undefined without a gate.
  NormOptions options;

  static Norm Create(const ParameterScope& scope, std::int64_t size, const NormOptions& options);

  // Gain and output go through the tap.
  at::Tensor operator()(const at::Tensor& x, const ForwardContext& context) const;

 private:
  at::Tensor Normal(const at::Tensor& x, const at::Tensor& used_gain) const;
  at::Tensor Gated(const at::Tensor& y) const;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_NORMS_H_
