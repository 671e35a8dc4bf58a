// Products of the fused engine: LibTorch's block kernel (oneDNN's, through at::native::cpublas::brgemm), which
// reaches the processor's peak on blocks that lie in the cache, with AVX2, AVX-512 and AMX alike. Where a processor multiplies
// bfloat16 no faster than float, its products are of the same numbers as float, a block at a time.
//
// A product's right side is packed once and used by many blocks of rows. Each element of a result is one sum over k
// in a fixed order, so that results do not depend on threads or on the other rows. T: float, bfloat16, double
// (double, a plain loop, is for tests).
#ifndef INLIER_CORE_LAYER_CPU_MATMUL_H_
#define INLIER_CORE_LAYER_CPU_MATMUL_H_

#include <cstdint>

#include "core/kernels/element.h"
#include "core/kernels/pack.h"

namespace inlier::layer::cpu {

using kernels::Bf16;
using kernels::kPanel;
using kernels::PackColumns;
using kernels::PackedSize;
using kernels::PackRows;
using kernels::PaddedDepth;
using kernels::Real;
using kernels::TransposeLeft;

// c (m, n) = a (m, k) * b, or c + a * b with `add`. a: row-major with stride a_stride; packed: of (k, n).
template <typename T>
void Multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_stride,
              const T* packed, Real<T>* c, std::int64_t c_stride, bool add);

// out (columns of left, columns of right) = left^T right, or out + left^T right with `add`, over `rows` rows; both
// row-major with a stride. The weight (out, in) of y = x W^T has the gradient of left = dy, right = x; one of layout
// (in, out) the other way round. Runs on all threads; the result does not depend on their number.
template <typename T>
void ProductOverRows(std::int64_t rows, const T* left, std::int64_t left_stride, std::int64_t left_columns,
                     const T* right, std::int64_t right_stride, std::int64_t right_columns, Real<T>* out,
                     std::int64_t out_stride, bool add = false);

// True where the block kernel runs for T on this processor.
template <typename T>
bool CanMultiply();

}  // namespace inlier::layer::cpu

#endif  // INLIER_CORE_LAYER_CPU_MATMUL_H_
