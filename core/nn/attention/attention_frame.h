// Shared by the attentions of all layers in one forward call: the mask, and the position of each token.
#ifndef INLIER_CORE_NN_ATTENTION_ATTENTION_FRAME_H_
#define INLIER_CORE_NN_ATTENTION_ATTENTION_FRAME_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/nn/attention/rotary.h"
#include "core/nn/attention/softmax.h"

namespace inlier {

// The keys that a query may see. Default: all.
struct AttentionMask {
  // Added to the scores, broadcast to (B, H, T, T), with added keys (B, H, T, T + added_keys): 0 where a query may see a
  // key; where not, the most negative number of its type, or -inf.
  at::Tensor additive;
  // For kFunction alone: bool, true where a query sees a key. (B or 1, 1, T or 1, T), with added keys T + added_keys.
  at::Tensor visible;
  bool causal = false;
  at::Tensor hidden_keys;  // (B, T) uint8, 1 = padding; undefined where there is none.
  // (B or 1, 1, T, T) bool, true where a query does not see a key, padding apart; undefined where only later keys are unseen.
  at::Tensor unseen;
  // On the CPU: true when a query may see no key at all, as under a causal mask with padding at the front.
  bool has_empty_rows = false;
};

struct AttentionFrame {
  AttentionMask mask;
  AttentionMask window_mask;  // Of attentions with a window; the same as `mask` where it hides nothing more.
  at::Tensor row_lengths;     // As RowInfo::lengths; undefined where the softmax does not need it.
  RotaryTable rotary;         // Empty: the attention ignores positions.
};

struct FrameOptions {
  bool causal = false;
  std::int64_t prefix = 0;  // Causal: the first so many tokens see each other.
  SoftmaxOptions softmax = {};
  std::int64_t added_keys = 0;  // Keys behind the tokens that every query sees.
  std::int64_t window =
      0;  // Causal: keys that a query of an attention with a window sees, its own the last; 0: no window.
  std::int64_t document_start =
      -1;  // Causal: the token from which on a query sees its own text alone; -1: it sees all.
  RotaryOptions rotary = {};
};

// (T, T) bool: the keys, columns, that a query of a causal model does not see, with or without padding. Window and documents are left out.
at::Tensor FutureKeys(const FrameOptions& frame, std::int64_t tokens, const at::TensorOptions& options);

// The number of tokens that a query sees, (B or 1, 1, T or 1, 1), of type `options`; attention_mask as below.
at::Tensor VisibleKeys(const FrameOptions& frame, const at::Tensor& attention_mask, std::int64_t tokens,
                       const at::TensorOptions& options);

// attention_mask: (B, T), 1 = a real token, or undefined; `options`: dtype and device of the activations; ids: (B, T), read with
// document_start alone. `additive` is (B, 1, 1, T), (1, 1, T, T) or (B, 1, T, T).
AttentionFrame MakeAttentionFrame(const FrameOptions& frame, const at::Tensor& attention_mask,
                                  std::int64_t tokens, const at::TensorOptions& options,
                                  const at::Tensor& ids = {});

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_ATTENTION_FRAME_H_
