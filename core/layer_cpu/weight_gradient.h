// Gradient of a linear's weight: a product over all tokens.
#ifndef INLIER_CORE_LAYER_CPU_WEIGHT_GRADIENT_H_
#define INLIER_CORE_LAYER_CPU_WEIGHT_GRADIENT_H_

#include <cstdint>

#include "core/layer_cpu/matmul.h"

namespace inlier::layer::cpu {

// out (columns of left, columns of right) = left^T right, or out + left^T right with `add`, over `rows` rows; both
// row-major with a stride. The weight (out, in) of y = x W^T has the gradient of left = dy, right = x; one of layout
// (in, out) the other way round. Runs on all threads; the result does not depend on their number.
template <typename T>
void ProductOverRows(std::int64_t rows, const T* left, std::int64_t left_stride, std::int64_t left_columns,
                     const T* right, std::int64_t right_stride, std::int64_t right_columns, Real<T>* out,
                     std::int64_t out_stride, bool add = false);

}  // namespace inlier::layer::cpu

#endif  // INLIER_CORE_LAYER_CPU_WEIGHT_GRADIENT_H_
