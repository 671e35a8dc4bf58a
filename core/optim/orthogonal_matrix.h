// Random orthogonal matrices, as functions of a random stream alone, up to the last bits, which are LAPACK's.
#ifndef INLIER_CORE_OPTIM_ORTHOGONAL_MATRIX_H_
#define INLIER_CORE_OPTIM_ORTHOGONAL_MATRIX_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "base/random_stream.h"

namespace inlier {

// `matrix` (n, n) with its columns made orthonormal, the first ones first: Q of its QR decomposition, each column times the sign
// of R's diagonal. Same dtype and device.  REQUIRES: float32 or float64.
at::Tensor Orthonormalised(const at::Tensor& matrix);

// Uniform over all orthogonal matrices (Haar): a matrix of normal numbers orthonormalised, for which the signs
// matter (Mezzadri 2007).
// (size, size), float64, CPU.  REQUIRES: size >= 1.
at::Tensor HaarMatrix(std::int64_t size, RandomStream& stream);

// A Walsh-Hadamard matrix over sqrt(size) whose columns have random signs; (size, size), float64, CPU.
// REQUIRES: size is a power of two.
at::Tensor HadamardMatrix(std::int64_t size, RandomStream& stream);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_ORTHOGONAL_MATRIX_H_
