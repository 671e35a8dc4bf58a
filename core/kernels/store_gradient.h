// The end of a backward pass over a row: its gradients are stored and added to those of the bias. Inside kernels only.
#ifndef INLIER_CORE_KERNELS_STORE_GRADIENT_H_
#define INLIER_CORE_KERNELS_STORE_GRADIENT_H_

#include <cstdint>

#include "core/kernels/element.h"

namespace inlier::kernels {

// to[i] = gradient(i), which is also added to sums[i], unless there are none.
template <typename T, typename Gradient>
INLIER_INLINE void StoreGradient(std::int64_t count, Gradient gradient, T* to, Real<T>* sums) {
  if (sums == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = ToElement<T>(gradient(i));
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const Real<T> value = gradient(i);
      sums[i] += value;
      to[i] = ToElement<T>(value);
    }
  }
}

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_STORE_GRADIENT_H_
