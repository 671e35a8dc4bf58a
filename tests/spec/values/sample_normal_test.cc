#include "spec/values/sample_normal.h"

#include <cmath>
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/sampling.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

v1::AxisNormal NormalFrom(const std::string& yaml) {
  return ReadYaml<v1::AxisNormal>(yaml, "n.yaml").value();
}

SampleNormal Normal(const std::string& yaml, bool whole = false) {
  return SampleNormal(NormalFrom(yaml), whole);
}

SamplePlan SobolPlan(std::uint32_t trials) {
  v1::SamplingSpec spec;
  spec.mutable_sobol()->set_trials(trials);
  return SamplePlan(spec);
}

constexpr UnitNumber kHalf{1ull << 52}, kLowest{0}, kHighest{(1ull << 53) - 1};

UnitNumber Draw(double probability) { return {static_cast<std::uint64_t>(std::ldexp(probability, 53))}; }

// Above a standard normal z.
double Above(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

// Between two of them, without the difference of two numbers near 1.
double Between(double low, double high) {
  return low > 0 ? Above(low) - Above(high) : Above(-high) - Above(-low);
}

TEST(SampleNormalTest, QuantilesAreThoseOfTheDistribution) {
  const SampleNormal normal = Normal("{mean: 10, std: 2, digits: 12}");
  EXPECT_NEAR(normal.At(kHalf), 10, 1e-10);
  EXPECT_NEAR(normal.At(Draw(0.975)), 10 + 2 * 1.9599639845400545, 1e-10);
  EXPECT_NEAR(normal.At(Draw(0.1)), 10 - 2 * 1.2815515655446004, 1e-10);
  const SampleNormal log = Normal("{mean: -7, std: 1.5, log: true, digits: 12}");
  EXPECT_NEAR(log.At(kHalf) / std::exp(-7), 1, 1e-11);
  EXPECT_NEAR(log.At(Draw(0.9)) / std::exp(-7 + 1.5 * 1.2815515655446004), 1, 1e-11);
}

TEST(SampleNormalTest, BothSidesMirrorEachOther) {
  const SampleNormal normal = Normal("{mean: 0, std: 1, digits: 15}");
  for (const std::uint64_t n : {0ull, 1ull, 12345ull, 1ull << 40, (1ull << 52) - 1})
    EXPECT_EQ(normal.At({n}), -normal.At({(1ull << 53) - 1 - n})) << n;
  EXPECT_GT(normal.At(kLowest), -8.4);
  EXPECT_LT(normal.At(kLowest), -8.1);
}

// With limits, of the part between them: also far out on one side, where probabilities are small differences.
TEST(SampleNormalTest, LimitsTakeTheQuantilesBetweenThem) {
  for (const auto& [low, high] :
       {std::pair(-1.0, 2.0), std::pair(1.0, 1.5), std::pair(5.0, 6.0), std::pair(-6.0, -5.0)}) {
    v1::AxisNormal spec = NormalFrom("{mean: 0, std: 1, digits: 15}");
    spec.set_min(low);
    spec.set_max(high);
    const SampleNormal normal(spec, false);
    for (const double p : {0.001, 0.25, 0.5, 0.9, 0.999}) {
      const double z = normal.At(Draw(p));
      EXPECT_NEAR(Between(low, z) / Between(low, high), p, 1e-10) << low << " " << p;
    }
    EXPECT_NEAR(normal.At(kLowest), low, 1e-12);
    EXPECT_NEAR(normal.At(kHighest), high, 1e-12);
  }
  const SampleNormal above = Normal("{mean: 0, std: 1, min: 0, digits: 15}");
  EXPECT_NEAR(above.At(kHalf), 0.6744897501960817, 1e-12);
  const SampleNormal below = Normal("{mean: -7, std: 1, log: true, max: 1e-3, digits: 15}");
  EXPECT_NEAR(Above(-(std::log(below.At(kHalf)) + 7)) / Above(-(std::log(1e-3) + 7)), 0.5, 1e-10);
  EXPECT_LE(below.At(kHighest), 1e-3);
}

// Sobol's points stay one to one: one in each of equally probable intervals.
TEST(SampleNormalTest, EveryIntervalHasOneSobolPoint) {
  const SamplePlan plan = SobolPlan(256);
  for (const char* yaml :
       {"{mean: 3, std: 2, digits: 15}", "{mean: 3, std: 2, min: 2, max: 9, digits: 15}"}) {
    const v1::AxisNormal spec = NormalFrom(yaml);
    const SampleNormal normal(spec, false);
    const double low = spec.has_min() ? Above((3 - spec.min()) / 2) : 0;
    const double high = spec.has_max() ? Above((3 - spec.max()) / 2) : 1;
    std::set<int> intervals;
    for (std::uint32_t sample = 0; sample < 256; ++sample) {
      const double below = Above((3 - normal.At(plan.Draw(sample, 4))) / 2);
      intervals.insert(static_cast<int>(256 * (below - low) / (high - low)));
    }
    EXPECT_EQ(intervals.size(), 256u) << yaml;
    EXPECT_EQ(*intervals.begin(), 0);
    EXPECT_EQ(*intervals.rbegin(), 255);
  }
}

TEST(SampleNormalTest, NumbersAreRoundedToTheirDigits) {
  EXPECT_EQ(Normal("{mean: 0.123456789, std: 0.01}").At(kHalf), 0.1235);
  EXPECT_EQ(Normal("{mean: 0.123456789, std: 0.01, digits: 2}").At(kHalf), 0.12);
  // Rounding never leaves the limits.
  const SampleNormal limited = Normal("{mean: 0.12345, std: 1, min: 0.12344, max: 0.12346, digits: 2}");
  for (const UnitNumber draw : {kLowest, kHalf, kHighest}) {
    EXPECT_GE(limited.At(draw), 0.12344);
    EXPECT_LE(limited.At(draw), 0.12346);
  }
}

// Each whole number has the probability of what is rounded to it, those at the limits too.
TEST(SampleNormalTest, WholeNumbersAreRounded) {
  const SampleNormal normal = Normal("{mean: 5, std: 2, min: 3, max: 8}", true);
  const SamplePlan plan = SobolPlan(4096);
  std::map<double, int> counts;
  for (std::uint32_t sample = 0; sample < 4096; ++sample) ++counts[normal.At(plan.Draw(sample, 0))];
  ASSERT_EQ(counts.size(), 6u);
  const double whole = Above((2.5 - 5) / 2) - Above((8.5 - 5) / 2);
  for (const auto& [value, count] : counts) {
    EXPECT_EQ(value, std::trunc(value));
    EXPECT_NEAR(count, 4096 * (Above((value - 0.5 - 5) / 2) - Above((value + 0.5 - 5) / 2)) / whole, 2)
        << value;
  }
}

TEST(SampleNormalTest, TheTextSaysAll) {
  EXPECT_EQ(Normal("{mean: -7, std: 1.5, log: true, max: 0.1}").ToString(),
            "normal, mean -7, std 1.5, log, at most 0.1");
  EXPECT_EQ(Normal("{mean: 64, std: 16, min: 1, max: 128}", true).ToString(),
            "normal, mean 64, std 16, whole, at least 1, at most 128");
}

TEST(SampleNormalTest, MistakesAreToldWithARemedy) {
  const auto problem = [](const std::string& yaml, bool whole = false) {
    v1::AxisNormal spec;
    EXPECT_TRUE(ReadYamlText(yaml, "n.yaml", &spec).ok()) << yaml;
    return SampleNormal::FormProblem(spec, whole);
  };
  EXPECT_EQ(problem("{mean: 0, std: 1}"), "");
  EXPECT_THAT(problem("{mean: 0}"), HasSubstr("needs mean and std; write {mean: 0.1, std: 0.02}"));
  EXPECT_THAT(problem("{mean: 0, std: 1, min: 2, max: 1}"),
              HasSubstr("min 2 is not below max 1; exchange them"));
  EXPECT_THAT(problem("{mean: 0, std: 1, log: true, min: 0}"),
              HasSubstr("log has numbers above 0 only; raise the limit"));
  EXPECT_THAT(problem("{mean: 5, std: 1, min: 0.5}", true),
              HasSubstr("takes whole numbers; give whole limits"));
  EXPECT_THAT(problem("{mean: 5, std: 1, digits: 2}", true),
              HasSubstr("digits is for fields that are not of whole"));
  EXPECT_THAT(problem("{mean: 0, std: 1, min: 7}"),
              HasSubstr("next to nothing lies within min and max; move them"));
  EXPECT_THAT(problem("{mean: 1e-3, std: 0.5, log: true, max: 1e-2}"),
              HasSubstr("which with log is that of the natural logarithms"));
  v1::AxisNormal bad = NormalFrom("{mean: 0, std: 1}");
  bad.set_std(0);
  EXPECT_THAT(SampleNormal::FormProblem(bad, false), HasSubstr("std is not above 0"));
  bad.set_std(INFINITY);
  EXPECT_THAT(SampleNormal::FormProblem(bad, false), HasSubstr("not finite"));
}

}  // namespace
}  // namespace inlier
