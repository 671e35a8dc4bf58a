#include "core/outliers/token_outlier_recorder.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/outliers/token_metrics.h"

namespace inlier {
namespace {

constexpr auto kGpt2 = v1::ModelSpec::kGpt2;

TEST(TokenOutlierRecorderTest, TheFirstTokenIsMeasuredApart) {
  TokenOutlierRecorder recorder(kGpt2);
  at::Tensor x = torch::tensor({1., -1., 1., -1.}, torch::kDouble).repeat({2, 3, 1});
  x.select(1, 0).copy_(torch::tensor({0., 0., 8., 0.}, torch::kDouble));
  x[1][2][0] = 5;
  EXPECT_TRUE(recorder.OnActivation("hidden.1", x).is_same(x));
  const BlockTokenOutliers block = recorder.Blocks().at(0);
  EXPECT_EQ(block.site, "hidden.1");
  EXPECT_EQ(block.width, 4);
  EXPECT_NEAR(block.first.kurtosis, 2 + 1.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(block.first.norm_ratio, 1);
  EXPECT_DOUBLE_EQ(block.first.max_abs, 8);
  EXPECT_DOUBLE_EQ(block.rest->max_abs, 5);
  EXPECT_DOUBLE_EQ(block.first.mean_max_abs, 8);
  EXPECT_DOUBLE_EQ(block.rest->mean_max_abs, (1.0 + 5) / 2) << "of two sequences, with any number of tokens";
  EXPECT_NEAR(block.rest->kurtosis, TokenKurtosis(x).slice(1, 1).mean().item<double>(), 1e-12);
  EXPECT_NEAR(block.kurtosis, TokenKurtosis(x).mean().item<double>(), 1e-12);
}

TEST(TokenOutlierRecorderTest, BatchesOfUnequalSizeAddUp) {
  torch::manual_seed(1);
  const at::Tensor x = torch::randn({5, 6, 8}, torch::kDouble);
  TokenOutlierRecorder whole(kGpt2), parts(kGpt2);
  whole.OnActivation("hidden.3", x);
  parts.OnActivation("hidden.3", x.slice(0, 0, 4));
  parts.OnActivation("hidden.3", x.slice(0, 4));
  const BlockTokenOutliers a = whole.Blocks()[0], b = parts.Blocks()[0];
  EXPECT_NEAR(a.first.kurtosis, b.first.kurtosis, 1e-12);
  EXPECT_NEAR(a.rest->norm_ratio, b.rest->norm_ratio, 1e-12);
  EXPECT_EQ(a.rest->max_abs, b.rest->max_abs);
  EXPECT_NEAR(a.rest->mean_max_abs, b.rest->mean_max_abs, 1e-12);
  EXPECT_NEAR(a.six_sigma_count, b.six_sigma_count, 1e-12);
}

TEST(TokenOutlierRecorderTest, OneTokenHasNoRest) {
  TokenOutlierRecorder recorder(kGpt2);
  recorder.OnActivation("hidden.1", torch::randn({3, 1, 8}));
  EXPECT_FALSE(recorder.Blocks()[0].rest);
  const TokenOutlierSummary summary = *recorder.Summary();
  EXPECT_FALSE(summary.rest);
  EXPECT_DOUBLE_EQ(summary.kurtosis, summary.first.kurtosis);
}

TEST(TokenOutlierRecorderTest, ASummaryIsAMeanOverBlocksInTheirOrder) {
  TokenOutlierRecorder recorder(kGpt2);
  for (const char* site : {"hidden.2", "hidden.10", "hidden.1"}) {
    recorder.OnActivation(site, torch::randn({2, 4, 8}, torch::kDouble));
  }
  const std::vector<BlockTokenOutliers> blocks = recorder.Blocks();
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].site, "hidden.1");
  EXPECT_EQ(blocks[2].site, "hidden.10");
  double kurtosis = 0;
  for (const BlockTokenOutliers& block : blocks) kurtosis += block.first.kurtosis / 3;
  EXPECT_NEAR(recorder.Summary()->first.kurtosis, kurtosis, 1e-12);
  EXPECT_NEAR(*recorder.Summary()->first.over_ceiling, kurtosis / 6, 1e-12);
  EXPECT_TRUE(recorder.Summary()->first.pearson.has_value());
}

TEST(TokenOutlierRecorderTest, ACorrelationNeedsThreeBlocksThatVary) {
  TokenOutlierRecorder two(kGpt2), same(kGpt2), none(kGpt2);
  for (const char* site : {"hidden.1", "hidden.2"}) two.OnActivation(site, torch::randn({2, 4, 8}));
  EXPECT_FALSE(two.Summary()->first.pearson);
  const at::Tensor x = torch::randn({2, 4, 8});
  for (const char* site : {"hidden.1", "hidden.2", "hidden.3"}) same.OnActivation(site, x);
  EXPECT_FALSE(same.Summary()->first.pearson);
  EXPECT_FALSE(none.Summary());
}

TEST(TokenOutlierRecorderTest, BlocksAreFoundInEveryArchitecture) {
  const at::Tensor x = torch::randn({1, 2, 4});
  TokenOutlierRecorder opt(v1::ModelSpec::kOpt), bert(v1::ModelSpec::kBert);
  for (const char* site : {"hidden.0", "hidden.1", "hidden.x", "model.decoder.layers.0",
                           "model.decoder.layers.0.fc2", "bert.encoder.layer.0.output.LayerNorm"}) {
    opt.OnActivation(site, x);
    bert.OnActivation(site, x);
  }
  ASSERT_EQ(opt.Blocks().size(), 1u);
  EXPECT_EQ(opt.Blocks()[0].site, "model.decoder.layers.0");
  ASSERT_EQ(bert.Blocks().size(), 1u);
  EXPECT_EQ(bert.Blocks()[0].site, "hidden.1");
}

TEST(TokenOutlierRecorderTest, ElementsBeyondSixSigmaAreCountedBySequence) {
  TokenOutlierRecorder recorder(kGpt2);
  at::Tensor x = torch::zeros({2, 50, 20});
  x[0][7][3] = 100;
  recorder.OnActivation("hidden.1", x);
  EXPECT_DOUBLE_EQ(recorder.Blocks()[0].six_sigma_count, 0.5);
}

TEST(TokenOutlierRecorderTest, MassiveActivationsAreCountedByBlockAndTheSummaryIsTheLargest) {
  TokenOutlierRecorder recorder(kGpt2);
  at::Tensor x = torch::full({2, 5, 4}, 0.1);
  x[0][2][3] = -150;  // More than 100, and than 1000 * 0.1.
  x[1][0][0] = 99;
  recorder.OnActivation("hidden.1", x);
  recorder.OnActivation("hidden.2", torch::full({2, 5, 4}, 0.1));
  EXPECT_DOUBLE_EQ(recorder.Blocks()[0].massive_count, 0.5);
  EXPECT_DOUBLE_EQ(recorder.Blocks()[1].massive_count, 0);
  EXPECT_DOUBLE_EQ(recorder.Summary()->massive_count, 0.5);
  x[1][1][1] = std::numeric_limits<float>::quiet_NaN();
  recorder.OnActivation("hidden.2", x);
  EXPECT_TRUE(std::isnan(recorder.Summary()->massive_count));
}

// Two sequences, the second of one real token behind padding, against the tokens one by one.
TEST(TokenOutlierRecorderTest, PaddingIsNoToken) {
  torch::manual_seed(1);
  const at::Tensor x = 100 * torch::randn({2, 4, 8}, torch::kDouble).pow(3);
  TokenOutlierRecorder recorder(kGpt2), counting(kGpt2, /*count_padding=*/true), untold(kGpt2);
  for (TokenOutlierRecorder* each : {&recorder, &counting})
    each->OnPass(torch::tensor({{1, 1, 1, 0}, {0, 0, 1, 0}}));
  for (TokenOutlierRecorder* each : {&recorder, &counting, &untold}) each->OnActivation("hidden.1", x);
  const BlockTokenOutliers block = recorder.Blocks()[0], old = counting.Blocks()[0];
  const at::Tensor k = TokenKurtosis(x), ratio = TokenNormRatio(x), largest = x.abs().amax(2);
  const auto at = [](const at::Tensor& t, int row, int token) { return t[row][token].item<double>(); };
  EXPECT_NEAR(block.first.kurtosis, (at(k, 0, 0) + at(k, 1, 2)) / 2, 1e-12);
  EXPECT_NEAR(block.rest->kurtosis, (at(k, 0, 1) + at(k, 0, 2)) / 2, 1e-12);
  EXPECT_NEAR(block.kurtosis, (at(k, 0, 0) + at(k, 0, 1) + at(k, 0, 2) + at(k, 1, 2)) / 4, 1e-12);
  EXPECT_NEAR(block.rest->norm_ratio, (at(ratio, 0, 1) + at(ratio, 0, 2)) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(block.first.max_abs, std::max(at(largest, 0, 0), at(largest, 1, 2)));
  EXPECT_DOUBLE_EQ(block.rest->max_abs, std::max(at(largest, 0, 1), at(largest, 0, 2)));
  EXPECT_NEAR(block.first.mean_max_abs, (at(largest, 0, 0) + at(largest, 1, 2)) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(block.rest->mean_max_abs, block.rest->max_abs) << "the second sequence has no later token";
  EXPECT_EQ(old.kurtosis, untold.Blocks()[0].kurtosis);
  EXPECT_EQ(old.rest->max_abs, untold.Blocks()[0].rest->max_abs);
  EXPECT_NE(old.kurtosis, block.kurtosis);
}

TEST(TokenOutlierRecorderTest, ADivergedModelDoesNotLookHealthy) {
  TokenOutlierRecorder recorder(kGpt2);
  at::Tensor x = torch::randn({2, 4, 8});
  recorder.OnActivation("hidden.1", x);
  recorder.OnActivation("hidden.2", x);
  x = x.clone();
  x[1][2][3] = std::numeric_limits<float>::quiet_NaN();
  recorder.OnActivation("hidden.2", x);
  recorder.OnActivation("hidden.2", torch::randn({2, 4, 8}));
  const BlockTokenOutliers block = recorder.Blocks()[1];
  EXPECT_FALSE(std::isnan(block.first.kurtosis));
  EXPECT_TRUE(std::isnan(block.rest->kurtosis));
  EXPECT_TRUE(std::isnan(block.rest->norm_ratio));
  EXPECT_TRUE(std::isnan(block.rest->max_abs));
  EXPECT_TRUE(std::isnan(block.rest->mean_max_abs));
  EXPECT_TRUE(std::isnan(block.six_sigma_count));
  EXPECT_TRUE(std::isnan(recorder.Summary()->rest->max_abs));
  EXPECT_TRUE(std::isnan(recorder.Summary()->kurtosis));
  EXPECT_FALSE(std::isnan(recorder.Blocks()[0].rest->kurtosis));
}

}  // namespace
}  // namespace inlier
