#include "core/outliers/token_metrics.h"

#include <ATen/TensorOperators.h>

#include "base/check.h"

namespace inlier {
namespace {

at::Tensor Tokens(const at::Tensor& x) {
  INLIER_CHECK(x.dim() >= 1 && x.size(-1) >= 1);
  const at::Tensor tokens = x.detach();
  return tokens.scalar_type() == at::kDouble ? tokens : tokens.to(at::kFloat);
}

// x / max|x|, and zero tokens as they are.
at::Tensor ScaledToOne(const at::Tensor& x) {
  const at::Tensor largest = x.abs().amax(-1, /*keepdim=*/true);
  return x / largest.masked_fill(largest.eq(0), 1);
}

}  // namespace

at::Tensor TokenKurtosis(const at::Tensor& x) {
  const at::Tensor tokens = Tokens(x);
  // The mean of equal numbers need not be that number.
  const at::Tensor largest = tokens.amax(-1);
  const at::Tensor constant = largest.eq(tokens.amin(-1)).logical_and_(largest.isfinite());
  at::Tensor squares = ScaledToOne(tokens - tokens.mean(-1, /*keepdim=*/true));
  squares.mul_(squares);
  const at::Tensor variance = squares.mean(-1);
  const at::Tensor fourth_moment = squares.mul_(squares).mean(-1);
  return (fourth_moment / (variance * variance)).masked_fill_(constant, 0);
}

at::Tensor TokenNormRatio(const at::Tensor& x) {
  const at::Tensor scaled = ScaledToOne(Tokens(x));
  const at::Tensor norm = scaled.square().sum(-1).sqrt_();
  // The largest magnitude is 1 now.
  return norm.reciprocal().masked_fill_(norm.eq(0), 0);
}

}  // namespace inlier
