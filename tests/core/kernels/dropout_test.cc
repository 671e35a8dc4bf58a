// The factors of dropout against a plain reading of their definition, and their statistics.
#include "core/kernels/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/kernels/dropout_block.h"
#include "tests/core/kernels/numbers.h"

namespace inlier::kernels {
namespace {

template <typename R>
std::vector<R> Factors(const Dropout& dropout, std::uint64_t row, std::int64_t columns) {
  std::vector<R> factors(columns + 1, R{-7});  // One more, which stays as it is.
  DropoutFactors<R>(dropout, row, columns, factors.data());
  EXPECT_EQ(factors.back(), R{-7});
  factors.pop_back();
  return factors;
}

// Column by column, as dropout_block.h defines it.
double FactorOf(const Dropout& dropout, std::uint64_t row, std::int64_t column) {
  const std::uint64_t block = column / 128, half = column % 128 / 16, lane = column % 16;
  const PhiloxCounter random =
      Philox<7>({block * 16 + lane, row & 0xffffffff, row >> 32, dropout.site},
                static_cast<std::uint32_t>(dropout.seed), static_cast<std::uint32_t>(dropout.seed >> 32));
  const std::uint64_t words[] = {random.a, random.b, random.c, random.d};
  const double threshold = std::round(dropout.probability * 65536);
  const double drawn = words[half / 2] >> (half % 2 * 16) & 0xffff;
  return drawn < threshold ? 0 : 1 / (1 - threshold / 65536);
}

TEST(Philox, TheKnownAnswersOfTenRounds) {
  const PhiloxCounter zeros = Philox<10>({0, 0, 0, 0}, 0, 0);
  EXPECT_EQ(zeros.a, 0x6627e8d5u);
  EXPECT_EQ(zeros.b, 0xe169c58du);
  EXPECT_EQ(zeros.c, 0xbc57ac4cu);
  EXPECT_EQ(zeros.d, 0x9b00dbd8u);
  const PhiloxCounter ones = Philox<10>({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u);
  EXPECT_EQ(ones.a, 0x408f276du);
  EXPECT_EQ(ones.b, 0x41c83b0eu);
  EXPECT_EQ(ones.c, 0xa20bc7c6u);
  EXPECT_EQ(ones.d, 0x6d5451fdu);
}

TEST(Dropout, EveryColumnHasItsNumberOnEveryWidth) {
  const Dropout dropout{.seed = 0x0123456789abcdef, .site = 5, .probability = 0.3};
  for (const std::int64_t width : kWidths) {
    for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{17}, std::uint64_t{0x700000003}}) {
      const std::vector<float> narrow = Factors<float>(dropout, row, width);
      const std::vector<double> wide = Factors<double>(dropout, row, width);
      for (std::int64_t c = 0; c < width; ++c) {
        ASSERT_EQ(wide[c], FactorOf(dropout, row, c)) << width << ' ' << row << ' ' << c;
        ASSERT_EQ(narrow[c], static_cast<float>(wide[c])) << width << ' ' << row << ' ' << c;
      }
    }
  }
}

TEST(Dropout, APartOfAMicroBatchHasTheDecisionsOfItsRowsInTheWhole) {
  const Dropout whole{.seed = 7, .site = 2, .probability = 0.4};
  Dropout part = whole;
  part.first_row = 0xfffffffe;
  for (const std::uint64_t row : {0, 1, 2, 5})
    EXPECT_EQ(Factors<float>(part, row, 200), Factors<float>(whole, part.first_row + row, 200)) << row;
}

TEST(Dropout, DropsTheShareAskedFor) {
  for (const double probability : {0.01, 0.1, 0.5, 0.9}) {
    const Dropout dropout{.seed = 3, .site = 1, .probability = probability};
    double zeros = 0, sum = 0;
    for (std::uint64_t row = 0; row < 1000; ++row) {
      for (const float factor : Factors<float>(dropout, row, 1000)) {
        zeros += factor == 0;
        sum += factor;
      }
    }
    const double deviation = std::sqrt(probability * (1 - probability) / 1e6);
    EXPECT_NEAR(zeros / 1e6, probability, 4 * deviation + 1e-5) << probability;
    EXPECT_NEAR(sum / 1e6, 1, 4 * deviation / (1 - probability) + 1e-5) << probability;
  }
}

TEST(Dropout, SeedSiteRowAndColumnAllCount) {
  const Dropout first{.seed = 3, .site = 1, .probability = 0.5};
  const std::vector<float> base = Factors<float>(first, 0, 1000);
  // Of independent decisions half agree.
  const auto agreement = [&](const std::vector<float>& other) {
    double equal = 0;
    for (std::size_t c = 0; c < base.size(); ++c) equal += base[c] == other[c];
    return equal / static_cast<double>(base.size());
  };
  EXPECT_NEAR(agreement(Factors<float>({.seed = 4, .site = 1, .probability = 0.5}, 0, 1000)), 0.5, 0.08);
  EXPECT_NEAR(agreement(Factors<float>({.seed = 3 + (1ull << 32), .site = 1, .probability = 0.5}, 0, 1000)),
              0.5, 0.08);
  EXPECT_NEAR(agreement(Factors<float>({.seed = 3, .site = 2, .probability = 0.5}, 0, 1000)), 0.5, 0.08);
  EXPECT_NEAR(agreement(Factors<float>(first, 1, 1000)), 0.5, 0.08);
  EXPECT_NEAR(agreement(Factors<float>(first, 1ull << 32, 1000)), 0.5, 0.08);
  std::vector<float> shifted(base.begin() + 1, base.end());
  shifted.push_back(base[0]);
  EXPECT_NEAR(agreement(shifted), 0.5, 0.08);
}

TEST(Dropout, ProbabilitiesAtTheEndsAreRounded) {
  for (const float factor : Factors<float>({.seed = 1, .site = 1, .probability = 1e-7}, 0, 1000))
    EXPECT_EQ(factor, 1);
  for (const float factor : Factors<float>({.seed = 1, .site = 1, .probability = 1 - 1e-7}, 0, 1000)) {
    EXPECT_EQ(factor, 0);
  }
}

}  // namespace
}  // namespace inlier::kernels
