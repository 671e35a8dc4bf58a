// A linear whose products read rounded operands, forward and backward, with gradients that pass through the roundings as if
// they were not there (straight-through; Bengio et al. 2013). x (N tokens, in), W (out, in), g = dL/dy (N, out):
//
//   y     = Q(x) Q(W)^T + b
//   dL/db = sum of g over tokens, not rounded
//
// With float gradients, as fake quantization has it (Jacob et al. 2018): dL/dx = g Q(W),  dL/dW = g^T Q(x), with the
// operands of the forward pass.
//
// With rounded gradients all three are products of a low-precision unit, which takes a scale out of a sum only where it is
// the same along that sum. So each product rounds its operands anew, slices and blocks along the axis that it sums over:
//
//   dL/dx = Q(g) Q(W^T)^T                     sums over outputs
//   dL/dW = Q((R g)^T) Q((R x)^T)^T           sums over tokens
//
// as DeepSeek-V3 has it (DeepSeek-AI 2024, 3.3: tiles of 1 x 128 become 128 x 1 in the backward pass; here from the float
// tensor, there from the one that was rounded before), and NVIDIA 2025 ("Pretraining Large Language Models with NVFP4"). Of
// weights in square tiles Q(W^T) = Q(W)^T. R, if there is one, is an orthogonal matrix along blocks of consecutive tokens, a
// random Hadamard matrix; without rounding it cancels, (R g)^T R x = g^T x. It is used for float gradients too.
#ifndef INLIER_CORE_TRAIN_LOW_PRECISION_ROUNDED_LINEAR_H_
#define INLIER_CORE_TRAIN_LOW_PRECISION_ROUNDED_LINEAR_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/train/low_precision/operand_rounding.h"

namespace inlier {

struct LinearRounding {
  std::optional<OperandRounding> weights, inputs, gradients;  // Nothing: float.
  at::Tensor rotation = {};  // R's block, (n, n), orthogonal; undefined: none.
  std::string stream = {};   // Of the draws, with `seed`.
  std::uint64_t seed = 0;
};

// x (..., in), weight (out, in), bias (out) or undefined -> (..., out). Under autocast the rounded operands are cast as those
// of any product. Throws where the rotation's size does not divide the number of tokens.
at::Tensor RoundedLinear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const LinearRounding& rounding);

// R x: each block of consecutive rows of x (N, features) times `rotation` (n, n), in float32 at least. Throws where n does not
// divide N.
at::Tensor RotateTokens(const at::Tensor& x, const at::Tensor& rotation);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_LOW_PRECISION_ROUNDED_LINEAR_H_
