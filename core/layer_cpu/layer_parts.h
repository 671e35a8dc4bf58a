// Shared by the forward and the backward pass of a layer (layer.h), the norms and the vocabulary's loss.
#ifndef INLIER_CORE_LAYER_CPU_LAYER_PARTS_H_
#define INLIER_CORE_LAYER_CPU_LAYER_PARTS_H_

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "core/kernels/heads.h"
#include "core/layer/parts.h"
#include "core/layer_cpu/attention.h"
#include "core/layer_cpu/matmul.h"
#include "core/layer_cpu/parallel.h"

namespace inlier::layer::cpu {

// run.template operator()<T>() with the type of the products' operands, for inputs like `x`.
template <typename Run>
auto WithOperands(const at::Tensor& x, Products products, const Run& run) {
  if (x.scalar_type() == at::kDouble) return run.template operator()<double>();
  if (products == Products::kBfloat16) return run.template operator()<Bf16>();
  return run.template operator()<float>();
}

// The tokens of a layer in blocks.
struct TokenBlocks {
  TokenBlocks(std::int64_t tokens, std::int64_t widest)
      : tokens(tokens), size(widest <= 2048 ? 64 : 32), count((tokens + size - 1) / size) {}
  std::int64_t tokens;
  std::int64_t size;  // Rows of a block; a block of the widest matrix stays in the second cache.
  std::int64_t count;
  std::int64_t First(std::int64_t block) const { return block * size; }
  std::int64_t Rows(std::int64_t block) const { return std::min(size, tokens - block * size); }
};

inline TokenBlocks BlocksOf(const Shape& shape) {
  return TokenBlocks(shape.batch * shape.tokens, std::max(QkvWidth(shape), shape.ffn));
}

// A right side (k, n) for Multiply from a matrix that is stored as (k, n), or as (n, k) when `transposed`.
template <typename T>
at::Tensor PackMatrix(const at::Tensor& matrix, bool transposed) {
  const std::int64_t k = matrix.size(transposed ? 1 : 0), n = matrix.size(transposed ? 0 : 1);
  at::Tensor packed = EmptyLike<T>(matrix, {PackedSize<T>(k, n)});
  const Real<T>* source = Data<Real<T>>(matrix);
  T* out = Data<T>(packed);
  ParallelFor((n + kPanel - 1) / kPanel, [&](std::int64_t panel) {
    const std::int64_t first = panel * kPanel, width = std::min(kPanel, n - first);
    T* const to = out + first * PaddedDepth<T>(k);
    if (transposed) {
      PackColumns(source + first * k, k, k, width, to);
    } else {
      PackRows(source + first, n, k, width, to);
    }
  });
  return packed;
}

// The right side of y = x W^T, and that of dx = dy W.
template <typename T>
at::Tensor PackForward(const Shape& shape, const Linear& linear) {
  return linear.weight.defined() ? PackMatrix<T>(linear.weight, /*transposed=*/!shape.in_out) : at::Tensor();
}
template <typename T>
at::Tensor PackBackward(const Shape& shape, const Linear& linear) {
  return linear.weight.defined() ? PackMatrix<T>(linear.weight, /*transposed=*/shape.in_out) : at::Tensor();
}

// Each block adds to its own row of `parts` (blocks, n), gradients of vectors; null where there are no parts.
template <typename R>
R* PartOf(const at::Tensor& parts, std::int64_t block) {
  return parts.defined() ? Data<R>(parts) + block * parts.stride(0) : nullptr;
}

// The rows are summed (n) in the order of the blocks, on any number of threads alike.
template <typename R>
at::Tensor SumOfParts(const at::Tensor& parts) {
  const std::int64_t blocks = parts.size(0), columns = parts.size(1), at_once = 1024;
  const at::Tensor sums = at::zeros({columns}, parts.options());
  R* const out = Data<R>(sums);
  ParallelFor((columns + at_once - 1) / at_once, [&](std::int64_t item) {
    const std::int64_t first = item * at_once, end = std::min(columns, first + at_once);
    for (std::int64_t block = 0; block < blocks; ++block) {
      const R* const part = PartOf<R>(parts, block);
      for (std::int64_t i = first; i < end; ++i) out[i] += part[i];
    }
  });
  return sums;
}

// Where the part of a head, the `number`th of the batch, begins in Inputs::gate and its gradient.
inline std::int64_t GatePlace(const Shape& shape, const at::Tensor& gate, std::int64_t number) {
  return number * shape.tokens * (gate.dim() == 4 ? shape.attention.head_size : 1);
}

template <typename T>
kernels::HeadGate<T> GateOf(const Shape& shape, const at::Tensor& gate, std::int64_t number) {
  if (!gate.defined()) return {};
  return {.factors = Data<Real<T>>(gate) + GatePlace(shape, gate, number), .by_element = gate.dim() == 4};
}

// Head `head` of sequence `sequence` for the attention.
template <typename T>
AttentionHead<T> HeadOf(const Shape& shape, const Weights& weights, const Inputs& inputs, T* qkv,
                        std::int64_t sequence, std::int64_t head) {
  const std::int64_t size = shape.attention.head_size, stride = QkvWidth(shape);
  T* const q = qkv + sequence * shape.tokens * stride + head * size;
  AttentionHead<T> result;
  result.q = q;
  const std::int64_t keys = shape.kv_heads * size;
  result.k = q - head * size + shape.width + head / (shape.heads / shape.kv_heads) * size;
  result.v = result.k + keys;
  result.stride = stride;
  result.visible_keys = shape.tokens;
  if (inputs.key_mask.defined())
    result.key_hidden = Data<std::uint8_t>(inputs.key_mask) + sequence * shape.tokens;
  if (inputs.row_constant.defined()) {
    const bool per_sequence = inputs.row_constant.size(0) > 1;
    result.row_constant = Data<Real<T>>(inputs.row_constant) + (per_sequence ? sequence * shape.tokens : 0);
  }
  result.null_score =
      weights.sinks.defined() ? Data<Real<T>>(weights.sinks)[head] : static_cast<Real<T>>(shape.null_score);
  result.dropout = shape.probabilities;
  result.first_row = static_cast<std::uint64_t>((sequence * shape.heads + head) * shape.tokens);
  return result;
}

}  // namespace inlier::layer::cpu

#endif  // INLIER_CORE_LAYER_CPU_LAYER_PARTS_H_
