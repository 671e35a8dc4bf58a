#include "core/quant/awq.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/quant/slice_grid.h"

namespace inlier {
namespace {

at::Tensor OnThreeBits(const at::Tensor& weight) { return RoundToGrid(weight, AbsmaxGrid(weight, 3, {-1})); }

WeightRounding OnGroups(std::int64_t size) {
  return [size](const at::Tensor& weight) {
    const SliceGrid grid = ZeropointGroupGrid(weight, 3, size);
    return RoundToGrid(weight, ExpandGroups(grid, size, weight.size(1)));
  };
}

// Tokens whose features differ in size.
at::Tensor UnequalInput(std::int64_t tokens, std::int64_t features) {
  return torch::randn({tokens, features}, torch::kDouble)
      .mul_(torch::randn({features}, torch::kDouble).exp_());
}

InputMoments AwqMomentsOf(const at::Tensor& x) {
  InputMoments moments;
  moments.Add(x, {});
  return moments;
}

double OutputChange(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& used) {
  return x.matmul((weight - used).t()).square().sum().item<double>();
}

// The outputs themselves, of both linears together, choose the same exponent as the moments.
TEST(AwqTest, TheFactorsAreThoseOfLeastChangeOfTheOutputs) {
  for (const int seed : {1, 2, 3, 4}) {
    torch::manual_seed(seed);
    const at::Tensor x = UnequalInput(60, 12), query = torch::randn({9, 12}, torch::kDouble),
                     key = torch::randn({4, 12}, torch::kDouble);
    double least = 1e300;
    at::Tensor expected;
    for (int i = 0; i < 8; ++i) {
      at::Tensor s = x.abs().mean(0).pow(i / 8.0);
      s = s / std::sqrt(s.max().item<double>() * s.min().item<double>());
      const double change =
          OutputChange(x, query, OnThreeBits(query * s) / s) + OutputChange(x, key, OnThreeBits(key * s) / s);
      if (change >= least) continue;
      least = change;
      expected = s;
    }
    const auto factors = AwqFactors(AwqMomentsOf(x), {query, key}, 8, OnThreeBits);
    ASSERT_TRUE(factors.ok()) << factors.status();
    EXPECT_TRUE(torch::allclose(*factors, expected, 1e-12, 0)) << seed;
  }
}

TEST(AwqTest, AFeatureThatIsNeverThereHasTheSmallestFactor) {
  torch::manual_seed(5);
  at::Tensor x = UnequalInput(60, 6);
  x.select(1, 2).zero_();
  x.select(1, 4).mul_(1000);
  const at::Tensor weight = torch::randn({4, 6}, torch::kDouble);
  const auto exact = [](const at::Tensor& w) { return w; };
  const auto first = AwqFactors(AwqMomentsOf(x), {weight}, 20, exact);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->isfinite().all().item<bool>());
  const auto factors = AwqFactors(AwqMomentsOf(x), {weight}, 20, OnThreeBits);
  ASSERT_TRUE(factors.ok()) << factors.status();
  EXPECT_EQ(factors->argmin().item<std::int64_t>(), 2);
  EXPECT_EQ(factors->argmax().item<std::int64_t>(), 4);
  EXPECT_NEAR(factors->min().item<double>() * factors->max().item<double>(), 1, 1e-12);
}

TEST(AwqTest, WhatIsNotFiniteIsRefused) {
  const at::Tensor weight = torch::ones({2, 3});
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    at::Tensor x = torch::ones({4, 3});
    x[1][1] = bad;
    const auto factors = AwqFactors(AwqMomentsOf(x), {weight}, 20, OnThreeBits);
    EXPECT_EQ(factors.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(factors.status().message()).find("quantization.awq: "), 0u);
  }
}

// Each limit against the change of the outputs themselves.
TEST(AwqTest, EachGroupIsCutWhereItsShareOfTheOutputChangesLeast) {
  torch::manual_seed(6);
  const std::int64_t size = 5, columns = 12;  // The last group has two.
  const at::Tensor x = UnequalInput(40, columns), weight = torch::randn({6, columns}, torch::kDouble);
  const at::Tensor clipped = AwqClipped(weight, AwqMomentsOf(x).matrix(), size, 20, OnGroups(size));
  int narrowed = 0;
  for (std::int64_t begin = 0; begin < columns; begin += size) {
    const at::Tensor of_x = x.slice(1, begin, begin + size);
    for (std::int64_t row = 0; row < weight.size(0); ++row) {
      const at::Tensor group = weight.slice(0, row, row + 1).slice(1, begin, begin + size);
      double least = 1e300;
      at::Tensor expected;
      for (int i = 0; i < 10; ++i) {
        const double limit = group.abs().max().item<double>() * (1 - i / 20.0);
        const at::Tensor cut = group.clamp(-limit, limit);
        const double change = OutputChange(of_x, group, OnGroups(size)(cut));
        if (change >= least) continue;
        least = change;
        expected = cut;
        if (i > 0) ++narrowed;
      }
      EXPECT_TRUE(torch::equal(clipped.slice(0, row, row + 1).slice(1, begin, begin + size), expected))
          << row << begin;
    }
  }
  EXPECT_GT(narrowed, 3);
}

TEST(AwqTest, WithOneStepNothingIsCut) {
  torch::manual_seed(7);
  const at::Tensor weight = torch::randn({6, 12});
  const at::Tensor moments = AwqMomentsOf(UnequalInput(40, 12)).matrix();
  for (const int grid : {1, 2, 3})
    EXPECT_TRUE(torch::equal(AwqClipped(weight, moments, 12, grid, OnThreeBits), weight)) << grid;
}

}  // namespace
}  // namespace inlier
