#include "core/quant/number_format.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <vector>

namespace inlier {
namespace {

// Every number of a format that is not negative, in order of its bits.
std::vector<double> NumbersOf(const FloatFormat& format) {
  std::vector<double> numbers;
  for (int exponent = format.smallest_exponent - 1;; ++exponent) {
    for (int mantissa = 0; mantissa < 1 << format.mantissa_bits; ++mantissa) {
      const bool subnormal = exponent < format.smallest_exponent;
      const double fraction = std::ldexp(mantissa, -format.mantissa_bits) + (subnormal ? 0 : 1);
      const double number = std::ldexp(fraction, std::max(exponent, format.smallest_exponent));
      if (number > format.largest) return numbers;
      numbers.push_back(number);
    }
  }
}

double RoundedNumber(double x, const FloatFormat& format) {
  return RoundToFloat(torch::full({1}, x, torch::kDouble), format).item<double>();
}

TEST(NumberFormatTest, TheNumbersAreThoseOfTheStandards) {
  EXPECT_EQ(NumbersOf(kE2M1), (std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6}));
  EXPECT_EQ(NumbersOf(kE4M3).size(), 127u);  // Of 128 patterns one is NaN.
  EXPECT_EQ(NumbersOf(kE4M3)[1], std::ldexp(1, -9));
  EXPECT_EQ(NumbersOf(kE4M3).back(), 448);
  EXPECT_EQ(NumbersOf(kE5M2).size(), 124u);  // One is infinity, three are NaN.
  EXPECT_EQ(NumbersOf(kE5M2)[1], std::ldexp(1, -16));
  EXPECT_EQ(NumbersOf(kE5M2).back(), 57344);
}

TEST(NumberFormatTest, EveryNumberStaysAndBetweenTwoTheNearestIsTaken) {
  for (const FloatFormat& format : {kE2M1, kE4M3, kE5M2}) {
    const std::vector<double> numbers = NumbersOf(format);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      for (const double sign : {1.0, -1.0}) {
        EXPECT_EQ(RoundedNumber(sign * numbers[i], format), sign * numbers[i]);
        if (i + 1 == numbers.size()) continue;
        const double low = numbers[i], high = numbers[i + 1], middle = (low + high) / 2;
        EXPECT_EQ(RoundedNumber(sign * middle, format), sign * (i % 2 == 0 ? low : high))
            << "a tie, " << middle;
        EXPECT_EQ(RoundedNumber(sign * std::nextafter(middle, 0), format), sign * low) << middle;
        EXPECT_EQ(RoundedNumber(sign * std::nextafter(middle, high), format), sign * high) << middle;
      }
    }
  }
}

TEST(NumberFormatTest, WhatIsTooLargeBecomesTheLargestAndNanStays) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(RoundedNumber(465, kE4M3), 448);
  EXPECT_EQ(RoundedNumber(-1e30, kE4M3), -448);
  EXPECT_EQ(RoundedNumber(infinity, kE5M2), 57344);
  EXPECT_EQ(RoundedNumber(7, kE2M1), 6);
  EXPECT_TRUE(std::isnan(RoundedNumber(std::nan(""), kE4M3)));
}

TEST(NumberFormatTest, FloatAndHalfWidthsGiveTheSameNumbers) {
  torch::manual_seed(1);
  const at::Tensor x = torch::randn({64}, torch::kBFloat16) * 3;
  for (const FloatFormat& format : {kE2M1, kE4M3, kE5M2}) {
    const at::Tensor in_double = RoundToFloat(x.to(torch::kDouble), format);
    EXPECT_TRUE(torch::equal(RoundToFloat(x.to(torch::kFloat), format).to(torch::kDouble), in_double));
    const at::Tensor in_half = RoundToFloat(x, format);
    EXPECT_EQ(in_half.scalar_type(), torch::kFloat);
    EXPECT_TRUE(torch::equal(in_half.to(torch::kDouble), in_double));
  }
}

