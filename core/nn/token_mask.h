// The padding of a batch, for what a tap measures: metrics and dynamic scales are those of real tokens. On a GPU no call
// waits for the device.
#ifndef INLIER_CORE_NN_TOKEN_MASK_H_
#define INLIER_CORE_NN_TOKEN_MASK_H_

#include <ATen/core/Tensor.h>

namespace inlier {

// All undefined where no token is padding.
struct TokenMask {
  at::Tensor padding;    // (B, T) bool, true = padding.
  at::Tensor first;      // (B) int64: position of the first real token; 0 in a sequence without one.
  at::Tensor not_first;  // (B, T) bool, false = the first real token of its sequence.
  at::Tensor not_later;  // (B, T) bool, false = a real token behind the first.
};

// attention_mask: (B, T), 1 = a real token, or undefined. On the CPU a mask without padding gives an empty TokenMask.
TokenMask MakeTokenMask(const at::Tensor& attention_mask);

// True for x (B, T, …) or (B * T, …). REQUIRES: there is padding.
bool IsOfTokens(const TokenMask& mask, const at::Tensor& x);

// The padding of x, (B, T, …) or (B * T, …), as a tensor that broadcasts to x; undefined where there is none.
at::Tensor PaddingOf(const TokenMask& mask, const at::Tensor& x);

// x, (B, T, d) or (B * T, d), with the first real token of the sequence in the place of padding: extremes over all
// tokens are those of the real ones.
at::Tensor WithoutPadding(const TokenMask& mask, const at::Tensor& x);

}  // namespace inlier

#endif  // INLIER_CORE_NN_TOKEN_MASK_H_
