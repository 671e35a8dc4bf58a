// Parts of the attention kernels: rows of operands in shared memory, products with them, which elements of a tile are
// visible and kept. Inside .cu files only.
//
// A block has 8 warps. In the forward and the query-gradient kernel a warp holds 16 queries and 128 keys at once, and
// `split` warps share 16 queries: keys [base + 128 part, base + 128 part + 128) belong to `part`. The 128 keys are a
// block of dropout's columns, so that a lane's 32 elements of a row need four random counters, all of which it uses.
#ifndef INLIER_CORE_CUDA_ATTENTION_TILE_CUH_
#define INLIER_CORE_CUDA_ATTENTION_TILE_CUH_

#include <type_traits>

#include "core/cuda/attention.h"
#include "core/cuda/device.cuh"
#include "core/cuda/mma.cuh"

namespace inlier::cuda {

inline constexpr int kAttentionWarps = 8;
inline constexpr int kAttentionThreads = kAttentionWarps * kWarp;
inline constexpr int kPartKeys = 128;
inline constexpr int kTiles = kPartKeys / 8;  // Of 8 keys, the width of a tensor core's result.
inline constexpr float kHiddenScore = -INFINITY;

// AttentionShape as a kernel takes it.
struct AttentionCall {
  int heads, group;  // `group` heads of queries for a head of keys.
  int tokens, visible_keys;
  int split;
  float scale, zeta;
  bool causal;
  const std::uint8_t* key_hidden;
  const float* row_gamma;
  std::int64_t gamma_sequence;
  const float* null_score;
  DropoutKey dropout;
  std::uint64_t first_row;
};

AttentionCall CallOf(const AttentionShape& shape);

// Blocks of the forward and the query-gradient kernel.
inline dim3 QueryBlocks(const AttentionShape& shape, const AttentionCall& call) {
  const std::int64_t queries = kAttentionWarps / call.split * 16;
  return {static_cast<unsigned>((shape.tokens + queries - 1) / queries), static_cast<unsigned>(shape.heads),
          static_cast<unsigned>(shape.batch)};
}

// start(std::integral_constant<int, head_size>). REQUIRES: CanAttend.
template <typename Start>
cudaError_t ForHeadSize(std::int64_t head_size, Start start) {
  switch (head_size) {
    case 32:
      return start(std::integral_constant<int, 32>());
    case 64:
      return start(std::integral_constant<int, 64>());
    default:
      return start(std::integral_constant<int, 128>());
  }
}

// Elements of a row in shared memory: rows, and the words of pairs of rows, fall into different banks.
template <int head_size>
inline constexpr int kSharedRow = head_size + 8;
// For `keys` rows, or the words of as many rows in pairs.
template <int head_size>
constexpr std::size_t SharedBytes(int keys) {
  return keys * kSharedRow<head_size> * sizeof(Bf16);
}

template <typename E>
__device__ inline E* Row(const Heads<E>& x, int sequence, int head, int row) {
  return x.data + sequence * x.sequence + head * x.head + row * x.row;
}

// exp(score - largest), the difference taken before the scale: it is exact where it matters.
__device__ inline float Weight(float score, float largest, float scale) {
  return __expf((score - largest) * scale);
}

// A probability of the softmax, and y. NaN stays NaN.
__device__ inline float Probability(float score, float largest, float inverse, float scale) {
  const float p = Weight(score, largest, scale) * inverse;
  return p > 1 ? 1.0f : p;
}
__device__ inline float Clip(float x) { return x < 0 ? 0.0f : x > 1 ? 1.0f : x; }

// One lane's place in its block.
struct Place {
  int part, group;   // Which 128 keys of the split, which 16 queries of the block.
  int g, q;          // mma.cuh
  int row[2];        // Queries of the lane.
  int first, limit;  // Queries of the block from `first`; keys from `limit` on are hidden for all of them.

