// The gradient of the queries, and what the other gradients need of a whole row: D = sum_j p dp.
#include "core/cuda/attention_backward.cuh"

namespace inlier::cuda {
namespace {

// Numbers of a lane's two rows.
struct Rows {
  float largest[2], inverse[2], gamma[2];
  std::uint32_t visible[2], kept[2];  // Of 128 keys.
};

// Gradient of one element's probability p from the left side's. Where a key is hidden p is 0 and dp does not matter.
__device__ inline float ProbabilityGradient(const AttentionCall& call, float gamma, bool kept, float p,
                                            float gradient) {
  const float slope = call.zeta - gamma;
  return kept && IsInside(slope * p + gamma) ? gradient * (slope * call.dropout.scale) : 0.0f;
}

// Of `tiles` tiles from first_tile on: p in place of the scores, 0 for hidden keys, dp in place of the left side's
// gradients, and D.
template <int tiles>
__device__ inline void Probabilities(const AttentionCall& call, const Rows& rows, int first_tile,
                                     float (&p)[tiles][4], float (&dp)[tiles][4], float (&row_sum)[2]) {
#pragma unroll
  for (int i = 0; i < tiles * 4; ++i) {
    const int r = i % 4 / 2, bit = 2 * (first_tile + i / 4) + i % 2;
    float& x = p[i / 4][i % 4];
    float& d = dp[i / 4][i % 4];
    x = (rows.visible[r] & 1u << bit) != 0 ? Probability(x, rows.largest[r], rows.inverse[r], call.scale)
                                           : 0.0f;
    d = ProbabilityGradient(call, rows.gamma[r], (rows.kept[r] & 1u << bit) != 0, x, d);
    row_sum[r] += x * d;
  }
}

__device__ inline void SetBits(const AttentionCall& call, const Place& place, int sequence, int head,
                               int first_key, Rows& rows) {
  const std::uint64_t dropout_row = DropoutRow(call, sequence, head);
  VisibleBits(call, place, sequence, first_key, rows.visible);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    rows.kept[r] = RowKeptBits(call.dropout, dropout_row + place.row[r], first_key, place.q);
  }
}

// Score gradients of `tiles` tiles from first_tile on, as the left side of the product with the keys.
template <int tiles>
__device__ inline void ScoreGradients(float scale, int first_tile, const float (&p)[tiles][4],
                                      const float (&dp)[tiles][4], const float (&row_sum)[2],
                                      std::uint32_t (&left)[kTiles / 2][4]) {
#pragma unroll
  for (int word = 0; word < 2 * tiles; ++word) {
    const int t = word / 2, r = word % 2, tile = first_tile + t;
    left[tile / 2][tile % 2 * 2 + r] = Pack(scale * p[t][2 * r] * (dp[t][2 * r] - row_sum[r]),
                                            scale * p[t][2 * r + 1] * (dp[t][2 * r + 1] - row_sum[r]));
  }
}

// The sums of all parts, in their order.
__device__ inline void MergeSums(const AttentionCall& call, const Place& place, float (&row_sum)[2]) {
  __shared__ float merged[kAttentionWarps][16];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    row_sum[r] = QuadSum(row_sum[r]);
    if (place.q == 0) merged[warp][place.g + 8 * r] = row_sum[r];
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    row_sum[r] = 0;
    for (int part = 0; part < call.split; ++part) {
      row_sum[r] += merged[place.group * call.split + part][place.g + 8 * r];
    }
  }
}

// One head's operands.
struct HeadOperands {
  const Bf16 *q, *k, *v, *d_o;
};

__device__ inline HeadOperands OperandsOf(const AttentionCall& call, const AttentionOperands& x, int sequence,
                                          int head) {
  return {Row(x.q, sequence, head, 0), Row(x.k, sequence, head / call.group, 0),
          Row(x.v, sequence, head / call.group, 0), Row(x.gradients.o, sequence, head, 0)};
}

// The statistics and gammas of a lane's rows.
__device__ inline void SetRows(const AttentionCall& call, const Place& place, int sequence,
                               const float* statistics, Rows& rows) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = min(place.row[r], call.tokens - 1);
    rows.largest[r] = statistics[2 * row];
    rows.inverse[r] = statistics[2 * row + 1];
    rows.gamma[r] = GammaOf(call, sequence, row);
  }
}

