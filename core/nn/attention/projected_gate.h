// A gate from the attention's whole input, at one of five places: y * output_factor * sigmoid(W x), without a bias.
//                                                          (Qiu et al. 2025, arXiv 2505.06708, eq. 5; of Qwen3-Next)
//
//   kContext  G1: each head's context, before the output projection      n = heads
//   kValue    G2: the values                                             n = kv_heads
//   kKey      G3: the keys, before norm and rotation                     n = kv_heads
//   kQuery    G4: the queries, before norm and rotation                  n = heads
//   kOutput   G5: the result of the output projection                    n = heads, as slices that are as wide as a head
// x: (B, T, d), what query, key and value are projected from, behind the norm of a pre-norm layer. Parameter `weight`
// below the gate's name: (n h, d), one factor an element, or headwise (n, d), one a head. Grouped keys are gated once, before
// they serve several heads. The factors are never quantized; their values are observed at the gate's site.
#ifndef INLIER_CORE_NN_ATTENTION_PROJECTED_GATE_H_
#define INLIER_CORE_NN_ATTENTION_PROJECTED_GATE_H_

#include <cstdint>
#include <string>

#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

struct ProjectedGateOptions {
  enum class Place { kNone, kContext, kValue, kKey, kQuery, kOutput };
  Place place = Place::kNone;  // kNone: no gate.
  bool headwise = false;
  double output_factor = 1;
};

class ProjectedGate {
 public:
  using Place = ProjectedGateOptions::Place;

  // REQUIRES: heads divides hidden_size and kv_heads divides heads.
  ProjectedGate(const ParameterScope& scope, const std::string& name, std::int64_t hidden_size,
                std::int64_t heads, std::int64_t kv_heads, const ProjectedGateOptions& options);

  bool exists() const { return options_.place != Place::kNone; }
  bool is_at(Place place) const { return exists() && options_.place == place; }
  // True when the gate is a factor a head and token, as the gates of attention_gate.h are.
  bool headwise() const { return options_.headwise; }

  // output_factor * sigmoid(W x), the sigmoid observed at the gate's site: (B, n, T, h), headwise (B, n, T, 1).
  // REQUIRES: exists().
  at::Tensor Factors(const at::Tensor& x, const ForwardContext& forward) const;

  // y: (B, T, n, h). Returns y itself when the gate is at another place.
  at::Tensor Apply(Place place, const at::Tensor& y, const at::Tensor& x,
                   const ForwardContext& forward) const;

 private:
  ProjectedGateOptions options_;
  std::int64_t gated_heads_ = 0;  // n
  std::string site_;
  at::Tensor weight_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_PROJECTED_GATE_H_
