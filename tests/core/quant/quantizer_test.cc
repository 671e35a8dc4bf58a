#include "core/quant/quantizer.h"

#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <vector>

namespace inlier {
namespace {

ValueRange Range(double low, double high, bool single_precision = false) {
  return {{low}, {high}, single_precision};
}

at::Tensor Rounded(const at::Tensor& x, const ValueRange& range, int bits, bool symmetric) {
  Quantizer quantizer(bits, symmetric);
  quantizer.SetRange(range);
  return quantizer.Apply(x);
}

// The formula of the header as written, one operation after the other.
at::Tensor ByFormula(const at::Tensor& x, const QuantizationGrid& grid) {
  const at::Tensor scale = torch::tensor(grid.scale[0], x.options());
  const at::Tensor zero_point = torch::tensor(grid.zero_point[0], x.options());
  return scale * (torch::clamp(torch::round(x / scale) + zero_point, grid.integer_min, grid.integer_max) -
                  zero_point);
}

TEST(GridTest, AsymmetricRangeAlwaysContainsZero) {
  const QuantizationGrid positive = MakeGrid(Range(1, 3), 8, /*symmetric=*/false);
  EXPECT_DOUBLE_EQ(positive.scale[0], 3.0 / 255);
  EXPECT_EQ(positive.zero_point[0], 0);
  const QuantizationGrid negative = MakeGrid(Range(-3, -1), 8, /*symmetric=*/false);
  EXPECT_DOUBLE_EQ(negative.scale[0], (3.0 + 1e-8) / 255);
  EXPECT_EQ(negative.zero_point[0], 255);
  EXPECT_EQ(negative.integer_min, 0);
  EXPECT_EQ(negative.integer_max, 255);
}

TEST(GridTest, SymmetricGridOfNonNegativeValuesIsUnsigned) {
  const QuantizationGrid positive = MakeGrid(Range(0, 3), 4, /*symmetric=*/true);
  EXPECT_FALSE(positive.is_signed);
  EXPECT_EQ(positive.integer_min, 0);
  EXPECT_EQ(positive.integer_max, 15);
  EXPECT_DOUBLE_EQ(positive.scale[0], 3.0 / 15);
  const QuantizationGrid both = MakeGrid(Range(-1, 3), 4, /*symmetric=*/true);
  EXPECT_TRUE(both.is_signed);
  EXPECT_EQ(both.integer_min, -8);
  EXPECT_EQ(both.integer_max, 7);
  EXPECT_DOUBLE_EQ(both.scale[0], 3.0 / 7);
}

TEST(GridTest, OneNegativeChannelMakesEveryChannelSigned) {
  const QuantizationGrid grid = MakeGrid({{0, -2}, {1, 1}, false}, 8, /*symmetric=*/true);
  EXPECT_TRUE(grid.is_signed);
  EXPECT_DOUBLE_EQ(grid.scale[0], 1.0 / 127);
  EXPECT_DOUBLE_EQ(grid.scale[1], 2.0 / 127);
}

TEST(GridTest, ScaleNeverFallsBelowTheSmallest) {
  EXPECT_EQ(MakeGrid(Range(0, 0), 8, false).scale[0], 1e-8);
  EXPECT_EQ(MakeGrid(Range(0, 0, /*single_precision=*/true), 8, true).scale[0], static_cast<double>(1e-8f));
}

TEST(GridTest, SinglePrecisionRangeGivesAGridOfFloatArithmetic) {
  const double high = static_cast<double>(0.3f);
  EXPECT_EQ(MakeGrid(Range(0, high, true), 8, false).scale[0], static_cast<double>(0.3f / 255.0f));
  EXPECT_EQ(MakeGrid(Range(0, high, false), 8, false).scale[0], high / 255.0);
  EXPECT_NE(0.3f / 255.0f, high / 255.0);
}

TEST(QuantizerTest, TiesGoToTheEvenInteger) {
  const at::Tensor x = torch::tensor({0.5f, 1.5f, 2.5f, 3.5f, -0.5f, -1.5f, -2.5f});
  const at::Tensor expected = torch::tensor({0.f, 2.f, 2.f, 4.f, 0.f, -2.f, -2.f});
  EXPECT_TRUE(torch::equal(Rounded(x, Range(-127, 127), 8, /*symmetric=*/true), expected));
  // Half of scale 1/255: the tie that a vanilla probability of 0.5 makes.
  const at::Tensor half = torch::tensor({0.5}, torch::kDouble);
  EXPECT_DOUBLE_EQ(Rounded(half, Range(0, 1), 8, false).item<double>(), 128.0 / 255);
}

TEST(QuantizerTest, ValuesBeyondTheGridGoToItsEnds) {
  const at::Tensor x = torch::tensor({-1e30f, -200.f, 200.f, 1e30f, std::numeric_limits<float>::infinity()});
  const at::Tensor expected = torch::tensor({-128.f, -128.f, 127.f, 127.f, 127.f});
  EXPECT_TRUE(torch::equal(Rounded(x, Range(-127, 127), 8, true), expected));
}

TEST(QuantizerTest, NotANumberStaysNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Rounded(torch::tensor({nan}), Range(-1, 1), 8, false).item<float>()));
  EXPECT_TRUE(std::isnan(Rounded(torch::tensor({0.5f}), Range(nan, 1), 8, false).item<float>()));
}

