#include "core/cuda/column_sums.cuh"

namespace inlier::cuda {
namespace {

constexpr int kLanes = 8;  // Threads of a column; each adds every eighth row.

// Column sums of the rows of x that part blockIdx.y has, to or onto row blockIdx.y of `sums`.
template <typename T, bool onto>
__global__ void __launch_bounds__(kRowThreads)
    ColumnSumsKernel(std::int64_t rows, std::int64_t width, const T* x, float* sums) {
  __shared__ float of_lane[kLanes][kWarp];
  const int column_of_block = static_cast<int>(threadIdx.x) % kWarp,
            lane = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + column_of_block;
  float sum = 0;
  if (column < width) {
    for (std::int64_t row = blockIdx.y + static_cast<std::int64_t>(gridDim.y) * lane; row < rows;
         row += static_cast<std::int64_t>(gridDim.y) * kLanes) {
      sum += ToFloat(x[row * width + column]);
    }
  }
  of_lane[lane][column_of_block] = sum;
  __syncthreads();
  if (lane != 0 || column >= width) return;
  float* const to = sums + blockIdx.y * width + column;
  float total = onto ? *to : 0;
  for (int i = 0; i < kLanes; ++i) total += of_lane[i][column_of_block];
  *to = total;
}

unsigned ColumnBlocks(std::int64_t width) { return static_cast<unsigned>((width + kWarp - 1) / kWarp); }

}  // namespace

cudaError_t AddParts(unsigned parts, std::int64_t width, const float* partial, float* sums,
                     cudaStream_t stream) {
  return Launch(ColumnSumsKernel<float, true>, dim3(ColumnBlocks(width)), kRowThreads, 0, stream,
                static_cast<std::int64_t>(parts), width, partial, sums);
}

template <typename T>
cudaError_t AddColumnSums(std::int64_t rows, std::int64_t width, const T* x, float* sums, float* workspace,
                          cudaStream_t stream) {
  if (rows <= 0 || width <= 0) return cudaErrorInvalidValue;
  const unsigned parts = Parts((rows + kLanes - 1) / kLanes);
  const cudaError_t error = Launch(ColumnSumsKernel<T, false>, dim3(ColumnBlocks(width), parts), kRowThreads,
                                   0, stream, rows, width, x, workspace);
  return error != cudaSuccess ? error : AddParts(parts, width, workspace, sums, stream);
}
template cudaError_t AddColumnSums<float>(std::int64_t, std::int64_t, const float*, float*, float*,
                                          cudaStream_t);
template cudaError_t AddColumnSums<Bf16>(std::int64_t, std::int64_t, const Bf16*, float*, float*,
                                         cudaStream_t);

}  // namespace inlier::cuda
