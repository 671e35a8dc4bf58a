#include "core/layer_cpu/attention.h"

#include <algorithm>

#include "core/kernels/heads.h"
#include "core/kernels/softmax_rows.h"
#include "core/layer_cpu/parallel.h"

namespace inlier::layer::cpu {
namespace {

constexpr std::int64_t kQueries = 64;  // Of a block.

// The memory of one call.
template <typename T>
struct Memory {
  using R = Real<T>;

  Memory(const AttentionShape& shape, std::byte* memory) {
    const std::int64_t t = shape.tokens, h = shape.head_size, q = std::min(kQueries, t);
    ScratchCutter cutter(memory);
    const auto take = [&]<typename E>(E*& place, std::int64_t elements) {
      place = cutter.Take<E>(elements);
      bytes += ScratchCutter::BytesOf<E>(elements);
    };
    // Not a power of two: rows of a block would share few places of the nearest cache.
    stride = (t + kernels::kSoftmaxVector - 1) / kernels::kSoftmaxVector * kernels::kSoftmaxVector + 32;
    take(scores, q * stride);
    take(gradients, q * stride);
    take(factors, stride);
    take(left, q * stride);
    take(score_gradients, q * stride);
    take(transposed, t * PaddedDepth<T>(q));
    take(keys_by_column, PackedSize<T>(h, t));
    take(values_by_column, PackedSize<T>(h, t));
    take(keys_by_row, PackedSize<T>(t, h));
    take(values_by_row, PackedSize<T>(t, h));
    take(block_by_row, PackedSize<T>(q, h));
    take(block, q * h);
    take(k_gradient, t * h);
    take(v_gradient, t * h);
  }