TEST(NumberFormatTest, MxBlocksShareAPowerOfTwo) {
  at::Tensor x = torch::zeros({2, 80}, torch::kDouble);
  x[0][3] = 7.9;     // floor(log2) = 2: scale 1.
  x[0][40] = -0.75;  // -1: 2^-3.
  x[0][79] = 100;    // 6: 2^4; a block of 16.
  x[1][0] = 1e-60;   // Below the smallest scale.
  x[1][33] = 1e60;
  const at::Tensor scales = BlockScales(x, v1::MXFP4);
  const at::Tensor expected =
      torch::tensor({{1.0, 0.125, 16.0}, {std::ldexp(1.0, -127), std::ldexp(1.0, 127), 1.0}}, torch::kDouble);
  EXPECT_TRUE(torch::equal(scales, expected)) << scales;
  EXPECT_EQ(RoundWithScale(x[0][3], scales[0][0], kE2M1).item<double>(), 6) << "7.9 is above the largest";
}

TEST(NumberFormatTest, MxScalesLeaveTheElementsTheirLargestExponent) {
  at::Tensor x = torch::zeros({1, 32}, torch::kDouble);
  x[0][0] = 1000;  // floor(log2) = 9.
  const auto scale = [&x](v1::NumberFormat format) { return BlockScales(x, format).item<double>(); };
  EXPECT_EQ(scale(v1::MXFP8_E4M3), 2);
  EXPECT_EQ(scale(v1::MXFP8_E5M2), std::ldexp(1.0, -6));
  EXPECT_EQ(scale(v1::MXINT8), 512);
  EXPECT_EQ(RoundedNumber(1.99, kInt8), 127.0 / 64);
  EXPECT_EQ(RoundedNumber(0.5 / 64, kInt8), 0) << "half to even";
  EXPECT_EQ(RoundedNumber(-1.5 / 64, kInt8), -2.0 / 64);
}

TEST(NumberFormatTest, NvBlocksShareAnE4M3AndTheTensorAFloat) {
  at::Tensor x = torch::zeros({1, 40}, torch::kFloat);
  x[0][0] = 448 * 6;  // The tensor's scale is 1.
  x[0][16] = 6 * 17;  // 17 is no E4M3: 16.
  x[0][32] = 6e-4f;   // 1e-4 is less than half of the smallest E4M3.
  const at::Tensor scales = BlockScales(x, v1::NVFP4);
  EXPECT_TRUE(torch::equal(scales, torch::tensor({{448.f, 16.f, 0.f}}))) << scales;
  const at::Tensor last = x.slice(1, 32);
  EXPECT_TRUE(torch::equal(RoundWithScale(last, scales.slice(1, 2), kE2M1), torch::zeros_like(last)));
  EXPECT_TRUE(torch::equal(BlockScales(torch::zeros({1, 16}), v1::NVFP4), torch::zeros({1, 1})));
}

TEST(NumberFormatTest, AFaultStaysVisible) {
  for (const float fault :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    at::Tensor x = torch::ones({2, 64});
    x[0][5] = fault;
    for (const v1::NumberFormat format : {v1::MXFP4, v1::NVFP4}) {
      const at::Tensor scales = BlockScales(x, format).repeat_interleave(format == v1::MXFP4 ? 32 : 16, 1);
      const at::Tensor rounded = RoundWithScale(x, scales, kE2M1);
      EXPECT_TRUE(rounded[0].slice(0, 0, 16).isnan().all().item<bool>()) << format << fault;
      EXPECT_EQ(rounded[1].isnan().all().item<bool>(), format == v1::NVFP4) << "it has a scale of the tensor";
    }
    const at::Tensor scale = ScaleOfLargest(x.abs().amax(), kE4M3);
    EXPECT_TRUE(RoundWithScale(x, scale, kE4M3).isnan().all().item<bool>());
  }
}

}  // namespace
}  // namespace inlier
