#include "core/layer_cpu/matmul.h"

#include <ATen/native/CPUBlas.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <type_traits>

#include "core/kernels/pack.h"

namespace inlier::layer::cpu {
namespace {

namespace blas = at::native::cpublas;

template <typename T>
void MultiplyBlock(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_stride,
                   const T* b, Real<T>* c, std::int64_t c_stride, bool add) {
  if constexpr (std::is_same_v<T, double>) {
    for (std::int64_t i = 0; i < m; ++i) {
      double* row = c + i * c_stride;
      if (!add) std::fill(row, row + n, 0.0);
      for (std::int64_t l = 0; l < k; ++l) {
        for (std::int64_t j = 0; j < n; ++j) row[j] += a[i * a_stride + l] * b[l * n + j];
      }
    }
  } else if constexpr (std::is_same_v<T, Bf16>) {
    blas::brgemm(m, n, k, a_stride, n, c_stride, add, reinterpret_cast<const c10::BFloat16*>(a),
                 reinterpret_cast<const c10::BFloat16*>(b), c, /*is_vnni=*/true);
  } else {
    blas::brgemm(m, n, k, a_stride, n, c_stride, add, a, b, c, /*is_vnni=*/false);
  }
}

}  // namespace

template <typename T>
void Multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_stride,
              const T* packed, Real<T>* c, std::int64_t c_stride, bool add) {
  const std::int64_t depth = PaddedDepth<T>(k);
  for (std::int64_t column = 0; column < n; column += kPanel) {
    const std::int64_t width = std::min(kPanel, n - column);
    MultiplyBlock(m, width, depth, a, a_stride, packed + column * depth, c + column, c_stride, add);
  }
}

template <typename T>
bool CanMultiply() {
  static const bool can = [] {
    const T a[2] = {}, b[2] = {};
    Real<T> c[1] = {};
    try {
      MultiplyBlock<T>(1, 1, PaddedDepth<T>(1), a, PaddedDepth<T>(1), b, c, 1, /*add=*/false);
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }();
  return can;
}

#define INLIER_INSTANTIATE(T)                                                                           \
  template void Multiply<T>(std::int64_t, std::int64_t, std::int64_t, const T*, std::int64_t, const T*, \
                            Real<T>*, std::int64_t, bool);                                              \
  template bool CanMultiply<T>();
INLIER_INSTANTIATE(float)
INLIER_INSTANTIATE(Bf16)
INLIER_INSTANTIATE(double)
#undef INLIER_INSTANTIATE

}  // namespace inlier::layer::cpu