  std::size_t bytes = 0;
  std::int64_t stride = 0;  // Of the rows of scores and of left sides.
  R* scores = nullptr;
  R* gradients = nullptr;
  R* factors = nullptr;
  T* left = nullptr;
  T* score_gradients = nullptr;
  T* transposed = nullptr;
  T* keys_by_column = nullptr;
  T* values_by_column = nullptr;
  T* keys_by_row = nullptr;
  T* values_by_row = nullptr;
  T* block_by_row = nullptr;
  R* block = nullptr;
  R* k_gradient = nullptr;
  R* v_gradient = nullptr;
};

// A block of queries, and the keys that matter to it.
template <typename T>
struct Block {
  Block(const AttentionShape& shape, const AttentionHead<T>& head, std::int64_t first)
      : first(first), queries(std::min(kQueries, shape.tokens - first)) {
    const std::int64_t seen =
        std::min(shape.causal ? std::max(first + queries, shape.prefix) : shape.tokens, head.visible_keys);
    keys = std::min((seen + kPanel - 1) / kPanel * kPanel, shape.tokens);  // Whole panels.
    const bool has_constant =
        shape.softmax == SoftmaxKind::kClipped || shape.softmax == SoftmaxKind::kSigmoid;
    rows = {.kind = shape.softmax,
            .rows = queries,
            .first_query = first,
            .causal = shape.causal,
            .prefix = shape.prefix,
            .visible_keys = head.visible_keys,
            .key_hidden = head.key_hidden,
            .scale = static_cast<Real<T>>(shape.scale),
            .zeta = shape.softmax == SoftmaxKind::kClipped ? static_cast<Real<T>>(shape.zeta) : Real<T>{1},
            .epsilon = static_cast<Real<T>>(shape.epsilon),
            .row_constant = has_constant ? head.row_constant : nullptr,
            .null_score = shape.softmax == SoftmaxKind::kNullKey ? &head.null_score : nullptr,
            .dropout = head.dropout,
            .first_row = head.first_row};
  }
  std::int64_t first, queries, keys;
  kernels::SoftmaxRows<T> rows;
};

// c = a (rows, keys) b, of which b (tokens, width), packed by rows, has more rows than `keys`.
template <typename T>
void MultiplyFirstRows(std::int64_t rows, std::int64_t keys, std::int64_t tokens, std::int64_t width,
                       const T* a, std::int64_t stride, const T* packed, Real<T>* c, std::int64_t c_stride) {
  for (std::int64_t column = 0; column < width; column += kPanel) {
    Multiply<T>(rows, std::min(kPanel, width - column), keys, a, stride,
                packed + column * PaddedDepth<T>(tokens), c + column, c_stride, /*add=*/false);
  }
}

// sum (keys, size) += left^T right over the queries of the block.
template <typename T>
void AddOverQueries(const Memory<T>& memory, const Block<T>& block, std::int64_t size, const T* left,
                    const T* right, std::int64_t right_stride, Real<T>* sum) {
  TransposeLeft(left, memory.stride, block.queries, block.keys, memory.transposed);
  PackRows(right, right_stride, block.queries, size, memory.block_by_row);
  Multiply<T>(block.keys, size, block.queries, memory.transposed, PaddedDepth<T>(block.queries),
              memory.block_by_row, sum, size, /*add=*/true);
}

}  // namespace

template <typename T>
std::int64_t AttentionScratch(const AttentionShape& shape) {
  return static_cast<std::int64_t>(Memory<T>(shape, nullptr).bytes);
}

template <typename T>
void AttentionForward(const AttentionShape& shape, const AttentionHead<T>& head, Real<T>* o,
                      std::int64_t o_stride, Real<T>* statistics, std::byte* scratch) {
  const std::int64_t tokens = shape.tokens, size = shape.head_size;
  const Memory<T> memory(shape, scratch);
  PackColumns(head.k, head.stride, size, tokens, memory.keys_by_column);
  PackRows(head.v, head.stride, tokens, size, memory.values_by_row);
  for (std::int64_t first = 0; first < tokens; first += kQueries) {
    const Block<T> block(shape, head, first);
    Multiply<T>(block.queries, block.keys, size, head.q + first * head.stride, head.stride,
                memory.keys_by_column, memory.scores, memory.stride, /*add=*/false);
    kernels::SoftmaxForward<T>(block.rows, PaddedDepth<T>(block.keys), memory.scores, memory.stride,
                               memory.left, memory.stride, statistics, memory.factors);
    MultiplyFirstRows<T>(block.queries, block.keys, tokens, size, memory.left, memory.stride,
                         memory.values_by_row, o + first * o_stride, o_stride);
  }
}

template <typename T>
void AttentionBackward(const AttentionShape& shape, const AttentionHead<T>& head, const Real<T>* statistics,
                       const T* d_o, std::int64_t o_stride, T* dq, T* dk, T* dv, std::int64_t d_stride,
                       Real<T>* null_score_gradient, std::byte* scratch) {
  const std::int64_t tokens = shape.tokens, size = shape.head_size;
  const Memory<T> memory(shape, scratch);
  PackColumns(head.k, head.stride, size, tokens, memory.keys_by_column);
  PackColumns(head.v, head.stride, size, tokens, memory.values_by_column);
  PackRows(head.k, head.stride, tokens, size, memory.keys_by_row);
  std::fill(memory.k_gradient, memory.k_gradient + tokens * size, Real<T>{0});
  std::fill(memory.v_gradient, memory.v_gradient + tokens * size, Real<T>{0});
  for (std::int64_t first = 0; first < tokens; first += kQueries) {
    const Block<T> block(shape, head, first);
    const std::int64_t queries = block.queries, keys = block.keys;
    const T* const q = head.q + first * head.stride;
    const T* const gradient = d_o + first * o_stride;
    Multiply<T>(queries, keys, size, q, head.stride, memory.keys_by_column, memory.scores, memory.stride,
                /*add=*/false);
    Multiply<T>(queries, keys, size, gradient, o_stride, memory.values_by_column, memory.gradients,
                memory.stride, /*add=*/false);
    kernels::SoftmaxBackward<T>(block.rows, PaddedDepth<T>(keys), memory.scores, memory.gradients,
                                memory.stride, statistics, memory.left, memory.score_gradients, memory.stride,
                                null_score_gradient, memory.factors);
    MultiplyFirstRows<T>(queries, keys, tokens, size, memory.score_gradients, memory.stride,
                         memory.keys_by_row, memory.block, size);
    kernels::StoreHead<T>(queries, size, memory.block, {}, nullptr, dq + first * d_stride, d_stride);
    // The sums over queries.
    AddOverQueries<T>(memory, block, size, memory.score_gradients, q, head.stride, memory.k_gradient);
    AddOverQueries<T>(memory, block, size, memory.left, gradient, o_stride, memory.v_gradient);
  }
  kernels::StoreHead<T>(tokens, size, memory.k_gradient, {}, nullptr, dk, d_stride);
  kernels::StoreHead<T>(tokens, size, memory.v_gradient, {}, nullptr, dv, d_stride);
}

#define INLIER_ATTENTION(T)                                                                                 \
  template std::int64_t AttentionScratch<T>(const AttentionShape&);                                         \
  template void AttentionForward<T>(const AttentionShape&, const AttentionHead<T>&, Real<T>*, std::int64_t, \
                                    Real<T>*, std::byte*);                                                  \
  template void AttentionBackward<T>(const AttentionShape&, const AttentionHead<T>&, const Real<T>*,        \
                                     const T*, std::int64_t, T*, T*, T*, std::int64_t, Real<T>*,            \
                                     std::byte*);
INLIER_ATTENTION(float)
INLIER_ATTENTION(double)
INLIER_ATTENTION(Bf16)

}  // namespace inlier::layer::cpu