__device__ inline void StoreSums(const AttentionCall& call, const Place& place, const float (&row_sum)[2],
                                 float* to) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (place.part == 0 && place.q == 0 && place.row[r] < call.tokens) to[place.row[r]] = row_sum[r];
  }
}

// At most 512 keys: p and dp of all of them stay in registers between D and the product.
template <int head_size>
__global__ void __launch_bounds__(kAttentionThreads, 1)
    ResidentQueryGradientKernel(AttentionCall call, AttentionOperands x) {
  Bf16* const shared = reinterpret_cast<Bf16*>(DynamicShared());
  const int head = static_cast<int>(blockIdx.y), sequence = static_cast<int>(blockIdx.z);
  const Place place(call);
  const std::int64_t first_row = FirstRow(call, sequence, head);
  const HeadOperands of = OperandsOf(call, x, sequence, head);
  float p[kTiles][4], dp[kTiles][4], row_sum[2] = {0, 0};
  MultiplyRows<head_size>(call, place, of.q, x.q.row, of.k, x.k.row, 0, shared, p);
  MultiplyRows<head_size>(call, place, of.d_o, x.gradients.o.row, of.v, x.v.row, 0, shared, dp);
  Rows rows;
  SetRows(call, place, sequence, x.statistics + 2 * first_row, rows);
  SetBits(call, place, sequence, head, place.part * kPartKeys, rows);
  Probabilities<kTiles>(call, rows, 0, p, dp, row_sum);
  MergeSums(call, place, row_sum);
  StoreSums(call, place, row_sum, x.gradients.row_sums + first_row);
  std::uint32_t left[kTiles / 2][4];
  ScoreGradients<kTiles>(call.scale, 0, p, dp, row_sum, left);
  float sum[head_size / 8][4] = {};
  MultiplyPairs<head_size>(call, place, left, of.k, x.k.row, 0, shared, sum);
  StoreParts<head_size>(call, place, sum, shared, Row(x.gradients.q, sequence, head, 0), x.gradients.q.row);
}

// More keys, or larger heads: `kLongSplit` parts at once: a pass for D, a pass for the product. Both operands' rows are in shared memory.
constexpr int kLongSplit = 2;

template <int head_size, typename Use>
__device__ inline void ForQuarters(const AttentionCall& call, const Place& place, const AttentionOperands& x,
                                   const HeadOperands& of, int sequence, int head, int base, Rows& rows,
                                   float (&row_sum)[2], Bf16* keys, Use use) {
  constexpr int kRows = kPartKeys * kLongSplit;
  Bf16* const values = keys + kRows * kSharedRow<head_size>;
  __syncthreads();
  StageRows<head_size>(of.k + base * x.k.row, x.k.row, kRows, place.limit - base, keys);
  StageRows<head_size>(of.v + base * x.v.row, x.v.row, kRows, place.limit - base, values);
  __syncthreads();
  SetBits(call, place, sequence, head, base + place.part * kPartKeys, rows);
#pragma unroll
  for (int quarter = 0; quarter < 4; ++quarter) {
    float p[kTiles / 4][4], dp[kTiles / 4][4];
    __syncwarp();  // Keeps the next quarter's loads, and their registers, out of this one.
    MultiplyQuarter<head_size>(call, place, of.q, x.q.row, keys, base, quarter, p);
    MultiplyQuarter<head_size>(call, place, of.d_o, x.gradients.o.row, values, base, quarter, dp);
    Probabilities<kTiles / 4>(call, rows, quarter * 4, p, dp, row_sum);
    use(quarter * 4, p, dp);
  }
}