  __device__ explicit Place(const AttentionCall& call) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
    const int queries = kAttentionWarps / call.split * 16;
    part = warp % call.split;
    group = warp / call.split;
    g = lane / 4;
    q = lane % 4;
    first = static_cast<int>(blockIdx.x) * queries;
    row[0] = first + group * 16 + g;
    row[1] = row[0] + 8;
    limit = call.visible_keys;
    if (call.causal) limit = min(limit, first + queries);
  }
};

// The row of a head's query 0 among all heads' queries.
__device__ inline std::int64_t FirstRow(const AttentionCall& call, int sequence, int head) {
  return (static_cast<std::int64_t>(sequence) * call.heads + head) * call.tokens;
}

__device__ inline float GammaOf(const AttentionCall& call, int sequence, int query) {
  return call.row_gamma == nullptr ? 0.0f : call.row_gamma[sequence * call.gamma_sequence + query];
}

// The dropout's row of a head's query 0.
__device__ inline std::uint64_t DropoutRow(const AttentionCall& call, int sequence, int head) {
  return call.first_row + static_cast<std::uint64_t>(FirstRow(call, sequence, head));
}

// Bits of a lane's elements of one row: bit 2 t + i is of key first_key + 8 t + 2 q + i.

// The lane's bits of 32 keys: bits 8 t + 2 q + i become 2 t + i.
__device__ inline std::uint32_t LaneBits(std::uint32_t keys, int q) {
  std::uint32_t x = keys >> (2 * q) & 0x03030303u;
  x = (x | x >> 6) & 0x000f000fu;
  return (x | x >> 12) & 0xffu;
}

// The lowest `count` of 32 bits.
__device__ inline std::uint32_t LowBits(int count) {
  return count <= 0 ? 0u : count >= 32 ? 0xffffffffu : (1u << count) - 1;
}

// Visible keys of both rows. All lanes of the warp call.
__device__ inline void VisibleBits(const AttentionCall& call, const Place& place, int sequence, int first_key,
                                   std::uint32_t (&visible)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int rows[2] = {place.row[0] < call.tokens ? place.row[0] : -1,
                       place.row[1] < call.tokens ? place.row[1] : -1};
  visible[0] = visible[1] = 0;
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    const int first = first_key + 32 * word, key = first + lane;
    bool seen = key < call.visible_keys;
    if (seen && call.key_hidden != nullptr) {
      seen = call.key_hidden[static_cast<std::int64_t>(sequence) * call.tokens + key] == 0;
    }
    const std::uint32_t keys = __ballot_sync(kAllLanes, seen);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::uint32_t upto = rows[r] < 0 ? 0u : call.causal ? LowBits(rows[r] + 1 - first) : 0xffffffffu;
      visible[r] |= LaneBits(keys & upto, place.q) << (8 * word);
    }
  }
}

// Elements of one row that dropout keeps.
__device__ inline std::uint32_t RowKeptBits(const DropoutKey& dropout, std::uint64_t row, int first_key,
                                            int q) {
  if (dropout.threshold == 0) return 0xffffffffu;
  std::uint32_t word = 0;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {  // Columns 2 q, 2 q + 1, 8 + 2 q, 9 + 2 q of each 16.
    std::uint32_t kept = KeptBits(dropout, row, first_key / 8 + i / 2 * 8 + 2 * q + i % 2);
    kept = (kept | kept << 12) & 0x000f000fu;  // Bit j becomes bit 4 j.
    kept = (kept | kept << 6) & 0x03030303u;
    kept = (kept | kept << 3) & 0x11111111u;
    word |= kept << i;
  }
  return word;
}

// 16 bytes of a row, zeros from row `limit` on.
__device__ inline uint4 LoadVector(const Bf16* x, std::int64_t stride, int row, int limit, int vector) {
  if (row >= limit) return {0, 0, 0, 0};
  return *reinterpret_cast<const uint4*>(x + row * stride + vector * 8);
}

