#include "core/nn/attention/attention_frame.h"

#include <ATen/Functions.h>

#include <limits>
#include <tuple>

namespace inlier {

at::Tensor FutureKeys(const FrameOptions& frame, std::int64_t tokens, const at::TensorOptions& options) {
  const at::Tensor future = at::ones({tokens, tokens}, options.dtype(at::kBool)).triu(1);
  future.slice(0, 0, frame.prefix).slice(1, 0, frame.prefix).fill_(false);
  return future;
}

at::Tensor VisibleKeys(const FrameOptions& frame, const at::Tensor& attention_mask, std::int64_t tokens,
                       const at::TensorOptions& options) {
  const at::Tensor real =
      attention_mask.defined() ? attention_mask.to(options) : at::ones({1, tokens}, options);
  if (!frame.causal) return real.sum(1).view({-1, 1, 1, 1});
  const at::Tensor seen = real.cumsum(1);
  if (frame.prefix > 0)
    seen.slice(1, 0, frame.prefix).copy_(real.slice(1, 0, frame.prefix).sum(1, /*keepdim=*/true));
  return seen.view({-1, 1, tokens, 1});
}

namespace {

at::TensorOptions AtLeastFloat32Like(const at::TensorOptions& options) {
  return options.dtype(options.dtype() == at::kDouble ? at::kDouble : at::kFloat);
}

at::Tensor RowLengths(const FrameOptions& frame, const at::Tensor& attention_mask, std::int64_t tokens,
                      const at::TensorOptions& options) {
  using RowLength = SoftmaxOptions::RowLength;
  if (frame.softmax.kind == SoftmaxOptions::Kind::kSigmoid)
    return VisibleKeys(frame, attention_mask, tokens, options);
  if (frame.softmax.kind != SoftmaxOptions::Kind::kNcs) return {};
  switch (frame.softmax.length) {
    case RowLength::kConfigured:
    case RowLength::kRun:
      return {};  // The same for all rows: the softmax has it.
    case RowLength::kUnpadded:
      return VisibleKeys({.causal = false}, attention_mask, tokens, options);
    case RowLength::kRow:
      return VisibleKeys({.causal = true, .prefix = frame.prefix}, {}, tokens, options);
  }
  TORCH_CHECK(false, "unknown row length ", static_cast<int>(frame.softmax.length));
}

bool HasEmptyRows(const at::Tensor& padding, bool causal) {
  return (causal ? padding.select(1, 0) : std::get<0>(padding.min(1))).any().item<bool>();
}

// (B or 1, 1, T, T) bool: the keys that a query of a causal model does not see. `document`: (B, T), the number of each token's text.
at::Tensor UnseenKeys(const FrameOptions& frame, std::int64_t tokens, const at::TensorOptions& options,
                      std::int64_t window, const at::Tensor& document) {
  at::Tensor unseen = FutureKeys(frame, tokens, options);
  if (window > 0) unseen = unseen.logical_or(at::ones_like(unseen).tril(-window));
  unseen = unseen.view({1, 1, tokens, tokens});
  if (!document.defined()) return unseen;
  return unseen.logical_or(document.view({-1, 1, tokens, 1}).ne(document.view({-1, 1, 1, tokens})));
}

AttentionMask MaskOf(const FrameOptions& frame, const at::Tensor& attention_mask, std::int64_t tokens,
                     const at::TensorOptions& options, const at::Tensor& document, std::int64_t window = 0) {
  at::Tensor hidden, unseen;
  if (attention_mask.defined()) hidden = attention_mask.eq(0).view({-1, 1, 1, tokens});
  if (frame.causal) {
    unseen = UnseenKeys(frame, tokens, options, window, document);
    hidden = hidden.defined() ? hidden.logical_or(unseen) : unseen;
  }
  if (!hidden.defined()) return {};
  const at::Tensor padding =
      attention_mask.defined() ? attention_mask.eq(0).to(at::kByte).contiguous() : at::Tensor();
  const bool infinite = frame.softmax.needs_infinite_mask();
  const double lowest = infinite                         ? -std::numeric_limits<double>::infinity()
                        : options.dtype() == at::kDouble ? std::numeric_limits<double>::lowest()
                                                         : std::numeric_limits<float>::lowest();
  return {.additive = at::zeros(hidden.sizes(), AtLeastFloat32Like(options)).masked_fill_(hidden, lowest),
          .causal = frame.causal,
          .hidden_keys = padding,
          .unseen = window > 0 || document.defined() ? unseen : at::Tensor(),
          .has_empty_rows = padding.defined() && padding.is_cpu() && HasEmptyRows(padding, frame.causal)};
}

// `mask` with what a function and added keys need.
void Finish(const FrameOptions& frame, std::int64_t tokens, const at::TensorOptions& options,
            AttentionMask* mask) {
  if (frame.softmax.kind == SoftmaxOptions::Kind::kFunction) {
    const at::Tensor of_tokens = mask->additive.defined()
                                     ? mask->additive.eq(0)
                                     : at::ones({1, 1, 1, tokens}, options.dtype(at::kBool));
    mask->visible = at::constant_pad_nd(of_tokens, {0, frame.added_keys}, 1);
  }
  if (frame.added_keys > 0 && mask->additive.defined())
    mask->additive = at::constant_pad_nd(mask->additive, {0, frame.added_keys}, 0);
}

}  // namespace

AttentionFrame MakeAttentionFrame(const FrameOptions& frame, const at::Tensor& attention_mask,
                                  std::int64_t tokens, const at::TensorOptions& options,
                                  const at::Tensor& ids) {
  const at::Tensor document =
      frame.document_start >= 0 ? ids.eq(frame.document_start).cumsum(1) : at::Tensor();
  AttentionFrame result{.mask = MaskOf(frame, attention_mask, tokens, options, document),
                        .window_mask = {},
                        .row_lengths = RowLengths(frame, attention_mask, tokens, AtLeastFloat32Like(options)),
                        .rotary = {}};
  Finish(frame, tokens, options, &result.mask);
  result.window_mask = result.mask;
  if (frame.window > 0 && frame.window < tokens) {
    result.window_mask = MaskOf(frame, attention_mask, tokens, options, document, frame.window);
    Finish(frame, tokens, options, &result.window_mask);
  }
  if (frame.rotary.size > 0)
    result.rotary = MakeRotaryTable(tokens, frame.rotary, AtLeastFloat32Like(options));
  return result;
}

}  // namespace inlier
