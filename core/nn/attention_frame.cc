#include "core/nn/attention_frame.h"

#include <ATen/Functions.h>

#include <limits>
#include <tuple>

namespace inlier {
namespace {

at::TensorOptions AtLeastFloat32Like(const at::TensorOptions& options) {
  return options.dtype(options.dtype() == at::kDouble ? at::kDouble : at::kFloat);
}

// The number of keys that a query sees: (B or 1, 1, T or 1, 1).
at::Tensor VisibleKeys(const at::Tensor& attention_mask, std::int64_t tokens, bool causal,
                       const at::TensorOptions& options) {
  if (!attention_mask.defined()) {
    return causal ? at::arange(1, tokens + 1, options).view({1, 1, tokens, 1})
                  : at::full({1, 1, 1, 1}, tokens, options);
  }
  const at::Tensor real = attention_mask.to(options);
  return causal ? real.cumsum(1).view({-1, 1, tokens, 1}) : real.sum(1).view({-1, 1, 1, 1});
}

at::Tensor RowLengths(const FrameOptions& frame, const at::Tensor& attention_mask, std::int64_t tokens,
                      const at::TensorOptions& options) {
  using RowLength = SoftmaxOptions::RowLength;
  if (frame.softmax.kind == SoftmaxOptions::Kind::kSigmoid)
    return VisibleKeys(attention_mask, tokens, frame.causal, options);
  if (frame.softmax.kind != SoftmaxOptions::Kind::kNcs) return {};
  switch (frame.softmax.length) {
    case RowLength::kConfigured:
    case RowLength::kRun:
      return {};  // The same for all rows: the softmax has it.
    case RowLength::kUnpadded:
      return VisibleKeys(attention_mask, tokens, /*causal=*/false, options);
    case RowLength::kRow:
      return VisibleKeys({}, tokens, /*causal=*/true, options);
  }
  TORCH_CHECK(false, "unknown row length ", static_cast<int>(frame.softmax.length));
}

}  // namespace

namespace {

bool HasEmptyRows(const at::Tensor& padding, bool causal) {
  return (causal ? padding.select(1, 0) : std::get<0>(padding.min(1))).any().item<bool>();
}

}  // namespace

AttentionMask MakeAttentionMask(const at::Tensor& attention_mask, std::int64_t tokens, bool causal,
                                bool infinite, const at::TensorOptions& options) {
  at::Tensor hidden;
  if (attention_mask.defined()) hidden = attention_mask.eq(0).view({-1, 1, 1, tokens});
  if (causal) {
    const auto flags = at::TensorOptions().dtype(at::kBool).device(options.device());
    const at::Tensor future = at::ones({1, 1, tokens, tokens}, flags).triu(1);
    hidden = hidden.defined() ? hidden.logical_or(future) : future;
  }
  if (!hidden.defined()) return {};
  const at::Tensor padding =
      attention_mask.defined() ? attention_mask.eq(0).to(at::kByte).contiguous() : at::Tensor();
  const double lowest = infinite                         ? -std::numeric_limits<double>::infinity()
                        : options.dtype() == at::kDouble ? std::numeric_limits<double>::lowest()
                                                         : std::numeric_limits<float>::lowest();
  return {.additive = at::zeros(hidden.sizes(), AtLeastFloat32Like(options)).masked_fill_(hidden, lowest),
          .causal_only = causal && !attention_mask.defined(),
          .causal = causal,
          .hidden_keys = padding,
          .has_empty_rows = padding.defined() && padding.is_cpu() && HasEmptyRows(padding, causal)};
}

AttentionFrame MakeAttentionFrame(const FrameOptions& frame, const at::Tensor& attention_mask,
                                  std::int64_t tokens, const at::TensorOptions& options) {
  AttentionFrame result{.mask = MakeAttentionMask(attention_mask, tokens, frame.causal,
                                                  frame.softmax.needs_infinite_mask(), options),
                        .row_lengths = RowLengths(frame, attention_mask, tokens, AtLeastFloat32Like(options)),
                        .rotary = {}};
  if (frame.added_keys > 0 && result.mask.additive.defined())
    result.mask.additive = at::constant_pad_nd(result.mask.additive, {0, frame.added_keys}, 0);
  if (frame.rotary_size > 0) {
    result.rotary =
        MakeRotaryTable(tokens, frame.rotary_size, frame.rotary_theta, AtLeastFloat32Like(options));
  }
  return result;
}

}  // namespace inlier