template <int head_size>
__global__ void __launch_bounds__(kAttentionThreads, 1)
    LongQueryGradientKernel(AttentionCall call, AttentionOperands x) {
  Bf16* const shared = reinterpret_cast<Bf16*>(DynamicShared());
  const int head = static_cast<int>(blockIdx.y), sequence = static_cast<int>(blockIdx.z);
  const Place place(call);
  const std::int64_t first_row = FirstRow(call, sequence, head);
  const HeadOperands of = OperandsOf(call, x, sequence, head);
  Rows rows;
  SetRows(call, place, sequence, x.statistics + 2 * first_row, rows);
  float row_sum[2] = {0, 0}, again[2] = {0, 0};
  for (int base = 0; base < place.limit; base += kPartKeys * kLongSplit) {
    ForQuarters<head_size>(call, place, x, of, sequence, head, base, rows, row_sum, shared,
                           [](int, const auto&, const auto&) {});
  }
  MergeSums(call, place, row_sum);
  StoreSums(call, place, row_sum, x.gradients.row_sums + first_row);
  float sum[head_size / 8][4] = {};
  for (int base = 0; base < place.limit; base += kPartKeys * kLongSplit) {
    std::uint32_t left[kTiles / 2][4];
    ForQuarters<head_size>(call, place, x, of, sequence, head, base, rows, again, shared,
                           [&](int tile, const auto& p, const auto& dp) {
                             ScoreGradients<kTiles / 4>(call.scale, tile, p, dp, row_sum, left);
                           });
    MultiplyPairs<head_size>(call, place, left, of.k, x.k.row, base, shared, sum);
  }
  StoreParts<head_size>(call, place, sum, shared, Row(x.gradients.q, sequence, head, 0), x.gradients.q.row);
}

// gradient[head] -= the sum over the rows of the head of p_null D. One block a head.
__global__ void __launch_bounds__(kAttentionThreads)
    NullGradientKernel(AttentionCall call, int batch, const float* statistics, const float* row_sums,
                       float* gradient) {
  const int head = static_cast<int>(blockIdx.x);
  const float null_score = call.null_score[head];
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < batch * call.tokens; i += kAttentionThreads) {
    const std::int64_t row = FirstRow(call, i / call.tokens, head) + i % call.tokens;
    sum += __expf(null_score - statistics[2 * row] * call.scale) * statistics[2 * row + 1] * row_sums[row];
  }
  sum = BlockSum(sum);
  if (threadIdx.x == 0) gradient[head] -= sum;
}

template <int head_size>
cudaError_t Start(const AttentionShape& shape, const AttentionOperands& x, cudaStream_t stream) {
  AttentionCall call = CallOf(shape);
  constexpr bool kFits = head_size < 128;  // p, dp and the sums, in a thread's registers.
  const bool resident = kFits && shape.visible_keys <= kPartKeys * call.split;
  if (!resident) call.split = kLongSplit;
  const std::size_t shared_bytes = SharedBytes<head_size>(kPartKeys * call.split * (resident ? 1 : 2));
  auto kernel = LongQueryGradientKernel<head_size>;
  if constexpr (kFits) {
    if (resident) kernel = ResidentQueryGradientKernel<head_size>;
  }
  return Launch(kernel, QueryBlocks(shape, call), kAttentionThreads, shared_bytes, stream, call, x);
}

cudaError_t StartQueryGradient(const AttentionShape& shape, const AttentionOperands& x, cudaStream_t stream) {
  return ForHeadSize(shape.head_size,
                     [&](auto size) { return Start<decltype(size)::value>(shape, x, stream); });
}

}  // namespace

cudaError_t AttentionBackward(const AttentionShape& shape, const Heads<const Bf16>& q,
                              const Heads<const Bf16>& k, const Heads<const Bf16>& v, const float* statistics,
                              const AttentionGradients& gradients, cudaStream_t stream) {
  if (!CanAttend(shape)) return cudaErrorInvalidValue;
  const AttentionOperands operands = {q, k, v, statistics, gradients};
  cudaError_t error = StartQueryGradient(shape, operands, stream);
  if (error == cudaSuccess) error = StartKeyGradient(shape, operands, stream);
  if (error != cudaSuccess || shape.null_score == nullptr || gradients.null_score == nullptr) return error;
  return Launch(NullGradientKernel, dim3(static_cast<unsigned>(shape.heads)), kAttentionThreads, 0, stream,
                CallOf(shape), static_cast<int>(shape.batch), statistics,
                static_cast<const float*>(gradients.row_sums), gradients.null_score);
}

}  // namespace inlier::cuda
