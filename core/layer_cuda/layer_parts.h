// Shared by the forward and the backward pass of a layer on a GPU (layer.h). M = B * T.
#ifndef INLIER_CORE_LAYER_CUDA_LAYER_PARTS_H_
#define INLIER_CORE_LAYER_CUDA_LAYER_PARTS_H_

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include "core/cuda/attention.h"
#include "core/cuda/rows.h"
#include "core/layer/parts.h"
#include "core/layer_cuda/layer.h"

namespace inlier::layer::gpu {

// The right side of y = x W^T, and that of dx = dy W, from the weight in the layer's layout.
inline at::Tensor ForwardSide(const Shape& shape, const Linear& linear) {
  return shape.in_out ? linear.weight : linear.weight.t();
}
inline at::Tensor BackwardSide(const Shape& shape, const Linear& linear) {
  return shape.in_out ? linear.weight.t() : linear.weight;
}

// Products of bfloat16 matrices, left (m, k) and right (k, n), any strides.
// Rounded to bfloat16.
inline at::Tensor Product(const at::Tensor& left, const at::Tensor& right) { return at::mm(left, right); }

// sum (m, n), float32, becomes the product, or sum + product. LibTorch has this for CUDA alone; on a CPU (tests)
// factors are widened.
inline void WideProductTo(at::Tensor sum, const at::Tensor& left, const at::Tensor& right) {
  if (left.is_cpu()) {
    at::mm_out(sum, left.to(at::kFloat), right.to(at::kFloat));
  } else {
    at::mm_out(sum, left, right, at::kFloat);
  }
}
inline void AddProduct(at::Tensor sum, const at::Tensor& left, const at::Tensor& right) {
  if (left.is_cpu()) {
    at::addmm_out(sum, sum, left.to(at::kFloat), right.to(at::kFloat));
  } else {
    at::addmm_out(sum, sum, left, right, at::kFloat);
  }
}

inline at::Tensor WideProduct(const at::Tensor& left, const at::Tensor& right) {
  at::Tensor product = at::empty({left.size(0), right.size(1)}, left.options().dtype(at::kFloat));
  WideProductTo(product, left, right);
  return product;
}

// Columns [column, column + size) of a projection's result, as heads of bfloat16. matrix: (M, width).
template <typename E>
cuda::Heads<E> HeadsOf(const Shape& shape, const at::Tensor& matrix, std::int64_t column) {
  const std::int64_t width = matrix.size(1);
  return {.data = Data<Bf16>(matrix) + column,
          .sequence = shape.tokens * width,
          .head = shape.attention.head_size,
          .row = width};
}

// Queries, keys and values side by side in (M, QkvWidth).
template <typename E>
struct QkvHeads {
  QkvHeads(const Shape& shape, const at::Tensor& qkv)
      : q(HeadsOf<E>(shape, qkv, 0)),
        k(HeadsOf<E>(shape, qkv, shape.width)),
        v(HeadsOf<E>(shape, qkv, shape.width + shape.kv_heads * shape.attention.head_size)) {}
  cuda::Heads<E> q, k, v;
};

// (H), the score of the key without a value; undefined without one.
at::Tensor NullScores(const Shape& shape, const Weights& weights, const at::Tensor& like);

cuda::AttentionShape AttentionOf(const Shape& shape, const Inputs& inputs, const at::Tensor& null_scores);

// Queries and keys in qkv (M, QkvWidth) are turned by their positions, or back; nothing without rotary positions.
void Rotate(const Shape& shape, const Inputs& inputs, bool inverse, const at::Tensor& qkv);

// The gate (B, H, T) as factors of (B, T, H, h); contexts (M, d) in that form.
inline at::Tensor GateFactors(const Inputs& inputs) { return inputs.gate.transpose(1, 2).unsqueeze(3); }
inline at::Tensor ByHead(const Shape& shape, const at::Tensor& context) {
  return context.view({shape.batch, shape.tokens, shape.heads, shape.attention.head_size});
}

}  // namespace inlier::layer::gpu

#endif  // INLIER_CORE_LAYER_CUDA_LAYER_PARTS_H_
