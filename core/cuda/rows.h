// Row-wise parts of a transformer's layer on a GPU: the mathematics of core/kernels/rows.h, with its dropout decisions.
//
// Matrices are row-major and contiguous, (rows, width), in device memory. T: float or kernels::Bf16. Sums of columns are
// the same bits in every run: each of at most kSumRows (kNormSumRows) parts of the rows is added in one order, then the
// parts are.
// `workspace` is scratch memory of the number of floats that the function next to a launcher gives.
//
// Launchers return before the kernels have run; cudaErrorInvalidValue, with nothing started, for a width or a number of
// rows that is not positive, or a width above kWidthMax; else the launch's error.
#ifndef INLIER_CORE_CUDA_ROWS_H_
#define INLIER_CORE_CUDA_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/kernels/rows.h"

namespace inlier::cuda {

inline constexpr std::int64_t kSumRows = 256;
inline constexpr std::int64_t kNormSumRows = 1024;  // Of a norm's sums.
inline constexpr std::int64_t kWidthMax = 8192;     // Of a norm's row, which stays in shared memory.

// sums[c] += the sum of column c of x.
template <typename T>
cudaError_t AddColumnSums(std::int64_t rows, std::int64_t width, const T* x, float* sums, float* workspace,
                          cudaStream_t stream);
inline std::int64_t ColumnSumsWorkspace(std::int64_t width) { return kSumRows * width; }

// sum = residual + dropout(update + bias); y = norm(sum).
template <typename T>
struct ResidualNorm {
  std::int64_t rows = 0, width = 0;
  // Without a gain: no norm, y, operand, mean and inverse are not written.
  kernels::NormWeights<float> norm = {};
  const T* update = nullptr;      // Null: sum = residual, and `sum` is not written.
  const float* bias = nullptr;    // (width); may be null.
  kernels::Dropout dropout = {};  // Row r is row first_row + r.
  std::uint64_t first_row = 0;
};
// y, or operand (y as T), may be null; mean and inverse (rows) as kernels::NormForward.
template <typename T>
cudaError_t ResidualNormForward(const ResidualNorm<T>& call, const float* residual, float* sum, float* y,
                                T* operand, float* mean, float* inverse, cudaStream_t stream);

// From dy and sum_gradient (of `sum` by its other uses; either may be null): residual_gradient (may be one of the two) and
// update_gradient (null without an update). Sums are added to gain_gradient (width, or 1), offset_gradient and
// bias_gradient (width); the latter two may be null.
template <typename T>
struct ResidualNormGradients {
  const float* dy = nullptr;
  const float* sum_gradient = nullptr;
  float* residual = nullptr;
  T* update = nullptr;
  float* gain = nullptr;
  float* offset = nullptr;
  float* bias = nullptr;
};
template <typename T>
cudaError_t ResidualNormBackward(const ResidualNorm<T>& call, const float* sum, const float* mean,
                                 const float* inverse, const ResidualNormGradients<T>& gradients,
                                 float* workspace, cudaStream_t stream);
inline std::int64_t ResidualNormWorkspace(std::int64_t width) { return 3 * kNormSumRows * width; }

// h = product + bias (may be null) and f = activation(h), both as T. Gated: u = input_product + input_bias and
// f = activation(h) u; all of the input's pointers are null for a network that is not gated.
template <typename T>
struct ActivationRows {
  kernels::Activation activation = kernels::Activation::kGeluErf;
  std::int64_t rows = 0, width = 0;
  const T* product = nullptr;
  const float* bias = nullptr;
  const T* input_product = nullptr;
  const float* input_bias = nullptr;
};
template <typename T>
cudaError_t ActivationForward(const ActivationRows<T>& call, T* h, T* u, T* f, cudaStream_t stream);

// dh (and du) from df; the sums of their columns before they are rounded are added to the bias gradients (width; null for
// none).
template <typename T>
cudaError_t ActivationBackward(const ActivationRows<T>& call, const T* h, const T* u, const T* df, T* dh,
                               T* du, float* bias_gradient, float* input_bias_gradient, float* workspace,
                               cudaStream_t stream);
inline std::int64_t ActivationWorkspace(std::int64_t width) { return 2 * kSumRows * width; }

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_ROWS_H_
