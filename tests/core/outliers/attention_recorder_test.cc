#include "core/outliers/attention_recorder.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

namespace inlier {
namespace {

const char kSite[] = "transformer.h.0.attn.probs";

// One sequence, one head.
at::Tensor Weights(std::vector<double> values) {
  const auto tokens = static_cast<std::int64_t>(std::sqrt(static_cast<double>(values.size())));
  return torch::tensor(values, torch::kDouble).view({1, 1, tokens, tokens});
}

TEST(AttentionRecorderTest, SharesByHand) {
  AttentionRecorder recorder(/*causal=*/true);
  const at::Tensor weights = Weights({1.0, 0.0, 0.0,    // Query 1.
                                      0.25, 0.5, 0.0,   // Attends to itself most.
                                      0.5, 0.5, 0.0});  // A tie counts; its own key is clipped away.
  EXPECT_TRUE(recorder.OnActivation(kSite, weights).is_same(weights));
  const AttentionShares shares = *recorder.Summary();
  EXPECT_DOUBLE_EQ(shares.first_share, 2.0 / 3);
  EXPECT_DOUBLE_EQ(*shares.first_share_without_query1, 0.5);
  EXPECT_DOUBLE_EQ(shares.first_key_mass, 1.75 / 3);
  EXPECT_DOUBLE_EQ(*shares.first_key_mass_without_query1, 0.375);
  EXPECT_DOUBLE_EQ(shares.first_key_mass_normalised, (1 + 1.0 / 3 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(shares.zero_share, 1.0 / 6) << "keys after the query are not visible";
  EXPECT_DOUBLE_EQ(shares.zero_row_share, 0);
}

TEST(AttentionRecorderTest, ARowOfZerosAttendsToNothing) {
  AttentionRecorder recorder(/*causal=*/false);
  recorder.OnActivation(kSite, Weights({0, 0, 0.5, 0.5}));
  const AttentionShares shares = *recorder.Summary();
  EXPECT_DOUBLE_EQ(shares.first_share, 0.5);
  EXPECT_DOUBLE_EQ(shares.first_key_mass_normalised, 0.25);
  EXPECT_DOUBLE_EQ(shares.zero_share, 0.5) << "every key is visible";
  EXPECT_DOUBLE_EQ(shares.zero_row_share, 0.5);
}

TEST(AttentionRecorderTest, OneTokenHasNoQueryButTheFirst) {
  AttentionRecorder recorder(/*causal=*/true);
  recorder.OnActivation(kSite, Weights({1}));
  const AttentionShares shares = *recorder.Summary();
  EXPECT_DOUBLE_EQ(shares.first_share, 1);
  EXPECT_FALSE(shares.first_share_without_query1);
  EXPECT_FALSE(shares.first_key_mass_without_query1);
  EXPECT_DOUBLE_EQ(shares.zero_share, 0);
}

TEST(AttentionRecorderTest, BatchesAndLayersAddUp) {
  torch::manual_seed(1);
  const at::Tensor weights = torch::randn({4, 3, 5, 5}, torch::kDouble).softmax(3);
  AttentionRecorder whole(false), parts(false);
  whole.OnActivation(kSite, weights);
  for (const auto& range : {std::pair(0, 3), std::pair(3, 4)}) {
    parts.OnActivation(kSite, weights.slice(0, range.first, range.second));
  }
  parts.OnActivation("transformer.h.1.attn.probs", weights);
  ASSERT_EQ(parts.Layers().size(), 2u);
  EXPECT_EQ(parts.Layers()[0].queries, 60);
  EXPECT_EQ(parts.Layers()[1].site, "transformer.h.1.attn.probs");
  EXPECT_NEAR(parts.Layers()[0].shares.first_key_mass, whole.Summary()->first_key_mass, 1e-12);
  EXPECT_NEAR(parts.Summary()->first_share, whole.Summary()->first_share, 1e-12);
  EXPECT_NEAR(*parts.Summary()->first_key_mass_without_query1,
              weights.slice(2, 1).select(3, 0).mean().item<double>(), 1e-12);
}

TEST(AttentionRecorderTest, GatesOfEveryShapeHaveAMean) {
  AttentionRecorder recorder(false);
  recorder.OnActivation("model.layers.0.self_attn.gate", torch::full({2, 3, 4, 1}, 0.25));
  recorder.OnActivation("model.layers.0.self_attn.gate", torch::full({6, 3, 4, 1}, 0.75));
  recorder.OnActivation("model.layers.1.self_attn.gate", torch::tensor({0.5, 1.0}));
  const std::vector<GateMean> gates = recorder.Gates();
  ASSERT_EQ(gates.size(), 2u);
  EXPECT_EQ(gates[0].site, "model.layers.0.self_attn.gate");
  EXPECT_DOUBLE_EQ(gates[0].mean, 0.625);
  EXPECT_DOUBLE_EQ(gates[1].mean, 0.75);
}

TEST(AttentionRecorderTest, OtherSitesAreNotRecorded) {
  AttentionRecorder recorder(false);
  for (const char* site :
       {"hidden.1", "model.layers.0.mlp.gate_proj", "x.attn_probs_act_quantizer", "probs"}) {
    recorder.OnActivation(site, torch::ones({2, 3}));
  }
  EXPECT_FALSE(recorder.Summary());
  EXPECT_TRUE(recorder.Layers().empty());
  EXPECT_TRUE(recorder.Gates().empty());
}

TEST(AttentionRecorderTest, ADivergedModelDoesNotLookHealthy) {
  AttentionRecorder recorder(true);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  recorder.OnActivation(kSite, Weights({1, 0, 0.5, nan}));
  recorder.OnActivation(kSite, Weights({1, 0, 0.5, 0.5}));
  recorder.OnActivation("x.gate", torch::tensor({nan, 1.0}));
  const AttentionShares shares = *recorder.Summary();
  EXPECT_TRUE(std::isnan(shares.first_share));
  EXPECT_TRUE(std::isnan(shares.first_key_mass));
  EXPECT_TRUE(std::isnan(shares.first_key_mass_normalised));
  EXPECT_TRUE(std::isnan(shares.zero_share));
  EXPECT_TRUE(std::isnan(shares.zero_row_share));
  EXPECT_TRUE(std::isnan(recorder.Gates()[0].mean));
}

}  // namespace
}  // namespace inlier