TEST(QuantizerTest, TheFastPathIsBitIdenticalToTheFormula) {
  torch::manual_seed(1);
  for (const at::ScalarType dtype : {torch::kFloat32, torch::kFloat64}) {
    const at::Tensor x = torch::randn({300001}, dtype) * 3;
    for (const int bits : {2, 4, 8, 16}) {
      for (const bool symmetric : {false, true}) {
        for (const auto& [low, high] : std::vector<std::pair<double, double>>{
                 {-2.3, 4.1}, {-11, 12}, {0.2, 0.7}, {-3, -1}, {-1e-9, 0}}) {
          Quantizer quantizer(bits, symmetric);
          quantizer.SetRange(Range(low, high));
          EXPECT_TRUE(torch::equal(quantizer.Apply(x), ByFormula(x, quantizer.grid())))
              << dtype << " bits " << bits << " symmetric " << symmetric << " range " << low << " " << high;
        }
      }
    }
  }
}

TEST(QuantizerTest, ChannelsAreRoundedEachByItsOwnGrid) {
  const at::Tensor x = torch::tensor({{0.4f, 1.0f}, {40.f, 100.f}});
  const at::Tensor rounded = Rounded(x, {{0, 0}, {3, 300}, false}, 2, /*symmetric=*/false);
  EXPECT_TRUE(torch::allclose(rounded, torch::tensor({{0.f, 1.f}, {0.f, 100.f}})));
}

TEST(QuantizerTest, TransposedTensorsKeepTheirElements) {
  const at::Tensor x = torch::arange(12, torch::kFloat32).reshape({3, 4});
  const at::Tensor expected = Rounded(x, Range(0, 11), 4, false).t().contiguous();
  EXPECT_TRUE(torch::equal(Rounded(x.t(), Range(0, 11), 4, false), expected));
}

TEST(QuantizerTest, TheInputIsNotWrittenTo) {
  const at::Tensor x = torch::tensor({0.3f, 0.6f});
  Rounded(x, Range(0, 1), 2, false);
  EXPECT_TRUE(torch::equal(x, torch::tensor({0.3f, 0.6f})));
}

TEST(QuantizerTest, Bfloat16IsRoundedInFloat) {
  const at::Tensor x = torch::tensor({0.3f, 0.6f}).to(torch::kBFloat16);
  const at::Tensor rounded = Rounded(x, Range(0, 3), 2, false);
  EXPECT_EQ(rounded.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(torch::equal(rounded.to(torch::kFloat32), torch::tensor({0.f, 1.f})));
}

TEST(QuantizerTest, AGpuRoundsAsTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  torch::manual_seed(2);
  const at::Tensor x = torch::randn({64, 1000});
  Quantizer quantizer(8, false);
  quantizer.SetRange(Range(-2.3, 4.1));
  EXPECT_TRUE(torch::equal(quantizer.Apply(x.cuda()).cpu(), quantizer.Apply(x)));
}

}  // namespace
}  // namespace inlier
