#include "core/nn/attention/softmax.h"

#include <ATen/Functions.h>

#include "core/nn/attention/clipped_softmax_function.h"
#include "core/nn/attention/null_key_softmax_function.h"
#include "core/nn/precision.h"

namespace inlier {

at::Tensor Softmax(const at::Tensor& scores, bool may_have_empty_rows) {
  const at::Tensor wide = AtLeastFloat32(scores);
  return may_have_empty_rows ? at::_safe_softmax(wide, -1) : at::softmax(wide, -1);
}

at::Tensor ClippedSoftmax(const at::Tensor& scores, double gamma, double zeta, bool may_have_empty_rows) {
  return ClippedSoftmaxFunction::apply(AtLeastFloat32(scores), ClippedSoftmaxFunction::RowGamma(), gamma,
                                       zeta, may_have_empty_rows);
}

at::Tensor ClippedSoftmax(const at::Tensor& scores, const at::Tensor& gamma, double zeta,
                          bool may_have_empty_rows) {
  return ClippedSoftmaxFunction::apply(AtLeastFloat32(scores), ClippedSoftmaxFunction::RowGamma{gamma},
                                       /*gamma=*/0.0, zeta, may_have_empty_rows);
}

double NcsGamma(double beta, double zeta, double n) { return n <= 1 ? 0 : (beta - zeta) / (n - 1); }

at::Tensor NcsGamma(double beta, double zeta, const at::Tensor& n) {
  return n.sub(1).reciprocal().mul(beta - zeta).masked_fill(n.le(1), 0);
}

at::Tensor NullKeySoftmax(const at::Tensor& scores, double null_score) {
  const at::Tensor wide = AtLeastFloat32(scores);
  return NullKeySoftmaxFunction::apply(wide, at::scalar_tensor(null_score, wide.options()));
}

at::Tensor NullKeySoftmax(const at::Tensor& scores, const at::Tensor& null_score) {
  const at::Tensor wide = AtLeastFloat32(scores);
  return NullKeySoftmaxFunction::apply(wide, null_score.to(wide.scalar_type()));
}

at::Tensor Softpick(const at::Tensor& scores, double epsilon) {
  const at::Tensor s = AtLeastFloat32(scores);
  const at::Tensor hidden = s.isneginf();
  at::Tensor m = s.detach().amax(-1, /*keepdim=*/true);
  m = m.masked_fill(m.isneginf(), 0);
  const at::Tensor r = (at::exp(s - m) - at::exp(-m)).masked_fill(hidden, 0);
  return at::relu(r) / (r.abs().sum(-1, /*keepdim=*/true) + epsilon);
}

at::Tensor SigmoidAttention(const at::Tensor& scores, const at::Tensor& row_lengths) {
  const at::Tensor s = AtLeastFloat32(scores);
  return at::sigmoid(s - row_lengths.to(s.scalar_type()).clamp_min(1).log());
}

double SoftmaxOptions::UniformGamma(std::int64_t keys) const {
  if (kind == Kind::kClipped) return gamma;
  const std::int64_t n = length == RowLength::kConfigured ? configured_length : keys;
  return NcsGamma(beta, zeta, static_cast<double>(n));
}

at::Tensor AttentionProbabilities(const at::Tensor& scores, const SoftmaxOptions& options,
                                  const RowInfo& row) {
  constexpr bool kNoEmptyRows = false;
  const std::int64_t tokens = scores.size(-1) - row.added_keys;
  switch (options.kind) {
    case SoftmaxOptions::Kind::kVanilla:
      return Softmax(scores, kNoEmptyRows);
    case SoftmaxOptions::Kind::kNcs:
      if (row.lengths.defined()) {
        return ClippedSoftmax(scores, NcsGamma(options.beta, options.zeta, row.lengths), options.zeta,
                              kNoEmptyRows);
      }
      [[fallthrough]];
    case SoftmaxOptions::Kind::kClipped:
      return ClippedSoftmax(scores, options.UniformGamma(tokens), options.zeta, kNoEmptyRows);
    case SoftmaxOptions::Kind::kNullKey:
      return NullKeySoftmax(scores, options.null_score);
    case SoftmaxOptions::Kind::kSink:
      return NullKeySoftmax(scores, row.null_score);
    case SoftmaxOptions::Kind::kSoftpick:
      return Softpick(scores, options.epsilon);
    case SoftmaxOptions::Kind::kSigmoid:
      return SigmoidAttention(scores, row.lengths);
    case SoftmaxOptions::Kind::kFunction:
      return options.function(scores, row);
  }
  TORCH_CHECK(false, "unknown softmax ", static_cast<int>(options.kind));
}

}  // namespace inlier
