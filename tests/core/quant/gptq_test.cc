#include "core/quant/gptq.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>
#include <string>
#include <vector>

#include "core/quant/slice_grid.h"

namespace inlier {
namespace {

constexpr double kLittleDamping = 1e-9;

at::Tensor RoundToWhole(const at::Tensor& column, std::int64_t) { return column.round(); }

// Rounds on the 4-bit grid of each row of `weight`.
auto OnRows(const at::Tensor& weight) {
  SliceGrid grid = AbsmaxGrid(weight, 4, {-1});
  grid.scale = grid.scale.squeeze(-1);
  return [grid](const at::Tensor& column, std::int64_t) { return RoundToGrid(column, grid); };
}

at::Tensor ToNearest(const at::Tensor& weight) { return RoundToGrid(weight, AbsmaxGrid(weight, 4, {-1})); }

double Loss(const at::Tensor& weight, const at::Tensor& rounded, const at::Tensor& moments) {
  const at::Tensor error = (weight - rounded).to(torch::kDouble);
  return (error.matmul(moments) * error).sum().item<double>();
}

// Tokens whose features follow a few common ones.
at::Tensor CorrelatedInput(std::int64_t tokens, std::int64_t features) {
  return torch::randn({tokens, 8}).matmul(torch::randn({8, features})) +
         0.3 * torch::randn({tokens, features});
}

at::Tensor MomentsOf(const at::Tensor& x) {
  InputMoments moments;
  moments.Add(x, {});
  return moments.matrix();
}

TEST(InputMomentsTest, BatchesAddUpToTwiceTheMeanProduct) {
  torch::manual_seed(1);
  InputMoments moments;
  EXPECT_FALSE(moments.matrix().defined());
  const at::Tensor x = torch::randn({7, 3, 5});
  moments.Add(x.slice(0, 0, 2), {});
  moments.Add(x.slice(0, 2, 7).reshape({-1, 5}), {});
  EXPECT_EQ(moments.count(), 21);
  EXPECT_EQ(moments.matrix().scalar_type(), torch::kDouble);
  const at::Tensor rows = x.reshape({21, 5}).to(torch::kDouble);
  EXPECT_TRUE(torch::allclose(moments.matrix(), rows.t().matmul(rows) * 2 / 21, 1e-12, 1e-14));
}

TEST(InputMomentsTest, PaddingIsLeftOut) {
  torch::manual_seed(2);
  at::Tensor x = torch::randn({2, 3, 4});
  const at::Tensor mask = torch::tensor({{1, 1, 0}, {0, 1, 1}});
  const at::Tensor real = x.reshape({6, 4}).index_select(0, torch::tensor({0, 1, 4, 5}));
  x[0][2] = std::numeric_limits<float>::quiet_NaN();
  x[1][0] = 1e6;
  for (const at::Tensor& shaped : {x, x.reshape({6, 4})}) {
    InputMoments moments;
    moments.Add(shaped, mask);
    moments.Add(shaped, torch::zeros_like(mask));
    EXPECT_EQ(moments.count(), 4);
    EXPECT_TRUE(torch::allclose(moments.matrix(), MomentsOf(real), 1e-12, 1e-14));
  }
  // Not a row a token: none is padding.
  InputMoments firsts;
  firsts.Add(x.select(1, 1), mask);
  EXPECT_EQ(firsts.count(), 2);
}

TEST(InputMomentsTest, TheMeanMagnitudeIsOfAllBatches) {
  torch::manual_seed(3);
  InputMoments moments;
  const at::Tensor x = torch::randn({7, 3, 5});
  moments.Add(x.slice(0, 0, 2), {});
  moments.Add(x.slice(0, 2, 7), torch::ones({5, 3}));
  EXPECT_TRUE(
      torch::allclose(moments.mean_magnitude(), x.to(torch::kDouble).abs().mean({0, 1}), 1e-14, 1e-14));
}

TEST(GptqTest, TwoChannelsByHand) {
  const at::Tensor weight = torch::tensor({{0.4f, 0.4f}, {-0.3f, 0.45f}});
  const at::Tensor moments = torch::tensor({{1.0, 0.9}, {0.9, 2.0}}, torch::kDouble);
  // Channel 0 first: 0.4 + 0.4 * 0.9 / 2 = 0.58 and 0.45 - 0.3 * 0.45 = 0.315.
  const auto in_order =
      GptqRound(weight, moments, {.damping = kLittleDamping, .by_size = false}, RoundToWhole).value();
  EXPECT_TRUE(torch::equal(in_order, torch::tensor({{0.f, 1.f}, {0.f, 0.f}}))) << in_order;
  // Channel 1 first: 0.4 + 0.4 * 0.9 = 0.76 and -0.3 + 0.45 * 0.9 = 0.105.
  const auto by_size = GptqRound(weight, moments, {.damping = kLittleDamping, .by_size = true}, RoundToWhole);
  ASSERT_TRUE(by_size.ok()) << by_size.status();
  EXPECT_TRUE(torch::equal(*by_size, torch::tensor({{1.f, 0.f}, {0.f, 0.f}}))) << *by_size;
  // Damping of three times the mean, 4.5: 0.4 + 0.4 * 0.9 / 6.5 = 0.455.
  const auto damped = GptqRound(weight, moments, {.damping = 3, .by_size = false}, RoundToWhole).value();
  EXPECT_TRUE(torch::equal(damped, torch::zeros({2, 2}))) << damped;
}

TEST(GptqTest, TheLossIsFarBelowThatOfTheNearest) {
  for (const int seed : {1, 2, 3}) {
    torch::manual_seed(seed);
    const at::Tensor weight = torch::randn({24, 150}), moments = MomentsOf(CorrelatedInput(600, 150));
    const double nearest = Loss(weight, ToNearest(weight), moments);
    for (const bool by_size : {false, true}) {
      const auto rounded = GptqRound(weight, moments, {.damping = 0.01, .by_size = by_size}, OnRows(weight));
      ASSERT_TRUE(rounded.ok()) << rounded.status();
      EXPECT_LT(Loss(weight, *rounded, moments), 0.3 * nearest) << seed << by_size;
    }
  }
}

TEST(GptqTest, WithoutCorrelationEachChannelGoesToTheNearest) {
  torch::manual_seed(4);
  const at::Tensor weight = torch::randn({24, 150}, torch::kDouble);
  const at::Tensor moments = torch::rand({150}, torch::kDouble).add(0.1).diag();
  for (const bool by_size : {false, true}) {
    const auto rounded = GptqRound(weight, moments, {.damping = 0.01, .by_size = by_size}, OnRows(weight));
    ASSERT_TRUE(rounded.ok()) << rounded.status();
    EXPECT_TRUE(torch::equal(*rounded, ToNearest(weight)));
  }
}

TEST(GptqTest, ADeadChannelIsZeroAndMovesNoOther) {
  torch::manual_seed(5);
  at::Tensor x = CorrelatedInput(200, 20);
  const at::Tensor alive = torch::cat({torch::arange(0, 6), torch::arange(7, 20)}),
                   weight = torch::randn({8, 20}) * 4;
  const at::Tensor expected_moments = MomentsOf(x.index_select(1, alive));
  x.select(1, 6).zero_();
  for (const bool by_size : {false, true}) {
    const GptqOptions options = {.damping = kLittleDamping, .by_size = by_size};
    const auto rounded = GptqRound(weight, MomentsOf(x), options, RoundToWhole).value();
    EXPECT_TRUE(torch::equal(rounded.select(1, 6), torch::zeros({8})));
    const auto expected = GptqRound(weight.index_select(1, alive), expected_moments, options, RoundToWhole);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_TRUE(torch::equal(rounded.index_select(1, alive), *expected));
    // On a grid without 0 it is the grid's number for 0.
    const auto halves = GptqRound(weight, MomentsOf(x), options, [](const at::Tensor& column, std::int64_t) {
      return column.floor().add(0.5);
    });
    ASSERT_TRUE(halves.ok()) << halves.status();
    EXPECT_TRUE(torch::equal(halves->select(1, 6), torch::full({8}, 0.5f)));
  }
}

TEST(GptqTest, ChannelsAreTakenInOrderOrBySize) {
  const at::Tensor moments = torch::tensor({2.0, 5.0, 0.5, 5.0, 3.0}, torch::kDouble).diag();
  const at::Tensor weight = torch::arange(5, torch::kFloat).unsqueeze(0) * 10, copy = weight.clone();
  for (const bool by_size : {false, true}) {
    std::vector<std::int64_t> taken;
    const auto round = [&](const at::Tensor& column, std::int64_t index) {
      EXPECT_EQ(column.scalar_type(), torch::kDouble);
      EXPECT_TRUE(torch::equal(column, weight.select(1, index).to(torch::kDouble)));
      taken.push_back(index);
      return column + static_cast<double>(index);
    };
    const auto rounded = GptqRound(weight, moments, {.damping = 0.01, .by_size = by_size}, round).value();
    EXPECT_EQ(taken, by_size ? (std::vector<std::int64_t>{1, 3, 4, 0, 2})
                             : (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
    EXPECT_TRUE(torch::equal(rounded, torch::tensor({{0.f, 11.f, 22.f, 33.f, 44.f}})))
        << "each back in its place";
    EXPECT_TRUE(rounded.is_contiguous());
  }
  EXPECT_TRUE(torch::equal(weight, copy));
}

TEST(GptqTest, TheErrorOfTheResultsDtypeIsCorrected) {
  // 0.7 becomes 0.69921875 in bfloat16, the number that the model computes with.
  const at::Tensor weight = torch::tensor({{0.75f, 100.f}}).to(torch::kBFloat16);
  const at::Tensor moments = torch::tensor({{1.0, 0.5}, {0.5, 1.0}}, torch::kDouble);
  double second = 0;
  const auto round = [&](const at::Tensor& column, std::int64_t index) {
    if (index == 1) second = column.item<double>();
    return index == 0 ? torch::full({1}, 0.7, torch::kDouble) : column;
  };
  const auto rounded = GptqRound(weight, moments, {.damping = kLittleDamping, .by_size = false}, round);
  ASSERT_TRUE(rounded.ok()) << rounded.status();
  EXPECT_EQ(rounded->scalar_type(), torch::kBFloat16);
  EXPECT_NEAR(second, 100 + 0.5 * (0.75 - 0.69921875), 1e-8);
}

std::string ErrorOf(const at::Tensor& moments, double damping) {
  const auto rounded =
      GptqRound(torch::ones({1, 2}), moments, {.damping = damping, .by_size = false}, RoundToWhole);
  EXPECT_EQ(rounded.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(rounded.status().message());
}

TEST(GptqTest, MomentsThatCannotBeFactoredAreRefused) {
  const at::Tensor indefinite = torch::tensor({{1.0, 2.0}, {2.0, 1.0}}, torch::kDouble);
  EXPECT_NE(ErrorOf(indefinite, 0.5).find("quantization.gptq.damping: with 0.5"), std::string::npos);
  EXPECT_TRUE(
      GptqRound(torch::ones({1, 2}), indefinite, {.damping = 1.5, .by_size = false}, RoundToWhole).ok());
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    at::Tensor moments = torch::eye(2, torch::kDouble);
    moments[0][1] = bad;
    moments[1][0] = bad;
    EXPECT_NE(ErrorOf(moments, 0.01).find("not finite"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace inlier
