#include "spec/values/portable_math.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace inlier {
namespace {

// Numbers of all sizes, the same in every run.
template <typename Check>
void ForNumbers(double low, double high, const Check& check) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i)
    check(low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53));
}

TEST(PortableMathTest, LogarithmAndExponentialAreThoseOfTheLibraryButForTheLastBits) {
  ForNumbers(-700, 700, [](double x) {
    const double power = PortableExp(x);
    EXPECT_NEAR(power / std::exp(x), 1, 4e-16) << x;
    EXPECT_NEAR(PortableLog(power), x, 4e-16 * std::max(1.0, std::abs(x))) << x;
  });
  ForNumbers(0.5, 2,
             [](double x) { EXPECT_NEAR(PortableLog(x), std::log(x), 4e-16 * std::abs(std::log(x))) << x; });
}

// These bits are a part of what identifies trials: no machine may have others.
TEST(PortableMathTest, BitsArePinned) {
  EXPECT_EQ(PortableExp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(PortableExp(-7.25), 0x1.7455fe323fafep-11);
  EXPECT_EQ(PortableLog(10), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(PortableLog(1e-5), -0x1.7069e2aa2aa5bp+3);
  EXPECT_EQ(NormalQuantile(0.001), -0x1.8b8cbb720447p+1);
}

TEST(PortableMathTest, EndsAreExact) {
  EXPECT_EQ(PortableExp(0), 1);
  EXPECT_EQ(PortableExp(711), INFINITY);
  EXPECT_EQ(PortableExp(-INFINITY), 0);
  EXPECT_TRUE(std::isnan(PortableExp(NAN)));
  EXPECT_EQ(PortableLog(1), 0);
  EXPECT_EQ(PortableLog(0), -INFINITY);
  EXPECT_EQ(PortableLog(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(PortableLog(-1)));
  EXPECT_NEAR(PortableLog(5e-324), -744.4400719213812, 1e-12);
}

TEST(PortableMathTest, PowersOfWholeNumbersAreExact) {
  EXPECT_EQ(PortablePower(2, 10), 1024);
  EXPECT_EQ(PortablePower(-3, 3), -27);
  EXPECT_EQ(PortablePower(10, -3), 0.001);
  EXPECT_EQ(PortablePower(7, 0), 1);
  EXPECT_EQ(PortablePower(0, 0.5), 0);
  EXPECT_EQ(PortablePower(0, -1), INFINITY);
  EXPECT_TRUE(std::isnan(PortablePower(-2, 0.5)));
  ForNumbers(-20, 20, [](double y) { EXPECT_NEAR(PortablePower(3.7, y) / std::pow(3.7, y), 1, 1e-14) << y; });
}

// Published to these digits.
TEST(NormalQuantileTest, HasTheKnownValues) {
  EXPECT_EQ(NormalQuantile(0.5), 0);
  EXPECT_NEAR(NormalQuantile(0.75), 0.6744897501960817, 1e-15);
  EXPECT_NEAR(NormalQuantile(0.9), 1.2815515655446004, 1e-15);
  EXPECT_NEAR(NormalQuantile(0.975), 1.9599639845400545, 1e-15);
  EXPECT_NEAR(NormalQuantile(0.995), 2.5758293035489004, 1e-15);
  EXPECT_NEAR(NormalQuantile(1e-10), -6.3613409024040562, 1e-14);
  EXPECT_NEAR(NormalQuantile(1e-300), -37.047096299361201, 1e-13);
  EXPECT_EQ(NormalQuantile(0), -INFINITY);
  EXPECT_EQ(NormalQuantile(1), INFINITY);
}

TEST(NormalQuantileTest, IsTheInverseOfTheErrorFunction) {
  ForNumbers(-37, 0, [](double z) {
    const double p = std::erfc(-z / std::sqrt(2.0)) / 2;
    EXPECT_NEAR(NormalQuantile(p), z, 1e-13 * std::max(1.0, -z)) << z;
  });
}

TEST(RoundedToTest, KeepsSoManyDigits) {
  EXPECT_EQ(RoundedTo(4, 0.00123456), 0.001235);
  EXPECT_EQ(RoundedTo(15, 3 * 0.1), 0.3);
  EXPECT_EQ(RoundedTo(1, -95), -100);
}

}  // namespace
}  // namespace inlier
