#include "core/outliers/activation_recorder.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/models/sites.h"
#include "core/outliers/outlier_metrics.h"

namespace inlier {
namespace {

constexpr auto kBert = v1::ModelSpec::kBert;
constexpr auto kOpt = v1::ModelSpec::kOpt;

at::Tensor BatchWith(double largest, int rows = 2) {
  at::Tensor x = torch::zeros({rows, 3, 4});
  x.select(2, 0).fill_(largest);
  return x;
}

void ShowBertLayer(ActivationRecorder& recorder, int layer, double ffn, double residual, double output) {
  const std::string prefix = "bert.encoder.layer." + std::to_string(layer) + ".output.";
  recorder.OnActivation(prefix + "dense", BatchWith(ffn));
  recorder.OnActivation(prefix + "LayerNorm.input", BatchWith(residual));
  recorder.OnActivation(prefix + "LayerNorm", BatchWith(output));
}

TEST(ActivationRecorderTest, BertSummaryTakesTheLargestMeanOfEachKind) {
  ActivationRecorder recorder(kBert, {.kurtosis_batches = 257});
  ShowBertLayer(recorder, 0, 5, 20, 3);
  ShowBertLayer(recorder, 1, 7, 9, 2);
  const OutlierSummary summary = recorder.Summary();
  EXPECT_DOUBLE_EQ(summary.max_inf_norm, 7);
  EXPECT_DOUBLE_EQ(summary.max_ffn_inf_norm, 7);
  EXPECT_DOUBLE_EQ(summary.max_layer_inf_norm, 3);
  EXPECT_DOUBLE_EQ(*summary.max_residual_inf_norm, 20);
  EXPECT_DOUBLE_EQ(summary.max_any_inf_norm, 20);
}

TEST(ActivationRecorderTest, OptSummaryPrintsTheLayerOutputAndHasNoResidual) {
  ActivationRecorder recorder(kOpt, {.kurtosis_batches = 101});
  const std::string layer = "model.decoder.layers.0";
  recorder.OnActivation(layer + ".self_attn.out_proj", BatchWith(50));
  recorder.OnActivation(layer + ".fc2", BatchWith(4));
  recorder.OnActivation(layer, BatchWith(9));
  const OutlierSummary summary = recorder.Summary();
  EXPECT_DOUBLE_EQ(summary.max_inf_norm, 9);
  EXPECT_DOUBLE_EQ(summary.max_ffn_inf_norm, 4);
  EXPECT_DOUBLE_EQ(summary.max_layer_inf_norm, 9);
  EXPECT_DOUBLE_EQ(summary.max_any_inf_norm, 50);
  EXPECT_FALSE(summary.max_residual_inf_norm);
}

TEST(ActivationRecorderTest, AMeanIsOverRowsNotOverBatches) {
  ActivationRecorder recorder(kOpt, {.kurtosis_batches = 101});
  recorder.OnActivation("model.decoder.layers.0", BatchWith(1, 4));
  recorder.OnActivation("model.decoder.layers.0", BatchWith(11, 1));
  EXPECT_DOUBLE_EQ(recorder.Sites()[0].inf_norm, 3);
}

TEST(ActivationRecorderTest, KurtosisStopsAfterItsBatchesAndTheInfNormDoesNot) {
  ActivationRecorder recorder(kOpt, {.kurtosis_batches = 2});
  torch::manual_seed(1);
  const at::Tensor first = torch::randn({2, 5, 6}, torch::kDouble),
                   second = torch::randn({1, 5, 6}, torch::kDouble);
  const at::Tensor third = 9 * torch::randn({2, 5, 6}, torch::kDouble).pow(3);
  for (const at::Tensor& batch : {first, second, third})
    recorder.OnActivation("model.decoder.layers.4", batch);
  const SiteOutliers site = recorder.Sites()[0];
  EXPECT_NEAR(*site.kurtosis, torch::cat({RowKurtosis(first), RowKurtosis(second)}).mean().item<double>(),
              1e-12);
  EXPECT_NEAR(site.inf_norm,
              torch::cat({RowInfNorm(first), RowInfNorm(second), RowInfNorm(third)}).mean().item<double>(),
              1e-12);
}

TEST(ActivationRecorderTest, TheResidualHasNoKurtosis) {
  ActivationRecorder recorder(kBert, {.kurtosis_batches = 257});
  ShowBertLayer(recorder, 0, 5, 20, 3);
  for (const SiteOutliers& site : recorder.Sites()) {
    EXPECT_EQ(site.kurtosis.has_value(), site.name.find(".input") == std::string::npos) << site.name;
  }
}

TEST(ActivationRecorderTest, OtherSitesAreNotRecordedAndEverythingPassesUnchanged) {
  ActivationRecorder recorder(kBert, {.kurtosis_batches = 257});
  const at::Tensor x = BatchWith(3);
  for (const char* site :
       {"hidden.1", "bert.embeddings.LayerNorm", "bert.encoder.layer.0.attention.output.dense",
        "bert.encoder.layer.0.attention.output.LayerNorm", "bert.encoder.layer.0.intermediate.0"}) {
    EXPECT_TRUE(recorder.OnActivation(site, x).is_same(x));
  }
  EXPECT_TRUE(recorder.Sites().empty());
  EXPECT_TRUE(recorder.OnActivation("bert.encoder.layer.0.output.dense", x).is_same(x));
  EXPECT_EQ(recorder.Sites().size(), 1u);
}

TEST(ActivationRecorderTest, RowsAreKeptWhenAsked) {
  ActivationRecorder recorder(kOpt, {.kurtosis_batches = 1, .keep_rows = true});
  recorder.OnActivation("model.decoder.layers.0", BatchWith(2, 2));
  recorder.OnActivation("model.decoder.layers.0", BatchWith(6, 1));
  const SiteOutliers site = recorder.Sites()[0];
  EXPECT_TRUE(torch::equal(site.row_inf_norm, torch::tensor({2.0, 2.0, 6.0}, torch::kDouble)));
  EXPECT_EQ(site.row_kurtosis.numel(), 2);
}

// Rows are sequences, or tokens where a model flattens them: both without their padding.
TEST(ActivationRecorderTest, PaddingIsLeftOutOfARowAndIsNoRow) {
  torch::manual_seed(2);
  const std::string layer = "model.decoder.layers.0";
  const at::Tensor x = torch::randn({2, 3, 4}, torch::kDouble).pow(3);
  const at::Tensor mask = torch::tensor({{1, 1, 0}, {1, 1, 1}});
  ActivationRecorder recorder(kOpt, {.kurtosis_batches = 9, .keep_rows = true});
  ActivationRecorder counting(kOpt, {.kurtosis_batches = 9, .count_padding = true});
  ActivationRecorder untold(kOpt, {.kurtosis_batches = 9});
  recorder.OnPass(mask);
  counting.OnPass(mask);
  for (ActivationRecorder* each : {&recorder, &counting, &untold}) {
    each->OnActivation(layer, x);
    each->OnActivation(layer + ".fc2", x.view({6, 4}));
  }
  const SiteOutliers by_sequence = recorder.Sites()[0], by_token = recorder.Sites()[1];
  const at::Tensor rows =
      torch::cat({RowKurtosis(x.slice(0, 0, 1).slice(1, 0, 2)), RowKurtosis(x.slice(0, 1))});
  EXPECT_TRUE(torch::allclose(by_sequence.row_kurtosis, rows, 1e-12));
  EXPECT_NEAR(*by_sequence.kurtosis, rows.mean().item<double>(), 1e-12);
  const at::Tensor real = x.view({6, 4}).index_select(0, torch::tensor({0, 1, 3, 4, 5}));
  EXPECT_TRUE(torch::equal(by_token.row_inf_norm, RowInfNorm(real)));
  EXPECT_NEAR(by_token.inf_norm, RowInfNorm(real).mean().item<double>(), 1e-12);
  EXPECT_NEAR(*by_token.kurtosis, RowKurtosis(real).mean().item<double>(), 1e-12);
  for (int site = 0; site < 2; ++site) {
    EXPECT_EQ(counting.Sites()[site].inf_norm, untold.Sites()[site].inf_norm);
    EXPECT_EQ(*counting.Sites()[site].kurtosis, *untold.Sites()[site].kurtosis);
    EXPECT_NE(*counting.Sites()[site].kurtosis, *recorder.Sites()[site].kurtosis);
  }
}

TEST(ActivationRecorderTest, TheSecondLinearOfAFeedForwardNetworkIsKnownInEveryArchitecture) {
  for (const char* site :
       {"bert.encoder.layer.3.output.dense", "model.decoder.layers.3.fc2", "transformer.h.3.mlp.c_proj",
        "model.layers.3.mlp.down_proj", "vit.encoder.layer.3.output.dense"})
    EXPECT_TRUE(IsFfnOutputSite(site)) << site;
  EXPECT_FALSE(IsFfnOutputSite("bert.encoder.layer.3.attention.output.dense"));
  EXPECT_FALSE(IsFfnOutputSite("model.decoder.layers.3"));
}

TEST(ActivationRecorderTest, ADivergedModelDoesNotLookHealthy) {
  ActivationRecorder recorder(kOpt, {.kurtosis_batches = 101});
  recorder.OnActivation("model.decoder.layers.0", BatchWith(std::numeric_limits<double>::quiet_NaN()));
  recorder.OnActivation("model.decoder.layers.1", BatchWith(5));
  const OutlierSummary summary = recorder.Summary();
  EXPECT_TRUE(std::isnan(summary.max_inf_norm));
  EXPECT_TRUE(std::isnan(summary.max_kurtosis));
}

}  // namespace
}  // namespace inlier
