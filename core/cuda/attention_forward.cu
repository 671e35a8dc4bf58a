#include "core/cuda/attention_tile.cuh"

namespace inlier::cuda {
namespace {

// Largest score and sum of exponentials of a lane's two rows, over the keys of its warp so far.
struct Running {
  float largest[2] = {kHiddenScore, kHiddenScore};
  float sum[2] = {0, 0};
};

__device__ inline float Rescale(float largest, float next, float scale) {
  return largest == next ? 1.0f : Weight(largest, next, scale);  // Both may be -infinity.
}

// Hidden scores become -infinity.
__device__ inline void AddKeys(float (&s)[kTiles][4], const std::uint32_t (&visible)[2], float scale,
                               Running& running) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float largest = running.largest[r];
#pragma unroll
    for (int bit = 0; bit < 2 * kTiles; ++bit) {
      float& score = s[bit / 2][2 * r + bit % 2];
      if ((visible[r] & 1u << bit) == 0) score = kHiddenScore;
      largest = fmaxf(largest, score);
    }
    largest = QuadMax(largest);
    const float base = largest == kHiddenScore ? 0.0f : largest;
    float sum = 0;
#pragma unroll
    for (int bit = 0; bit < 2 * kTiles; ++bit) sum += Weight(s[bit / 2][2 * r + bit % 2], base, scale);
    running.sum[r] = running.sum[r] * Rescale(running.largest[r], largest, scale) + QuadSum(sum);
    running.largest[r] = largest;
  }
}

// Of the whole row: all parts and the null key. On return `sum` is its inverse, 0 for a row without a visible key.
__device__ inline void MergeParts(const AttentionCall& call, const Place& place, int head, Running& running) {
  __shared__ float merged[kAttentionWarps][16][2];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (place.q != 0) continue;
    merged[warp][place.g + 8 * r][0] = running.largest[r];
    merged[warp][place.g + 8 * r][1] = running.sum[r];
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float null_score = call.null_score == nullptr ? 0.0f : call.null_score[head];
    float largest = call.null_score == nullptr ? kHiddenScore : null_score / call.scale, sum = 0;
    for (int part = 0; part < call.split; ++part) {
      largest = fmaxf(largest, merged[place.group * call.split + part][place.g + 8 * r][0]);
    }
    for (int part = 0; part < call.split; ++part) {
      const float* const of_part = merged[place.group * call.split + part][place.g + 8 * r];
      sum += of_part[1] * Rescale(of_part[0], largest, call.scale);
    }
    if (call.null_score != nullptr) sum += __expf(null_score - largest * call.scale);
    running.largest[r] = largest;
    running.sum[r] = sum == 0 ? 0.0f : 1 / sum;
  }
}

// The left side of the product with the values.
__device__ inline void Probabilities(const AttentionCall& call, const float (&gamma)[2],
                                     const Running& running, const float (&s)[kTiles][4],
                                     const std::uint32_t (&used)[2], std::uint32_t (&left)[kTiles / 2][4]) {
#pragma unroll
  for (int word = 0; word < 2 * kTiles; ++word) {
    const int tile = word / 2, r = word % 2;
    float y[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float p = Probability(s[tile][2 * r + i], running.largest[r], running.sum[r], call.scale);
      const float kept = Clip((call.zeta - gamma[r]) * p + gamma[r]) * call.dropout.scale;
      y[i] = (used[r] >> (2 * tile + i) & 1) != 0 ? kept : 0.0f;
    }
    left[tile / 2][tile % 2 * 2 + r] = Pack(y[0], y[1]);
  }
}

