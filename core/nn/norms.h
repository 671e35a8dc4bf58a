// Norms over the last dimension.
#ifndef INLIER_CORE_NN_NORMS_H_
#define INLIER_CORE_NN_NORMS_H_

#include <cstdint>
#include <string>

#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

// (x - mean) / sqrt(var + epsilon) * gain + offset, var over n elements (not n - 1). Computed in float32 at
// least: half-width input, as autocast makes it, is widened first.
struct LayerNorm {
  std::string site;
  at::Tensor gain;    // Parameter `weight`, (d).
  at::Tensor offset;  // Parameter `bias`, (d).
  double epsilon = 0;

  static LayerNorm Create(const ParameterScope& scope, std::int64_t size, double epsilon);

  // Gain and output go through the tap.
  at::Tensor operator()(const at::Tensor& x, const ForwardContext& context) const;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_NORMS_H_
