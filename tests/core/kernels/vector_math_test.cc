// The functions of vector_math.h against the standard library's in double.
#include "core/kernels/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace inlier::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The largest error of `got` in units in the last place, over numbers of every size in [low, high].
template <typename Got, typename Exact>
double LargestError(float low, float high, Got got, Exact exact) {
  double largest = 0;
  const auto check = [&](float x) {
    if (x < low || x > high) return;
    const double want = exact(static_cast<double>(x));
    if (std::fabs(want) < std::numeric_limits<float>::min()) return;
    int exponent = 0;
    std::frexp(want, &exponent);
    largest = std::fmax(largest, std::fabs(got(x) - want) / std::ldexp(1.0, exponent - 24));
  };
  for (int i = 0; i <= 200'000; ++i) check(low + (high - low) * (static_cast<float>(i) / 200'000));
  const std::uint32_t smallest = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::min());
  for (std::uint32_t bits = smallest; bits < std::bit_cast<std::uint32_t>(100.0f); bits += 9973) {
    check(std::bit_cast<float>(bits));
    check(-std::bit_cast<float>(bits));
  }
  return largest;
}

TEST(VectorMath, FloatFormsAreWithinAFewUnitsInTheLastPlace) {
  EXPECT_LT(LargestError(
                -87.3f, 88.7f, [](float x) { return Exp(x); }, [](double x) { return std::exp(x); }),
            1.5);
  EXPECT_LT(LargestError(
                -9, 9, [](float x) { return Erf(x); }, [](double x) { return std::erf(x); }),
            2);
  EXPECT_LT(LargestError(
                -80, 80, [](float x) { return Sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }),
            3);
}

TEST(VectorMath, TheSlopeOfTheLogisticFunctionKeepsItsDigits) {
  EXPECT_LT(LargestError(
                -80, 80, [](float x) { return SigmoidWithSlope(x).slope; },
                [](double x) { return std::exp(-std::fabs(x)) / std::pow(1 + std::exp(-std::fabs(x)), 2); }),
            4);
}

TEST(VectorMath, InfinitiesAndVeryLargeInputs) {
  EXPECT_EQ(Exp(0.0f), 1.0f);
  for (const float x : {-kInfinity, -1e30f, -1000.0f, -104.0f, -88.0f}) EXPECT_EQ(Exp(x), 0.0f) << x;
  for (const float x : {kInfinity, 1e30f, 1000.0f, 89.0f}) {
    EXPECT_EQ(Exp(x), kInfinity) << x;
    EXPECT_EQ(Erf(x), 1.0f) << x;
    EXPECT_EQ(Erf(-x), -1.0f) << x;
    EXPECT_EQ(Sigmoid(x), 1.0f) << x;
    EXPECT_EQ(Sigmoid(-x), 0.0f) << x;
  }
}

TEST(VectorMath, NanStaysNan) {
  // One with a payload, too: Exp works on the bits.
  for (const float x : {kNan, -kNan, std::bit_cast<float>(0x7fc00123u), std::bit_cast<float>(0xffc001ffu)}) {
    EXPECT_TRUE(std::isnan(Exp(x)));
    EXPECT_TRUE(std::isnan(Erf(x)));
    EXPECT_TRUE(std::isnan(Sigmoid(x)));
  }
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  const auto bits = [](float x) { return ToElement<Bf16>(x).bits; };
  EXPECT_EQ(bits(1.0f), 0x3f80);
  EXPECT_EQ(bits(std::bit_cast<float>(0x3f807fffu)), 0x3f80);
  EXPECT_EQ(bits(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // A tie: 80 is even.
  EXPECT_EQ(bits(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(bits(std::bit_cast<float>(0x3f818000u)), 0x3f82);  // A tie: up from the odd 81.
  EXPECT_EQ(bits(-0.0f), 0x8000);
  EXPECT_EQ(bits(std::numeric_limits<float>::max()), 0x7f80);  // Nearer to infinity than to the largest.
  EXPECT_EQ(bits(kInfinity), 0x7f80);
  EXPECT_EQ(bits(-kInfinity), 0xff80);
}

TEST(Bf16, NanStaysNan) {
  for (const std::uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xffffffffu, 0x7fc00000u}) {
    EXPECT_TRUE(std::isnan(ToReal(ToElement<Bf16>(std::bit_cast<float>(nan))))) << nan;
  }
}

TEST(Bf16, EveryNumberIsItsOwnRounding) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = ToReal(Bf16{static_cast<std::uint16_t>(bits)});
    if (std::isnan(x)) continue;
    EXPECT_EQ(ToElement<Bf16>(x).bits, bits);
  }
}

}  // namespace
}  // namespace inlier::kernels
