#include "spec/sweep/sampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/values/philox.h"
#include "spec/values/sobol.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::SamplingSpec Random(std::uint32_t trials, std::uint32_t seed) {
  v1::SamplingSpec spec;
  spec.mutable_random()->set_trials(trials);
  spec.mutable_random()->set_seed(seed);
  return spec;
}

v1::SamplingSpec Sobol(std::uint32_t trials, bool scramble, std::uint32_t seed = 1) {
  v1::SamplingSpec spec;
  spec.mutable_sobol()->set_trials(trials);
  spec.mutable_sobol()->set_scramble(scramble);
  spec.mutable_sobol()->set_seed(seed);
  return spec;
}

v1::AxisRange Range(double min, double max, bool log = false, bool integer = false) {
  v1::AxisRange range;
  range.set_min(min);
  range.set_max(max);
  if (log) range.set_log(true);
  if (integer) range.set_integer(true);
  return range;
}

// The known answers of Random123 (kat_vectors, philox4x32 10).
TEST(PhiloxTest, GivesTheKnownAnswers) {
  EXPECT_THAT(Philox({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_THAT(Philox({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

// From scipy.stats.qmc.Sobol(64, scramble=False, bits=32) of SciPy 1.17.1, whose point n is our n ^ (n >> 1).
TEST(SobolTest, GivesThePointsOfSciPy) {
  constexpr std::array<int, 9> dimensions = {0, 1, 2, 3, 9, 20, 31, 47, 63};
  const std::vector<std::pair<std::uint32_t, std::array<std::uint32_t, 9>>> points = {
      {0, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {1,
       {2147483648, 2147483648, 2147483648, 2147483648, 2147483648, 2147483648, 2147483648, 2147483648,
        2147483648}},
      {2,
       {1073741824, 3221225472, 3221225472, 3221225472, 1073741824, 3221225472, 3221225472, 3221225472,
        1073741824}},
      {3,
       {3221225472, 1073741824, 1073741824, 1073741824, 3221225472, 1073741824, 1073741824, 1073741824,
        3221225472}},
      {5,
       {2684354560, 536870912, 3758096384, 2684354560, 1610612736, 1610612736, 1610612736, 1610612736,
        3758096384}},
      {100,
       {637534208, 3321888768, 2986344448, 4127195136, 4261412864, 1442840576, 771751936, 2449473536,
        2449473536}},
      {777,
       {2428502016, 809500672, 3829399552, 767557632, 3661627392, 608174080, 465567744, 952107008,
        3670016000}},
      {1023,
       {4290772992, 1094713344, 3141533696, 1891631104, 2805989376, 2336227328, 3066036224, 163577856,
        2545942528}},
  };
  for (const auto& [index, coordinates] : points) {
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      EXPECT_EQ(SobolBits(dimensions[i], index), coordinates[i])
          << "point " << index << " dimension " << dimensions[i];
    }
  }
}

// The property of Sobol's sequence: the first 2^m points fall one each into 2^m equal intervals, in every
// dimension, scrambled or not.
TEST(SobolTest, EveryIntervalHasOnePoint) {
  for (int dimension = 0; dimension < kSobolDimensions; ++dimension) {
    std::set<std::uint32_t> plain, scrambled;
    for (std::uint32_t index = 0; index < 256; ++index) {
      const std::uint32_t bits = SobolBits(dimension, index);
      plain.insert(bits >> 24);
      scrambled.insert(OwenScramble(bits, dimension, 7) >> 24);
    }
    EXPECT_EQ(plain.size(), 256u) << dimension;
    EXPECT_EQ(scrambled.size(), 256u) << dimension;
  }
}

// Warnock's formula for the L2 star discrepancy, squared.
double Discrepancy(const SamplePlan& plan, int dimensions) {
  const std::uint32_t count = plan.trials();
  std::vector<std::vector<double>> points(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (int d = 0; d < dimensions; ++d) points[i].push_back(plan.Draw(i, d).value());
  }
  double single = 0, pairs = 0;
  for (const std::vector<double>& x : points) {
    double product = 1;
    for (const double v : x) product *= (1 - v * v) / 2;
    single += product;
    for (const std::vector<double>& y : points) {
      double both = 1;
      for (int d = 0; d < dimensions; ++d) both *= 1 - std::max(x[d], y[d]);
      pairs += both;
    }
  }
  const double n = count;
  return std::pow(1.0 / 3, dimensions) - 2 * single / n + pairs / (n * n);
}

TEST(SamplingTest, SobolIsMoreEvenThanRandom) {
  for (const int dimensions : {2, 5}) {
    const double plain = Discrepancy(SamplePlan(Sobol(256, false)), dimensions);
    const double scrambled = Discrepancy(SamplePlan(Sobol(256, true)), dimensions);
    double random = 0;
    for (std::uint32_t seed = 1; seed <= 5; ++seed)
      random += Discrepancy(SamplePlan(Random(256, seed)), dimensions) / 5;
    EXPECT_LT(plain * 4, random) << dimensions;
    EXPECT_LT(scrambled * 4, random) << dimensions;
  }
}

TEST(SamplingTest, ADrawIsAFunctionOfItsNumberSeedAndDimension) {
  for (const bool sobol : {false, true}) {
    const SamplePlan one(sobol ? Sobol(100, true, 1) : Random(100, 1));
    const SamplePlan other(sobol ? Sobol(100, true, 2) : Random(100, 2));
    std::set<std::uint64_t> seen;
    for (std::uint32_t sample = 0; sample < 100; ++sample) {
      for (int dimension = 0; dimension < 3; ++dimension) {
        const std::uint64_t draw = one.Draw(sample, dimension).numerator;
        EXPECT_LT(draw, 1ull << UnitNumber::kBits);
        EXPECT_NE(draw, other.Draw(sample, dimension).numerator);
        seen.insert(draw);
      }
    }
    EXPECT_EQ(seen.size(), 300u);
    EXPECT_EQ(one.Draw(57, 2).numerator,
              SamplePlan(sobol ? Sobol(7, true, 1) : Random(7, 1)).Draw(57, 2).numerator);
  }
}

TEST(SamplingTest, RandomDrawsAreUniform) {
  const SamplePlan plan(Random(1000, 3));
  std::array<int, 10> counts{};
  for (std::uint32_t sample = 0; sample < 1000; ++sample) ++counts[plan.Draw(sample, 0).Below(10)];
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - 100.0) * (count - 100.0) / 100;
  EXPECT_LT(chi_squared, 21.7);  // 1 % of uniform draws are above it, with nine degrees of freedom.
  EXPECT_GT(chi_squared, 2.09);  // And 1 % below.
}

TEST(SampleRangeTest, EndsAndMiddleAreWhereTheyBelong) {
  const UnitNumber none{0}, half{1ull << 52}, most{(1ull << 53) - 1};
  const SampleRange linear(Range(-1, 3), false);
  EXPECT_EQ(linear.At(none), -1);
  EXPECT_EQ(linear.At(half), 1);
  EXPECT_EQ(linear.At(most), 3);
  const SampleRange log(Range(1e-5, 1e-1, true), false);
  EXPECT_EQ(log.At(none), 1e-5);
  EXPECT_EQ(log.At(half), 1e-3);
  EXPECT_EQ(log.At(most), 1e-1);
  EXPECT_EQ(log.At({1ull << 51}), 1e-4);
}

TEST(SampleRangeTest, NumbersAreRoundedToTheirDigits) {
  v1::AxisRange range = Range(0, 1);
  const UnitNumber third{(1ull << 53) / 3};
  EXPECT_EQ(SampleRange(range, false).At(third), 0.3333);
  range.set_digits(1);
  EXPECT_EQ(SampleRange(range, false).At(third), 0.3);
  range.set_digits(9);
  EXPECT_EQ(SampleRange(range, false).At(third), 0.333333333);
  // Rounding never leaves the range.
  range.set_max(0.0123456);
  range.set_min(0.0123446);
  range.set_digits(2);
  for (const UnitNumber draw : {UnitNumber{0}, UnitNumber{(1ull << 53) - 1}}) {
    EXPECT_GE(SampleRange(range, false).At(draw), 0.0123446);
    EXPECT_LE(SampleRange(range, false).At(draw), 0.0123456);
  }
}

TEST(SampleRangeTest, WholeNumbersAreAllReachedAlike) {
  const SamplePlan plan(Sobol(1024, true));
  const SampleRange range(Range(3, 10, false, true), false);
  std::map<double, int> counts;
  for (std::uint32_t sample = 0; sample < 1024; ++sample) ++counts[range.At(plan.Draw(sample, 0))];
  ASSERT_EQ(counts.size(), 8u);
  for (const auto& [value, count] : counts) {
    EXPECT_EQ(value, std::trunc(value));
    EXPECT_EQ(count, 128) << value;
  }
  EXPECT_EQ(counts.begin()->first, 3);
  EXPECT_EQ(counts.rbegin()->first, 10);
}

TEST(SampleRangeTest, LogOfWholeNumbersHasAsManyInEveryOctave) {
  const SamplePlan plan(Sobol(1024, true));
  const SampleRange range(Range(1, 63, true), true);
  std::array<int, 6> octaves{};
  for (std::uint32_t sample = 0; sample < 1024; ++sample) {
    const double value = range.At(plan.Draw(sample, 0));
    EXPECT_EQ(value, std::trunc(value));
    ++octaves.at(static_cast<std::size_t>(std::ilogb(value)));
  }
  for (const int count : octaves) EXPECT_NEAR(count, 1024 / 6.0, 2);
}

TEST(SampleRangeTest, WrongRangesAreToldWithARemedy) {
  EXPECT_EQ(RangeSpecProblem(Range(1, 2), false), "");
  EXPECT_THAT(RangeSpecProblem(Range(2, 1), false), HasSubstr("min 2 is not below max 1; exchange them"));
  EXPECT_THAT(RangeSpecProblem(Range(1, 1), false), HasSubstr("put the one value into base"));
  EXPECT_THAT(RangeSpecProblem(Range(0, 1, true), false), HasSubstr("log needs min above 0, not 0"));
  EXPECT_THAT(RangeSpecProblem(Range(0.5, 3), true), HasSubstr("the field takes no others; give whole ends"));
  EXPECT_THAT(RangeSpecProblem(Range(0.5, 3, false, true), false), HasSubstr("give whole ends"));
  EXPECT_THAT(RangeSpecProblem(Range(0, INFINITY), false), HasSubstr("not finite"));
  EXPECT_THAT(RangeSpecProblem(v1::AxisRange(), false), HasSubstr("needs both ends"));
  v1::AxisRange digits = Range(1, 9);
  digits.set_digits(3);
  EXPECT_THAT(RangeSpecProblem(digits, true),
              HasSubstr("digits is for ranges that are not of whole numbers"));
}

}  // namespace
}  // namespace inlier