template <int head_size>
__global__ void __launch_bounds__(kAttentionThreads, 1)
    ForwardKernel(AttentionCall call, Heads<const Bf16> q, Heads<const Bf16> k, Heads<const Bf16> v,
                  Heads<Bf16> o, float* statistics) {
  Bf16* const shared = reinterpret_cast<Bf16*>(DynamicShared());
  const int head = static_cast<int>(blockIdx.y), sequence = static_cast<int>(blockIdx.z);
  const Place place(call);
  const Bf16* const queries = Row(q, sequence, head, 0);
  const Bf16* const keys = Row(k, sequence, head / call.group, 0);
  const Bf16* const values = Row(v, sequence, head / call.group, 0);
  const std::uint64_t dropout_row = DropoutRow(call, sequence, head);
  const int span = kPartKeys * call.split;
  float s[kTiles][4];
  std::uint32_t visible[2];
  Running running;
  for (int base = 0; base < place.limit; base += span) {
    MultiplyRows<head_size>(call, place, queries, q.row, keys, k.row, base, shared, s);
    VisibleBits(call, place, sequence, base + place.part * kPartKeys, visible);
    AddKeys(s, visible, call.scale, running);
  }
  MergeParts(call, place, head, running);
  float gamma[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const bool exists = place.row[r] < call.tokens;
    gamma[r] = exists ? GammaOf(call, sequence, place.row[r]) : 0.0f;
    if (!exists || place.part != 0 || place.q != 0) continue;
    float* const to = statistics + 2 * (FirstRow(call, sequence, head) + place.row[r]);
    to[0] = running.largest[r];
    to[1] = running.sum[r];
  }
  float sum[head_size / 8][4] = {};
  for (int base = 0; base < place.limit; base += span) {
    const int first_key = base + place.part * kPartKeys;
    if (place.limit > span) {  // Else they are still there.
      MultiplyRows<head_size>(call, place, queries, q.row, keys, k.row, base, shared, s);
      VisibleBits(call, place, sequence, first_key, visible);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      visible[r] &= RowKeptBits(call.dropout, dropout_row + place.row[r], first_key, place.q);
    }
    std::uint32_t left[kTiles / 2][4];
    Probabilities(call, gamma, running, s, visible, left);
    MultiplyPairs<head_size>(call, place, left, values, v.row, base, shared, sum);
  }
  StoreParts<head_size>(call, place, sum, shared, Row(o, sequence, head, 0), o.row);
}

template <int head_size>
cudaError_t Start(const AttentionShape& shape, const Heads<const Bf16>& q, const Heads<const Bf16>& k,
                  const Heads<const Bf16>& v, const Heads<Bf16>& o, float* statistics, cudaStream_t stream) {
  const AttentionCall call = CallOf(shape);
  return Launch(ForwardKernel<head_size>, QueryBlocks(shape, call), kAttentionThreads,
                SharedBytes<head_size>(kPartKeys * call.split), stream, call, q, k, v, o, statistics);
}

}  // namespace

bool CanAttend(const AttentionShape& shape) {
  constexpr std::int64_t kMostTokens = 1 << 20, kMostBlocks = 65535;
  return (shape.head_size == 32 || shape.head_size == 64 || shape.head_size == 128) && shape.batch > 0 &&
         shape.batch <= kMostBlocks && shape.kv_heads > 0 && shape.heads > 0 && shape.heads <= kMostBlocks &&
         shape.heads % shape.kv_heads == 0 && shape.tokens > 0 && shape.tokens <= kMostTokens &&
         shape.visible_keys > 0 && shape.visible_keys <= shape.tokens && shape.scale > 0;
}

AttentionCall CallOf(const AttentionShape& shape) {
  return {.heads = static_cast<int>(shape.heads),
          .group = static_cast<int>(shape.heads / shape.kv_heads),
          .tokens = static_cast<int>(shape.tokens),
          .visible_keys = static_cast<int>(shape.visible_keys),
          .split = shape.visible_keys <= kPartKeys       ? 1
                   : shape.visible_keys <= 2 * kPartKeys ? 2
                                                         : 4,
          .scale = shape.scale,
          .zeta = shape.zeta,
          .causal = shape.causal,
          .key_hidden = shape.key_hidden,
          .row_gamma = shape.row_gamma,
          .gamma_sequence = shape.gamma_sequence,
          .null_score = shape.null_score,
          .dropout = KeyOf(shape.dropout),
          .first_row = shape.first_row + shape.dropout.first_row};
}

cudaError_t AttentionForward(const AttentionShape& shape, const Heads<const Bf16>& q,
                             const Heads<const Bf16>& k, const Heads<const Bf16>& v, const Heads<Bf16>& o,
                             float* statistics, cudaStream_t stream) {
  if (!CanAttend(shape)) return cudaErrorInvalidValue;
  return ForHeadSize(shape.head_size, [&](auto size) {
    return Start<decltype(size)::value>(shape, q, k, v, o, statistics, stream);
  });
}

}  // namespace inlier::cuda
