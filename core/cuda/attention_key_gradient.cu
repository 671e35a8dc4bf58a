// The gradients of keys and values. A block has 128 keys, 16 a warp, and passes over the queries in chunks of 32; rows of
// the transposed scores are keys. The heads of queries that share the keys are added one after another.
#include "core/cuda/attention_backward.cuh"

namespace inlier::cuda {
namespace {

constexpr int kChunk = 32;  // Queries.
constexpr int kChunkTiles = kChunk / 8;

// A block's shared memory: operands, then numbers of the chunk's queries.
template <int head_size>
struct KeyMemory {
  static constexpr int kRow = kSharedRow<head_size>;
  static constexpr std::size_t kBytes =
      (2 * kPartKeys + 4 * kChunk) * kRow * sizeof(Bf16) + kChunk * (4 * sizeof(float) + 16);

  Bf16 *keys, *values, *queries, *above;       // Rows.
  std::uint32_t *query_pairs, *above_pairs;    // Words of two rows.
  float *largest, *inverse, *gamma, *row_sum;  // (kChunk)
  unsigned char* kept;  // (kChunk, 16): bit w of (i, l) is set where query i keeps key 16 w + l of the block.

  __device__ explicit KeyMemory(unsigned char* memory) {
    keys = reinterpret_cast<Bf16*>(memory);
    values = keys + kPartKeys * kRow;
    queries = values + kPartKeys * kRow;
    above = queries + kChunk * kRow;
    query_pairs = reinterpret_cast<std::uint32_t*>(above + kChunk * kRow);
    above_pairs = query_pairs + kChunk / 2 * kRow;
    largest = reinterpret_cast<float*>(above_pairs + kChunk / 2 * kRow);
    inverse = largest + kChunk;
    gamma = inverse + kChunk;
    row_sum = gamma + kChunk;
    kept = reinterpret_cast<unsigned char*>(row_sum + kChunk);
  }
};

// The chunk's rows of `queries` and `above`, zeros from row `limit` on, as rows and in pairs.
template <int head_size>
__device__ inline void StageChunk(const Bf16* queries, std::int64_t query_stride, const Bf16* above,
                                  std::int64_t above_stride, int limit, const KeyMemory<head_size>& memory) {
  constexpr int kRow = kSharedRow<head_size>, kVectors = head_size / 8, kOfOne = kChunk / 2 * kVectors;
#pragma unroll
  for (int first = 0; first < 2 * kOfOne; first += kAttentionThreads) {
    const int item = first + static_cast<int>(threadIdx.x);
    if (item >= 2 * kOfOne) break;
    const bool of_above = item >= kOfOne;
    const int pair = item % kOfOne / kVectors, vector = item % kVectors;
    const Bf16* const from = of_above ? above : queries;
    const std::int64_t stride = of_above ? above_stride : query_stride;
    const uint4 a = LoadVector(from, stride, 2 * pair, limit, vector),
                b = LoadVector(from, stride, 2 * pair + 1, limit, vector);
    Bf16* const rows = (of_above ? memory.above : memory.queries) + 2 * pair * kRow + vector * 8;
    *reinterpret_cast<uint4*>(rows) = a;
    *reinterpret_cast<uint4*>(rows + kRow) = b;
    StorePair(a, b, (of_above ? memory.above_pairs : memory.query_pairs) + pair * kRow + vector * 8);
  }
}

// Numbers of queries first … of a head.
template <int head_size>
__device__ inline void StageNumbers(const AttentionCall& call, int sequence, int head, int first,
                                    int first_key, const float* statistics, const float* row_sums,
                                    const KeyMemory<head_size>& memory) {
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first_row = FirstRow(call, sequence, head);
  if (thread < kChunk) {
    const int query = min(first + thread, call.tokens - 1);
    memory.largest[thread] = statistics[2 * (first_row + query)];
    memory.inverse[thread] = statistics[2 * (first_row + query) + 1];
    memory.gamma[thread] = GammaOf(call, sequence, query);
    memory.row_sum[thread] = row_sums[first_row + query];
  }
  for (int i = thread; i < kChunk * 16; i += kAttentionThreads) {
    const std::uint64_t row = DropoutRow(call, sequence, head) + first + i / 16;
    memory.kept[i] = static_cast<unsigned char>(
        call.dropout.threshold == 0 ? 0xff : KeptBits(call.dropout, row, first_key / 8 + i % 16));
  }
}

// c = rows rows^T of 16 rows of `left`, from the warp's first on, and the chunk's rows of `right`.
template <int head_size>
__device__ inline void MultiplyChunk(const Bf16* left, const Bf16* right, int g, int q,
                                     float (&c)[kChunkTiles][4]) {
  constexpr int kRow = kSharedRow<head_size>;
#pragma unroll
  for (int i = 0; i < kChunkTiles * 4; ++i) c[i / 4][i % 4] = 0;
#pragma unroll
  for (int step = 0; step < head_size / 16; ++step) {
    const Bf16* const from = left + g * kRow + step * 16 + 2 * q;
    const std::uint32_t a[4] = {Word(from), Word(from + 8 * kRow), Word(from + 8), Word(from + 8 * kRow + 8)};
#pragma unroll
    for (int tile = 0; tile < kChunkTiles; ++tile) {
      const Bf16* const b = right + (tile * 8 + g) * kRow + step * 16 + 2 * q;
      MultiplyAdd(c[tile], a, Word(b), Word(b + 8));
    }
  }
}

// sum += left (16, kChunk) right.
template <int head_size>
__device__ inline void AddProduct(const std::uint32_t (&left)[kChunkTiles / 2][4], const std::uint32_t* right,
                                  int g, int q, float (&sum)[head_size / 8][4]) {
  constexpr int kRow = kSharedRow<head_size>;
#pragma unroll
  for (int step = 0; step < kChunkTiles / 2; ++step) {
    const std::uint32_t* const b = right + (step * 8 + q) * kRow + g;
#pragma unroll
    for (int column = 0; column < head_size / 8; ++column) {
      MultiplyAdd(sum[column], left[step], b[column * 8], b[4 * kRow + column * 8]);
    }
  }
}

// From the transposed scores s and gradients d of a chunk: the left sides of the products with d_o and with q.
template <int head_size>
__device__ inline void ChunkGradients(const AttentionCall& call, const KeyMemory<head_size>& memory, int warp,
                                      int g, int q, int first, const int (&key)[2], const bool (&seen)[2],
                                      const float (&s)[kChunkTiles][4], const float (&d)[kChunkTiles][4],
                                      std::uint32_t (&y)[kChunkTiles / 2][4],
                                      std::uint32_t (&ds)[kChunkTiles / 2][4]) {
#pragma unroll
  for (int tile = 0; tile < kChunkTiles; ++tile) {
    float left[4], score_gradient[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = i / 2, column = tile * 8 + 2 * q + i % 2, query = first + column;
      const bool visible = seen[r] && query < call.tokens && (!call.causal || key[r] <= query);
      const bool kept = (memory.kept[column * 16 + g + 8 * r] >> warp & 1) != 0;
      const float gamma = memory.gamma[column], slope = call.zeta - gamma;
      const float p =
          visible ? Probability(s[tile][i], memory.largest[column], memory.inverse[column], call.scale)
                  : 0.0f;
      const float x = slope * p + gamma;
      const float dp = visible && kept && IsInside(x) ? d[tile][i] * (slope * call.dropout.scale) : 0.0f;
      left[i] = visible && kept ? Clip(x) * call.dropout.scale : 0.0f;
      score_gradient[i] = call.scale * p * (dp - memory.row_sum[column]);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      y[tile / 2][tile % 2 * 2 + r] = Pack(left[2 * r], left[2 * r + 1]);
      ds[tile / 2][tile % 2 * 2 + r] = Pack(score_gradient[2 * r], score_gradient[2 * r + 1]);
    }
  }
}

template <int head_size>
__device__ inline void StoreKeys(const float (&sum)[head_size / 8][4], const int (&key)[2], int q, int tokens,
                                 Bf16* to, std::int64_t stride) {
#pragma unroll
  for (int i = 0; i < head_size / 4; ++i) {
    const int column = i / 2, r = i % 2;
    if (key[r] >= tokens) continue;
    *reinterpret_cast<std::uint32_t*>(to + key[r] * stride + column * 8 + 2 * q) =
        Pack(sum[column][2 * r], sum[column][2 * r + 1]);
  }
}

template <int head_size>
__global__ void __launch_bounds__(kAttentionThreads, 1)
    KeyGradientKernel(AttentionCall call, AttentionOperands x) {
  const KeyMemory<head_size> memory(DynamicShared());
  const int kv_head = static_cast<int>(blockIdx.y), sequence = static_cast<int>(blockIdx.z);
  const int first_key = static_cast<int>(blockIdx.x) * kPartKeys;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int g = lane / 4, q = lane % 4, warp_row = warp * 16 * kSharedRow<head_size>;
  const int key[2] = {first_key + warp * 16 + g, first_key + warp * 16 + g + 8};
  bool seen[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    seen[r] = key[r] < call.visible_keys &&
              (call.key_hidden == nullptr ||
               call.key_hidden[static_cast<std::int64_t>(sequence) * call.tokens + key[r]] == 0);
  }
  const int key_limit = call.visible_keys - first_key;
  StageRows<head_size>(Row(x.k, sequence, kv_head, first_key), x.k.row, kPartKeys, key_limit, memory.keys);
  StageRows<head_size>(Row(x.v, sequence, kv_head, first_key), x.v.row, kPartKeys, key_limit, memory.values);
  float dk[head_size / 8][4] = {}, dv[head_size / 8][4] = {};
  const int first_query = call.causal ? first_key : 0;
  const int end = key_limit > 0 ? call.tokens : first_query;
  for (int head = kv_head * call.group; head < (kv_head + 1) * call.group; ++head) {
    for (int first = first_query; first < end; first += kChunk) {
      const Bf16* const queries = Row(x.q, sequence, head, first);
      const Bf16* const above = Row(x.gradients.o, sequence, head, first);
      const int limit = call.tokens - first;
      __syncthreads();  // The last chunk is read.
      StageChunk(queries, x.q.row, above, x.gradients.o.row, limit, memory);
      StageNumbers(call, sequence, head, first, first_key, x.statistics, x.gradients.row_sums, memory);
      __syncthreads();
      const int first_of_warp = first_key + warp * 16;
      if (first_of_warp >= call.visible_keys || (call.causal && first_of_warp >= first + kChunk)) continue;
      float s[kChunkTiles][4], d[kChunkTiles][4];
      MultiplyChunk<head_size>(memory.keys + warp_row, memory.queries, g, q, s);
      MultiplyChunk<head_size>(memory.values + warp_row, memory.above, g, q, d);
      std::uint32_t y[kChunkTiles / 2][4], ds[kChunkTiles / 2][4];
      ChunkGradients<head_size>(call, memory, warp, g, q, first, key, seen, s, d, y, ds);
      AddProduct<head_size>(y, memory.above_pairs, g, q, dv);
      AddProduct<head_size>(ds, memory.query_pairs, g, q, dk);
    }
  }
  StoreKeys<head_size>(dk, key, q, call.tokens, Row(x.gradients.k, sequence, kv_head, 0), x.gradients.k.row);
  StoreKeys<head_size>(dv, key, q, call.tokens, Row(x.gradients.v, sequence, kv_head, 0), x.gradients.v.row);
}

template <int head_size>
cudaError_t Start(const AttentionShape& shape, const AttentionOperands& x, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((shape.tokens + kPartKeys - 1) / kPartKeys),
                  static_cast<unsigned>(shape.kv_heads), static_cast<unsigned>(shape.batch));
  return Launch(KeyGradientKernel<head_size>, grid, kAttentionThreads, KeyMemory<head_size>::kBytes, stream,
                CallOf(shape), x);
}

}  // namespace

cudaError_t StartKeyGradient(const AttentionShape& shape, const AttentionOperands& x, cudaStream_t stream) {
  return ForHeadSize(shape.head_size,
                     [&](auto size) { return Start<decltype(size)::value>(shape, x, stream); });
}

}  // namespace inlier::cuda