// `count` rows of x into shared memory, zeros from row `limit` on. Loads wait together, four at a time.
template <int head_size>
__device__ inline void StageRows(const Bf16* x, std::int64_t stride, int count, int limit, Bf16* shared) {
  constexpr int kVectors = head_size / 8, kAtOnce = 4;
  const int vectors = count * kVectors;
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < vectors; first += kAtOnce * kAttentionThreads) {
    uint4 loaded[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int i = first + n * kAttentionThreads;
      loaded[n] = LoadVector(x, stride, i / kVectors, i < vectors ? limit : 0, i % kVectors);
    }
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int i = first + n * kAttentionThreads;
      if (i >= vectors) break;
      *reinterpret_cast<uint4*>(shared + i / kVectors * kSharedRow<head_size> + i % kVectors * 8) = loaded[n];
    }
  }
}

// Two rows' vectors in one: word c holds column c of row a (low half) and of row b.
__device__ inline void StorePair(const uint4& a, const uint4& b, std::uint32_t* shared) {
  uint4* const to = reinterpret_cast<uint4*>(shared);
  to[0] = {(a.x & 0xffff) | b.x << 16, a.x >> 16 | (b.x & 0xffff0000u), (a.y & 0xffff) | b.y << 16,
           a.y >> 16 | (b.y & 0xffff0000u)};
  to[1] = {(a.z & 0xffff) | b.z << 16, a.z >> 16 | (b.z & 0xffff0000u), (a.w & 0xffff) | b.w << 16,
           a.w >> 16 | (b.w & 0xffff0000u)};
}

// As StageRows, two rows in one: word (r, c) holds column c of rows 2 r (low half) and 2 r + 1.
template <int head_size>
__device__ inline void StagePairs(const Bf16* x, std::int64_t stride, int count, int limit,
                                  std::uint32_t* shared) {
  constexpr int kVectors = head_size / 8, kAtOnce = 2;
  const int vectors = count / 2 * kVectors;
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < vectors; first += kAtOnce * kAttentionThreads) {
    uint4 a[kAtOnce], b[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int i = first + n * kAttentionThreads, row = 2 * (i / kVectors), below = i < vectors ? limit : 0;
      a[n] = LoadVector(x, stride, row, below, i % kVectors);
      b[n] = LoadVector(x, stride, row + 1, below, i % kVectors);
    }
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      const int i = first + n * kAttentionThreads;
      if (i >= vectors) break;
      StorePair(a[n], b[n], shared + i / kVectors * kSharedRow<head_size> + i % kVectors * 8);
    }
  }
}

__device__ inline std::uint32_t Word(const Bf16* x) { return *reinterpret_cast<const std::uint32_t*>(x); }

// The warp's 16 rows of x in global memory, columns 16 step..., as the left side of a product. From row `limit` on: the
// last row, whose results no one reads.
__device__ inline void LoadLeft(const Bf16* x, std::int64_t stride, const Place& place, int limit, int step,
                                std::uint32_t (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = min(place.row[i % 2], limit - 1);
    a[i] = Word(x + row * stride + step * 16 + i / 2 * 8 + 2 * place.q);
  }
}

// c = left right^T of the warp's 16 rows of `left` and 32 of its part's 128 rows of `right` from `base` on, of which
// `shared` holds all parts' rows.
template <int head_size>
__device__ inline void MultiplyQuarter(const AttentionCall& call, const Place& place, const Bf16* left,
                                       std::int64_t left_stride, const Bf16* shared, int base, int quarter,
                                       float (&c)[kTiles / 4][4]) {
  const int first = place.part * kPartKeys + quarter * 32;
  const Bf16* const rows = shared + (first + place.g) * kSharedRow<head_size> + 2 * place.q;
#pragma unroll
  for (int i = 0; i < kTiles; ++i) c[i / 4][i % 4] = 0;
  if (base + first >= place.limit) return;
#pragma unroll
  for (int step = 0; step < head_size / 16; ++step) {
    std::uint32_t a[4];
    LoadLeft(left, left_stride, place, call.tokens, step, a);
#pragma unroll
    for (int tile = 0; tile < kTiles / 4; ++tile) {
      const Bf16* const b = rows + tile * 8 * kSharedRow<head_size> + step * 16;
      MultiplyAdd(c[tile], a, Word(b), Word(b + 8));
    }
  }
}

