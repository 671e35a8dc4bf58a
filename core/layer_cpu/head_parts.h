// The steps between the projection of heads and their use, in Real<T>: a gate of their elements, and the norms of queries
// and keys (core/nn/attention/projected_gate.h, core/nn/attention/query_key_norm.h). Heads lie side by side in a row, a
// row a token.
#ifndef INLIER_CORE_LAYER_CPU_HEAD_PARTS_H_
#define INLIER_CORE_LAYER_CPU_HEAD_PARTS_H_

#include <cstdint>

#include "core/kernels/rows.h"
#include "core/layer_cpu/layer_parts.h"

namespace inlier::layer::cpu {

// The factors of one part's heads: `gate` is (B, n, T), or (B, n, T, h), and belongs to the columns [column, column + n h).
template <typename R>
struct PartGate {
  PartGate(const Shape& shape, const at::Tensor& gate)
      : tokens(shape.tokens),
        size(shape.attention.head_size),
        heads(gate.size(1)),
        per_head(gate.dim() == 4 ? size : 1),
        column(shape.gated == GatedPart::kKey     ? shape.width
               : shape.gated == GatedPart::kValue ? shape.width + shape.kv_heads * size
                                                  : 0) {}

  // visit(element of a row, element of the gate) for the heads of a token.
  template <typename Visit>
  void ForEach(std::int64_t token, const Visit& visit) const {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t place = ((token / tokens * heads + head) * tokens + token % tokens) * per_head;
      for (std::int64_t c = 0; c < size; ++c)
        visit(column + head * size + c, place + (per_head == 1 ? 0 : c));
    }
  }

  // x * gate in place of x, of `rows` tokens from `first` on.
  void Apply(std::int64_t first, std::int64_t rows, const R* factors, R* x, std::int64_t stride) const {
    for (std::int64_t row = 0; row < rows; ++row)
      ForEach(first + row,
              [&](std::int64_t c, std::int64_t factor) { x[row * stride + c] *= factors[factor]; });
  }

  // From the gradient of x * gate: that of x in its place, and of the gate, which is 0 before.
  void Backward(std::int64_t first, std::int64_t rows, const R* factors, const R* x, R* gradient,
                std::int64_t stride, R* gate_gradient) const {
    for (std::int64_t row = 0; row < rows; ++row) {
      ForEach(first + row, [&](std::int64_t c, std::int64_t factor) {
        R& above = gradient[row * stride + c];
        gate_gradient[factor] += above * x[row * stride + c];
        above *= factors[factor];
      });
    }
  }

  std::int64_t tokens, size, heads, per_head, column;
};

// Inputs::gate by what it multiplies; the others are undefined.
struct LayerGates {
  LayerGates(const Shape& shape, const Inputs& inputs) {
    (shape.gated == GatedPart::kContext  ? context
     : shape.gated == GatedPart::kOutput ? output
                                         : heads) = inputs.gate;
  }
  at::Tensor context, output;
  at::Tensor heads;  // Of queries, keys or values.
};

// The two norms, of the heads of a row of queries, keys and values.
template <typename R>
struct HeadNorms {
  HeadNorms(const Shape& shape, const Weights& weights)
      : size(shape.attention.head_size), count{shape.heads, shape.kv_heads} {
    of[0] = NormOf<R>(shape.head_norm, shape.head_norm_epsilon, weights.query_norm);
    of[1] = NormOf<R>(shape.head_norm, shape.head_norm_epsilon, weights.key_norm);
  }

  // Rows of x, and statistics of their heads, queries before keys.
  template <typename T>
  void Forward(std::int64_t rows, std::int64_t stride, const R* x, T* y, R* mean, R* inverse) const {
    ForEach(rows, stride, [&](int i, std::int64_t at, std::int64_t head) {
      kernels::NormForward<T>(of[i], count[i], size, x + at, nullptr, y + at, mean + head, inverse + head);
    });
  }
  void Backward(std::int64_t rows, std::int64_t stride, const R* x, const R* mean, const R* inverse,
                R* gradient, R* const gains[2], R* const offsets[2]) const {
    ForEach(rows, stride, [&](int i, std::int64_t at, std::int64_t head) {
      kernels::NormBackward<R>(of[i], count[i], size, x + at, mean + head, inverse + head, gradient + at,
                               gradient + at, gains[i], offsets[i]);
    });
  }

 private:
  template <typename Visit>
  void ForEach(std::int64_t rows, std::int64_t stride, const Visit& visit) const {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t head = row * (count[0] + count[1]);
      visit(0, row * stride, head);
      visit(1, row * stride + count[0] * size, head + count[0]);
    }
  }

  std::int64_t size;
  std::int64_t count[2];
  kernels::NormWeights<R> of[2];
};

}  // namespace inlier::layer::cpu

#endif  // INLIER_CORE_LAYER_CPU_HEAD_PARTS_H_
