// Shared by the forward and the backward pass of a layer (layer.h).
#ifndef INLIER_CORE_LAYER_CPU_LAYER_PARTS_H_
#define INLIER_CORE_LAYER_CPU_LAYER_PARTS_H_

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/kernels/heads.h"
#include "core/layer_cpu/layer.h"
#include "core/layer_cpu/matmul.h"
#include "core/layer_cpu/parallel.h"

namespace inlier::fused {

template <typename T>
constexpr c10::ScalarType kTypeOf = std::is_same_v<T, double> ? c10::kDouble
                                    : std::is_same_v<T, Bf16> ? c10::kBFloat16
                                                              : c10::kFloat;

template <typename T>
at::Tensor Empty(at::IntArrayRef sizes) {
  return at::empty(sizes, at::TensorOptions().dtype(kTypeOf<T>));
}

// The elements of a contiguous tensor of T; null for an undefined one.
template <typename T>
T* Data(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
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

inline TokenBlocks BlocksOf(const LayerShape& shape) {
  return TokenBlocks(shape.batch * shape.tokens, std::max(QkvWidth(shape), shape.ffn));
}

// A right side (k, n) for Multiply from a matrix that is stored as (k, n), or as (n, k) when `transposed`.
template <typename T>
at::Tensor PackMatrix(const at::Tensor& matrix, bool transposed) {
  const std::int64_t k = matrix.size(transposed ? 1 : 0), n = matrix.size(transposed ? 0 : 1);
  at::Tensor packed = Empty<T>({PackedSize<T>(k, n)});
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
at::Tensor PackForward(const LayerShape& shape, const LayerLinear& linear) {
  return linear.weight.defined() ? PackMatrix<T>(linear.weight, /*transposed=*/!shape.in_out) : at::Tensor();
}
template <typename T>
at::Tensor PackBackward(const LayerShape& shape, const LayerLinear& linear) {
  return linear.weight.defined() ? PackMatrix<T>(linear.weight, /*transposed=*/shape.in_out) : at::Tensor();
}

// Columns that each of LayerWeights::projections gives.
inline std::vector<std::int64_t> ProjectionWidths(const LayerShape& shape, const LayerWeights& weights) {
  std::vector<std::int64_t> widths;
  for (const LayerLinear& linear : weights.projections)
    widths.push_back(linear.weight.size(shape.in_out ? 1 : 0));
  return widths;
}

template <typename R>
kernels::NormWeights<R> NormOf(const LayerShape& shape, const LayerNormWeights& norm) {
  return {.kind = shape.norm,
          .epsilon = static_cast<R>(shape.epsilon),
          .gain = Data<R>(norm.gain),
          .offset = Data<R>(norm.offset)};
}

// Where the part of a head, the `number`th of the batch, begins in LayerInputs::gate and its gradient.
inline std::int64_t GatePlace(const LayerShape& shape, const at::Tensor& gate, std::int64_t number) {
  return number * shape.tokens * (gate.dim() == 4 ? shape.attention.head_size : 1);
}

template <typename T>
kernels::HeadGate<T> GateOf(const LayerShape& shape, const at::Tensor& gate, std::int64_t number) {
  if (!gate.defined()) return {};
  return {.factors = Data<Real<T>>(gate) + GatePlace(shape, gate, number), .by_element = gate.dim() == 4};
}

// Head `head` of sequence `sequence` for the attention.
template <typename T>
AttentionHead<T> HeadOf(const LayerShape& shape, const LayerWeights& weights, const LayerInputs& inputs,
                        T* qkv, std::int64_t sequence, std::int64_t head) {
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

}  // namespace inlier::fused

#endif  // INLIER_CORE_LAYER_CPU_LAYER_PARTS_H_
