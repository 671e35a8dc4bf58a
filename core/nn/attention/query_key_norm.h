// Norms of each head's queries and keys, over the features of a head, before positions rotate them: no score can then
// exceed sqrt(h) times the largest product of gains.
//
//   q = norm_q(q), k = norm_k(k);   RMS: Qwen3 (Henry et al. 2020 divide by the L2 norm);   LayerNorm: ViT-22B
//                                                                                           (Dehghani et al. 2023)
// Gains, and offsets of a LayerNorm, have h numbers that all heads share. Parameters q_norm.weight, k_norm.weight and perhaps
// q_norm.bias, k_norm.bias, as Qwen3 has them.
#ifndef INLIER_CORE_NN_ATTENTION_QUERY_KEY_NORM_H_
#define INLIER_CORE_NN_ATTENTION_QUERY_KEY_NORM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/nn/norms.h"

namespace inlier {

class QueryKeyNorm {
 public:
  // Nothing: queries and keys stay as they are.
  QueryKeyNorm(const ParameterScope& scope, std::int64_t head_size,
               const std::optional<NormOptions>& options) {
    if (!options) return;
    norms_.push_back(Norm::Create(scope.Child("q_norm"), head_size, *options));
    norms_.push_back(Norm::Create(scope.Child("k_norm"), head_size, *options));
  }

  bool exists() const { return !norms_.empty(); }
  // REQUIRES: exists().
  const Norm& of_queries() const { return norms_[0]; }
  const Norm& of_keys() const { return norms_[1]; }

  // (B, T, heads, h), the same for the next. Gains and results go through the tap, as those of other norms.
  at::Tensor OfQueries(const at::Tensor& queries, const ForwardContext& context) const {
    return exists() ? norms_[0](queries, context) : queries;
  }
  at::Tensor OfKeys(const at::Tensor& keys, const ForwardContext& context) const {
    return exists() ? norms_[1](keys, context) : keys;
  }

 private:
  std::vector<Norm> norms_;  // Of queries and of keys, or none.
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_QUERY_KEY_NORM_H_
