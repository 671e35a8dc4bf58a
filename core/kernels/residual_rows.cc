#include <algorithm>

#include "core/kernels/dropout_block.h"
#include "core/kernels/rows.h"
#include "core/kernels/store_gradient.h"

namespace inlier::kernels {
namespace {

// use(row, column, count, factors) for each stretch of at most a block's columns, with its factors of the dropout.
template <typename R, typename Use>
INLIER_INLINE void ForBlocks(std::int64_t rows, std::int64_t width, const Dropout& dropout,
                             std::uint64_t first_row, Use use) {
  R factors[kDropoutBlock];
  std::fill(factors, factors + kDropoutBlock, R{1});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < width; column += kDropoutBlock) {
      if (dropout.active()) DropoutBlock(dropout, first_row + row, column / kDropoutBlock, factors);
      use(row, column, std::min(kDropoutBlock, width - column), factors);
    }
  }
}

template <typename R>
INLIER_INLINE void AddDroppedOf(std::int64_t rows, std::int64_t width, const R* residual, const R* update,
                                const R* bias, const Dropout& dropout, std::uint64_t first_row, R* sum) {
  ForBlocks<R>(rows, width, dropout, first_row,
               [=](std::int64_t row, std::int64_t column, std::int64_t count, const R* factors)
                   INLIER_LAMBDA {
                     const std::int64_t start = row * width + column;
                     const R* old = residual + start;
                     const R* added = update + start;
                     R* to = sum + start;
                     if (bias == nullptr) {
#pragma omp simd
                       for (std::int64_t i = 0; i < count; ++i) to[i] = old[i] + added[i] * factors[i];
                     } else {
#pragma omp simd
                       for (std::int64_t i = 0; i < count; ++i) {
                         to[i] = old[i] + (added[i] + bias[column + i]) * factors[i];
                       }
                     }
                   });
}

template <typename T>
INLIER_INLINE void AddDroppedBackwardOf(std::int64_t rows, std::int64_t width, const Real<T>* sum_gradient,
                                        const Dropout& dropout, std::uint64_t first_row, T* update_gradient,
                                        Real<T>* bias_gradient, const Real<T>* further) {
  using R = Real<T>;
  ForBlocks<R>(
      rows, width, dropout, first_row,
      [=](std::int64_t row, std::int64_t column, std::int64_t count, const R* factors) INLIER_LAMBDA {
        const R* above = sum_gradient + row * width + column;
        T* to = update_gradient + row * width + column;
        R* sums = bias_gradient == nullptr ? nullptr : bias_gradient + column;
        if (further == nullptr) {
          StoreGradient(
              count, [=](std::int64_t i) INLIER_LAMBDA { return above[i] * factors[i]; }, to, sums);
        } else {
          const R* other = further + row * width + column;
          StoreGradient(
              count, [=](std::int64_t i) INLIER_LAMBDA { return above[i] * factors[i] + other[i]; }, to,
              sums);
        }
      });
}

}  // namespace

#define INLIER_ADD_DROPPED(R)                                                                \
  template <>                                                                                \
  INLIER_KERNEL void AddDropped<R>(std::int64_t rows, std::int64_t width, const R* residual, \
                                   const R* update, const R* bias, const Dropout& dropout,   \
                                   std::uint64_t first_row, R* sum) {                        \
    AddDroppedOf<R>(rows, width, residual, update, bias, dropout, first_row, sum);           \
  }
#define INLIER_ADD_DROPPED_BACKWARD(T)                                                                     \
  template <>                                                                                              \
  INLIER_KERNEL void AddDroppedBackward<T>(                                                                \
      std::int64_t rows, std::int64_t width, const Real<T>* sum_gradient, const Dropout& dropout,          \
      std::uint64_t first_row, T* update_gradient, Real<T>* bias_gradient, const Real<T>* further) {       \
    AddDroppedBackwardOf<T>(rows, width, sum_gradient, dropout, first_row, update_gradient, bias_gradient, \
                            further);                                                                      \
  }

INLIER_ADD_DROPPED(float)
INLIER_ADD_DROPPED(double)
INLIER_ADD_DROPPED_BACKWARD(float)
INLIER_ADD_DROPPED_BACKWARD(double)
INLIER_ADD_DROPPED_BACKWARD(Bf16)

}  // namespace inlier::kernels