// c = left right^T of the warp's 16 rows and its part's 128 rows from `base` on.
template <int head_size>
__device__ inline void MultiplyRows(const AttentionCall& call, const Place& place, const Bf16* left,
                                    std::int64_t left_stride, const Bf16* right, std::int64_t right_stride,
                                    int base, Bf16* shared, float (&c)[kTiles][4]) {
  __syncthreads();
  StageRows<head_size>(right + base * right_stride, right_stride, kPartKeys * call.split, place.limit - base,
                       shared);
  __syncthreads();
#pragma unroll
  for (int quarter = 0; quarter < 4; ++quarter) {
    float of_quarter[kTiles / 4][4];
    MultiplyQuarter<head_size>(call, place, left, left_stride, shared, base, quarter, of_quarter);
#pragma unroll
    for (int i = 0; i < kTiles; ++i) c[quarter * 4 + i / 4][i % 4] = of_quarter[i / 4][i % 4];
  }
}

// sum += left right, of the warp's 16 x 128 `left` and its part's 128 rows of `right` from `base` on.
template <int head_size>
__device__ inline void MultiplyPairs(const AttentionCall& call, const Place& place,
                                     const std::uint32_t (&left)[kTiles / 2][4], const Bf16* right,
                                     std::int64_t right_stride, int base, Bf16* shared,
                                     float (&sum)[head_size / 8][4]) {
  std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(shared);
  __syncthreads();
  StagePairs<head_size>(right + base * right_stride, right_stride, kPartKeys * call.split, place.limit - base,
                        words);
  __syncthreads();
  const std::uint32_t* const pairs =
      words + (place.part * kPartKeys / 2 + place.q) * kSharedRow<head_size> + place.g;
#pragma unroll
  for (int step = 0; step < kTiles / 2; ++step) {
    if (base + place.part * kPartKeys + step * 16 >= place.limit) continue;
    const std::uint32_t* const b = pairs + step * 8 * kSharedRow<head_size>;
#pragma unroll
    for (int column = 0; column < head_size / 8; ++column) {
      MultiplyAdd(sum[column], left[step], b[column * 8], b[4 * kSharedRow<head_size> + column * 8]);
    }
  }
}

// The sums of all parts, in their order, stored as rows of `to`.
template <int head_size>
__device__ inline void StoreParts(const AttentionCall& call, const Place& place,
                                  float (&sum)[head_size / 8][4], Bf16* shared, Bf16* to,
                                  std::int64_t stride) {
  // Lanes of a group hold the same elements in every part: each keeps its own in shared memory.
  float* const mine =
      reinterpret_cast<float*>(shared) + place.group * 16 * head_size + static_cast<int>(threadIdx.x) % kWarp;
  for (int part = 1; part < call.split; ++part) {
    __syncthreads();
    if (place.part == part) {
#pragma unroll
      for (int i = 0; i < head_size / 2; ++i) mine[i * kWarp] = sum[i / 4][i % 4];
    }
    __syncthreads();
    if (place.part == 0) {
#pragma unroll
      for (int i = 0; i < head_size / 2; ++i) sum[i / 4][i % 4] += mine[i * kWarp];
    }
  }
  if (place.part != 0) return;
#pragma unroll
  for (int column = 0; column < head_size / 8; ++column) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (place.row[r] >= call.tokens) continue;
      *reinterpret_cast<std::uint32_t*>(to + place.row[r] * stride + column * 8 + 2 * place.q) =
          Pack(sum[column][2 * r], sum[column][2 * r + 1]);
    }
  }
}

// Over the four lanes that hold a row.
__device__ inline float QuadSum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}
__device__ inline float QuadMax(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_ATTENTION_TILE_CUH_
