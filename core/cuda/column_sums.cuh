// The second step of sums over rows: partial sums (parts, width) to one row. Inside .cu files only.
#ifndef INLIER_CORE_CUDA_COLUMN_SUMS_CUH_
#define INLIER_CORE_CUDA_COLUMN_SUMS_CUH_

#include <algorithm>

#include "core/cuda/device.cuh"
#include "core/cuda/rows.h"

namespace inlier::cuda {

inline constexpr int kRowThreads = 256;

inline unsigned Parts(std::int64_t rows) { return static_cast<unsigned>(std::min(rows, kSumRows)); }

// sums[c] += the parts of column c, in their order.
cudaError_t AddParts(unsigned parts, std::int64_t width, const float* partial, float* sums,
                     cudaStream_t stream);

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_COLUMN_SUMS_CUH_
