#include "core/layer_cpu/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "tests/core/kernels/numbers.h"

namespace inlier::layer::cpu {
namespace {

using kernels::Numbers;
using kernels::ToReal;

template <typename T>
class MatmulTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CanMultiply<T>()) GTEST_SKIP() << "this processor has no block product of the type";
  }
};
TYPED_TEST_SUITE(MatmulTest, kernels::Elements);

// Of bfloat16 too the products are exact in float, so that only the order of a sum is the processor's.
TYPED_TEST(MatmulTest, EveryElementIsTheSumOfItsProducts) {
  using T = TypeParam;
  using R = Real<T>;
  for (const auto& [m, n, k] :
       {std::tuple(1, 1, 1), std::tuple(5, 70, 33), std::tuple(64, 129, 512), std::tuple(33, 64, 1027)}) {
    const std::int64_t depth = PaddedDepth<T>(k), stride = depth + 2, c_stride = n + 3;
    std::vector<T> a = Numbers<T>(m * stride, 1);
    for (std::int64_t i = 0; i < m && depth > k; ++i) a[i * stride + k] = T{};
    const std::vector<T> b = Numbers<T>(k * n, 2);
    std::vector<T> packed(PackedSize<T>(k, n));
    PackRows(b.data(), n, k, n, packed.data());
    for (const bool add : {false, true}) {
      std::vector<R> c(m * c_stride, 7);
      Multiply<T>(m, n, k, a.data(), stride, packed.data(), c.data(), c_stride, add);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = add ? 7 : 0, size = 1;
          for (std::int64_t l = 0; l < k; ++l) {
            const double term = static_cast<double>(ToReal(a[i * stride + l])) * ToReal(b[l * n + j]);
            sum += term;
            size += std::fabs(term);
          }
          ASSERT_NEAR(c[i * c_stride + j], sum, (std::is_same_v<T, double> ? 1e-13 : 1e-6) * size)
              << m << " x " << n << " x " << k << " at " << i << ", " << j;
        }
        ASSERT_EQ(c[i * c_stride + n], 7) << "behind a row";
      }
    }
  }
}

// The same bits for one row as for many, so that results do not depend on how rows are cut.
TYPED_TEST(MatmulTest, ARowDoesNotDependOnTheOthers) {
  using T = TypeParam;
  constexpr std::int64_t kRows = 37, kColumns = 80, kDepth = 600;
  const std::vector<T> a = Numbers<T>(kRows * kDepth, 3), b = Numbers<T>(kDepth * kColumns, 4);
  std::vector<T> packed(PackedSize<T>(kDepth, kColumns));
  PackRows(b.data(), kColumns, kDepth, kColumns, packed.data());
  std::vector<Real<T>> whole(kRows * kColumns), row(kColumns);
  Multiply<T>(kRows, kColumns, kDepth, a.data(), kDepth, packed.data(), whole.data(), kColumns, false);
  for (std::int64_t i = 0; i < kRows; ++i) {
    Multiply<T>(1, kColumns, kDepth, a.data() + i * kDepth, kDepth, packed.data(), row.data(), kColumns,
                false);
    ASSERT_TRUE(std::equal(row.begin(), row.end(), whole.begin() + i * kColumns)) << i;
  }
}

}  // namespace
}  // namespace inlier::layer::cpu
