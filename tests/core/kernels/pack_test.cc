#include "core/kernels/pack.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/core/kernels/numbers.h"

namespace inlier::kernels {
namespace {

// Sizes on both sides of a tile of 8, of a panel of 64, and odd.
constexpr std::int64_t kSizes[] = {1, 2, 7, 8, 9, 31, 63, 64, 65, 129};

// Element (i, j) of a packed right side of (k, n), from the layout that pack.h states.
template <typename T>
double Packed(const std::vector<T>& packed, std::int64_t k, std::int64_t n, std::int64_t i, std::int64_t j) {
  const std::int64_t panel = j / kPanel * kPanel, width = std::min(kPanel, n - panel);
  const T* at = packed.data() + panel * PaddedDepth<T>(k);
  return ToReal(std::is_same_v<T, Bf16> ? at[(i / 2 * width + j - panel) * 2 + i % 2]
                                        : at[i * width + j - panel]);
}

template <typename T, typename Source>
double Rounded(Source x) {
  if constexpr (std::is_same_v<T, Source>) {
    return ToReal(x);
  } else {
    return ToReal(ToElement<T>(x));
  }
}

template <typename Types>
class PackTest : public testing::Test {};
using Pairs = testing::Types<std::tuple<float, float>, std::tuple<double, double>, std::tuple<Bf16, Bf16>,
                             std::tuple<Bf16, float>>;
TYPED_TEST_SUITE(PackTest, Pairs);

TYPED_TEST(PackTest, APackedProductSideHasEveryElementAtItsPlace) {
  using T = std::tuple_element_t<0, TypeParam>;
  using Source = std::tuple_element_t<1, TypeParam>;
  for (const std::int64_t k : kSizes) {
    for (const std::int64_t n : kSizes) {
      const std::int64_t row_stride = n + 3, column_stride = k + 5;
      const std::vector<Source> by_rows = Numbers<Source>(k * row_stride, 1);
      const std::vector<Source> by_columns = Numbers<Source>(n * column_stride, 2);
      const T untouched = static_cast<T>(ToElement<T>(99));
      std::vector<T> rows(PackedSize<T>(k, n) + 1, untouched), columns = rows;
      PackRows<T, Source>(by_rows.data(), row_stride, k, n, rows.data());
      PackColumns<T, Source>(by_columns.data(), column_stride, k, n, columns.data());
      for (std::int64_t i = 0; i < PaddedDepth<T>(k); ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const double row = i < k ? Rounded<T>(by_rows[i * row_stride + j]) : 0;
          const double column = i < k ? Rounded<T>(by_columns[j * column_stride + i]) : 0;
          ASSERT_EQ(Packed(rows, k, n, i, j), row) << k << " x " << n << " at " << i << ", " << j;
          ASSERT_EQ(Packed(columns, k, n, i, j), column) << k << " x " << n << " at " << i << ", " << j;
        }
      }
      ASSERT_EQ(ToReal(rows.back()), 99);
      ASSERT_EQ(ToReal(columns.back()), 99);
    }
  }
}

template <typename T>
class TransposeTest : public testing::Test {};
using Elements = testing::Types<float, double, Bf16>;
TYPED_TEST_SUITE(TransposeTest, Elements);

TYPED_TEST(TransposeTest, ALeftSideHasEveryElementAtItsPlace) {
  using T = TypeParam;
  for (const std::int64_t k : kSizes) {
    for (const std::int64_t n : kSizes) {
      const std::int64_t stride = n + 3, depth = PaddedDepth<T>(k);
      const std::vector<T> source = Numbers<T>(k * stride, 3);
      std::vector<T> out(n * depth + 1, static_cast<T>(ToElement<T>(99)));
      TransposeLeft<T>(source.data(), stride, k, n, out.data());
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < depth; ++i) {
          ASSERT_EQ(ToReal(out[j * depth + i]), i < k ? ToReal(source[i * stride + j]) : 0)
              << k << " x " << n << " at " << i << ", " << j;
        }
      }
      ASSERT_EQ(ToReal(out.back()), 99);
    }
  }
}

TEST(WidenTest, FloatCopiesHaveTheSameNumbers) {
  for (const std::int64_t k : {2, 8, 66}) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{7}, kPanel}) {
      const std::vector<Bf16> source = Numbers<Bf16>(k * n, 5);
      std::vector<Bf16> panel(PackedSize<Bf16>(k, n));
      PackRows<Bf16, Bf16>(source.data(), n, k, n, panel.data());
      std::vector<float> row(k * n), rows(k * n);
      Widen(source.data(), k * n, row.data());
      WidenPanel(panel.data(), k, n, rows.data());
      for (std::int64_t i = 0; i < k * n; ++i) {
        ASSERT_EQ(row[i], ToReal(source[i]));
        ASSERT_EQ(rows[i], ToReal(source[i])) << k << " x " << n << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace inlier::kernels
