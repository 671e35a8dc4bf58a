// Attention of the softmax family on a GPU: the mathematics of core/layer_cpu/attention.h with bfloat16 operands; scores,
// statistics and sums are float32. Scores and probabilities never leave the multiprocessor.
//
//   s = scale q k^T, hidden keys out;  p = softmax of s, of the kind;  y = clip((zeta - gamma) p + gamma, 0, 1);
//   o = dropout(y) v
//
// Kinds and their sources: core/nn/attention/softmax.h. Softmax is the clipped one with gamma 0 and zeta 1. Gradients:
// core/layer_cpu/attention.h. The largest score of a row is taken out before the exponential, so nothing overflows
// (Milakov and Gimelshein 2018 for the sum over parts of a row). Unlike on the CPU, a row without a visible key is zeros,
// not NaN, and passes no gradient.
//
// Results are the same bits in every run on every GPU: no atomics, every sum has one order. Up to 512 tokens a row of
// scores stays in registers; with more, its keys are read twice, for the statistics and for the probabilities (in the
// backward pass of heads of 128, always).
//
// Pointers are of device memory. Launchers return before the kernels have run; they return cudaErrorInvalidValue, and
// start nothing, for a shape that CanAttend does not take, else the launch's error.
#ifndef INLIER_CORE_CUDA_ATTENTION_H_
#define INLIER_CORE_CUDA_ATTENTION_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/kernels/dropout.h"
#include "core/kernels/element.h"

namespace inlier::cuda {

// Rows of heads: row t of head h of sequence b begins at data + b * sequence + h * head + t * row and is contiguous. Data
// are aligned to 16 bytes, the three distances are multiples of 8 elements.
template <typename E>
struct Heads {
  E* data = nullptr;
  std::int64_t sequence = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};

struct AttentionShape {
  std::int64_t batch = 0;         // B
  std::int64_t heads = 0;         // H
  std::int64_t kv_heads = 0;      // Each serves heads / kv_heads consecutive heads of queries.
  std::int64_t tokens = 0;        // T
  std::int64_t head_size = 0;     // 32, 64 or 128
  std::int64_t visible_keys = 0;  // Keys from here on are hidden; T for none. At least 1.
  float scale = 1;                // Of the scores; above 0.
  float zeta = 1;
  bool causal = false;                       // Query t sees keys up to t.
  const std::uint8_t* key_hidden = nullptr;  // (B, T), 1 = hidden; null for none.
  const float* row_gamma = nullptr;          // (T) or (B, T); null: 0.
  std::int64_t gamma_sequence = 0;           // Between the gammas of two sequences: 0 or T.
  const float* null_score = nullptr;         // (H), of a further key without a value; null: none.
  kernels::Dropout dropout;                  // On y; row first_row + (b H + h) T + t, column = key.
  std::uint64_t first_row = 0;
};

// True for a shape that the kernels take. Others are left to the plain path.
bool CanAttend(const AttentionShape& shape);

// o, and of each row the statistics (B, H, T, 2) as in core/kernels/softmax_rows.h.
cudaError_t AttentionForward(const AttentionShape& shape, const Heads<const kernels::Bf16>& q,
                             const Heads<const kernels::Bf16>& k, const Heads<const kernels::Bf16>& v,
                             const Heads<kernels::Bf16>& o, float* statistics, cudaStream_t stream);

struct AttentionGradients {
  Heads<const kernels::Bf16> o;  // Of o.
  Heads<kernels::Bf16> q, k, v;  // Overwritten.
  float* null_score = nullptr;   // (H), added to; null for none.
  float* row_sums = nullptr;     // (B, H, T) of scratch memory.
};

// From the forward pass's operands and statistics.
cudaError_t AttentionBackward(const AttentionShape& shape, const Heads<const kernels::Bf16>& q,
                              const Heads<const kernels::Bf16>& k, const Heads<const kernels::Bf16>& v,
                              const float* statistics, const AttentionGradients& gradients,
                              cudaStream_t stream);

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_ATTENTION_H_
