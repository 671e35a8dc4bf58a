#include "core/layer_cuda/layer_parts.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include "core/layer_cuda/launch.h"

namespace inlier::layer::gpu {

at::Tensor NullScores(const Shape& shape, const Weights& weights, const at::Tensor& like) {
  if (weights.sinks.defined()) return weights.sinks;
  if (shape.attention.softmax != SoftmaxKind::kNullKey) return {};
  return at::full({shape.heads}, shape.null_score, like.options().dtype(at::kFloat).requires_grad(false));
}

cuda::AttentionShape AttentionOf(const Shape& shape, const Inputs& inputs, const at::Tensor& null_scores) {
  const bool clipped = shape.attention.softmax == SoftmaxKind::kClipped;
  return {
      .batch = shape.batch,
      .heads = shape.heads,
      .kv_heads = shape.kv_heads,
      .tokens = shape.tokens,
      .head_size = shape.attention.head_size,
      .visible_keys = shape.tokens,
      .scale = static_cast<float>(shape.attention.scale),
      .zeta = clipped ? static_cast<float>(shape.attention.zeta) : 1,
      .causal = shape.attention.causal,
      .key_hidden = Data<std::uint8_t>(inputs.key_mask),
      .row_gamma = Data<float>(inputs.row_constant),
      .gamma_sequence = inputs.row_constant.defined() && inputs.row_constant.size(0) > 1 ? shape.tokens : 0,
      .null_score = Data<float>(null_scores),
      .dropout = shape.probabilities,
      .first_row = 0};
}

void Rotate(const Shape& shape, const Inputs& inputs, bool inverse, const at::Tensor& qkv) {
  if (!inputs.cosine.defined()) return;
  const std::int64_t heads = shape.heads + shape.kv_heads, half = shape.attention.head_size / 2;
  const at::Tensor halves = qkv.view({shape.batch, shape.tokens, -1})
                                .narrow(2, 0, heads * 2 * half)
                                .view({shape.batch, shape.tokens, heads, 2, half});
  const at::Tensor a = halves.select(3, 0), b = halves.select(3, 1);
  const at::Tensor cosine = inputs.cosine.view({shape.tokens, 1, half});
  at::Tensor sine = inputs.sine.view({shape.tokens, 1, half});
  if (inverse) sine = sine.neg();
  const at::Tensor turned = a * cosine - b * sine;
  b.copy_(b * cosine + a * sine);
  a.copy_(turned);
}

// 0 + dropout(1).
at::Tensor DropoutFactors(const kernels::Dropout& dropout, const at::Tensor& x) {
  const at::Tensor ones = at::ones(x.sizes(), x.options().dtype(at::kFloat).requires_grad(false));
  const at::Tensor zeros = at::zeros_like(ones), factors = at::empty_like(ones);
  const std::int64_t width = x.size(-1);
  if (x.numel() == 0) return factors;
  const cuda::ResidualNorm<float> call = {
      .rows = x.numel() / width, .width = width, .update = Data<float>(ones), .dropout = dropout};
  Check(cuda::ResidualNormForward<float>(call, Data<float>(zeros), Data<float>(factors), nullptr, nullptr,
                                         nullptr, nullptr, StreamOf(x)),
        "ResidualNormForward");
  return factors;
}

}  // namespace inlier::layer::gpu
