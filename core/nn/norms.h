// Norms over the last dimension.
#ifndef INLIER_CORE_NN_NORMS_H_
#define INLIER_CORE_NN_NORMS_H_

#include <cstdint>
#include <string>

#include "core/kernels/rows.h"
#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

struct NormOptions {
  kernels::NormKind kind = kernels::NormKind::kLayerNorm;
  double epsilon = 0;
};

// Computed in float32 at least: half-width input, as autocast makes it, is widened first.
struct Norm {
  std::string site;
  at::Tensor gain;    // Parameter `weight`: (d), single (1).
  at::Tensor offset;  // Parameter `bias`: (d); undefined for the RMS norms.
  NormOptions options;

  static Norm Create(const ParameterScope& scope, std::int64_t size, const NormOptions& options);

  // Gain and output go through the tap.
  at::Tensor operator()(const at::Tensor& x, const ForwardContext& context) const;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_NORMS_H_
