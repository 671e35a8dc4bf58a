#include "core/quant/post_training_quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>
#include <vector>

namespace inlier {
namespace {

using ::testing::HasSubstr;

constexpr auto kBertCase = v1::ModelSpec::kBert;
constexpr auto kOptCase = v1::ModelSpec::kOpt;
const char kElevenQuery[] = "bert.encoder.layer.11.attention.self.query";

v1::QuantizationSpec W8A8() {
  v1::QuantizationSpec spec;
  spec.mutable_weights();
  spec.mutable_activations();
  return spec;
}

std::unique_ptr<PostTrainingQuantization> Make(const v1::QuantizationSpec& spec,
                                               v1::ModelSpec::ArchitectureCase architecture) {
  return PostTrainingQuantization::Create(spec, architecture).value();
}

TEST(PostTrainingQuantizationTest, CalibrationQuantizesWithTheRangeThatIncludesTheTensorJustSeen) {
  const auto ptq = Make(W8A8(), kBertCase);
  const at::Tensor small = torch::tensor({0.f, 1.f});
  const at::Tensor large = torch::tensor({0.f, 11.f});
  EXPECT_TRUE(torch::equal(ptq->OnActivation(kElevenQuery, small), small));
  // 0.9 * 1 + 0.1 * 11 = 2: the large value is cut to the range so far.
  EXPECT_FLOAT_EQ(ptq->OnActivation(kElevenQuery, large)[1].item<float>(), 2.0f);
}

TEST(PostTrainingQuantizationTest, FrozenRangesStay) {
  const auto ptq = Make(W8A8(), kBertCase);
  ptq->OnActivation(kElevenQuery, torch::tensor({0.f, 1.f}));
  EXPECT_TRUE(ptq->Freeze().ok());
  EXPECT_FLOAT_EQ(ptq->OnActivation(kElevenQuery, torch::tensor({0.f, 50.f}))[1].item<float>(), 1.0f);
  EXPECT_FLOAT_EQ(ptq->OnActivation(kElevenQuery, torch::tensor({0.f, 0.6f}))[1].item<float>(), 153.0f / 255);
}

TEST(PostTrainingQuantizationTest, WeightsAreRoundedOnceAndKept) {
  const auto ptq = Make(W8A8(), kBertCase);
  const at::Tensor weight = torch::randn({4, 4});
  const at::Tensor first = ptq->OnWeight(kElevenQuery, weight);
  EXPECT_FALSE(torch::equal(first, weight));
  EXPECT_TRUE(torch::allclose(first, weight, 0, weight.abs().max().item<double>() / 127));
  EXPECT_TRUE(ptq->OnWeight(kElevenQuery, weight).is_same(first));
  EXPECT_TRUE(ptq->QuantizedWeight(kElevenQuery)->is_same(first));
}

TEST(PostTrainingQuantizationTest, UnknownSitesAndObservationsPassUnchanged) {
  const auto bert = Make(W8A8(), kBertCase);
  const auto opt = Make(W8A8(), kOptCase);
  const at::Tensor x = torch::randn({3, 3});
  for (const char* site :
       {"cls.predictions.decoder", "hidden.0", "bert.encoder.layer.0.output.LayerNorm.input",
        "bert.encoder.layer.x.output.dense"}) {
    EXPECT_TRUE(bert->OnActivation(site, x).is_same(x)) << site;
    EXPECT_TRUE(bert->OnWeight(site, x).is_same(x)) << site;
  }
  for (const char* site :
       {"model.decoder.layers.0", "model.decoder.layers.0.self_attn.gate", "lm_head", kElevenQuery}) {
    EXPECT_TRUE(opt->OnActivation(site, x).is_same(x)) << site;
    EXPECT_TRUE(opt->OnWeight(site, x).is_same(x)) << site;
  }
  EXPECT_TRUE(bert->Table().empty());
}

TEST(PostTrainingQuantizationTest, AnAbsentPartStaysFloat) {
  v1::QuantizationSpec weights_only;
  weights_only.mutable_weights();
  const auto ptq = Make(weights_only, kBertCase);
  const at::Tensor x = torch::randn({5});
  EXPECT_TRUE(ptq->OnActivation(kElevenQuery, x).is_same(x));
  EXPECT_FALSE(ptq->OnWeight(kElevenQuery, x).is_same(x));
  EXPECT_FALSE(ptq->needs_calibration());
}

TEST(PostTrainingQuantizationTest, TheTableIsInOrderOfFirstUse) {
  const auto ptq = Make(W8A8(), kBertCase);
  const at::Tensor x = torch::randn({2, 3});
  ptq->OnWeight("bert.embeddings.word_embeddings", x);
  ptq->OnActivation("bert.embeddings.sum_pos_embd_act_quantizer", x);
  ptq->OnWeight(kElevenQuery, x);
  ptq->OnActivation(kElevenQuery, x);
  ptq->OnWeight("bert.embeddings.word_embeddings", x);
  const std::vector<QuantizerReport> table = ptq->Table();
  ASSERT_EQ(table.size(), 4u);
  EXPECT_EQ(table[0].site, "bert.embeddings.word_embeddings");
  EXPECT_TRUE(table[0].is_weight());
  EXPECT_EQ(table[1].site, "bert.embeddings.sum_pos_embd_act_quantizer");
  EXPECT_EQ(table[2].site, kElevenQuery);
  EXPECT_TRUE(table[2].is_weight());
  EXPECT_FALSE(table[3].is_weight());
  EXPECT_EQ(table[3].order, 3);
  EXPECT_EQ(table[3].shape, (std::vector<std::int64_t>{2, 3}));
}

int BitsOf(v1::ReferenceSchemeSpec::Setup setup, const std::string& site) {
  v1::QuantizationSpec spec = W8A8();
  spec.mutable_reference()->set_setup(setup);
  const auto ptq = Make(spec, kOptCase);
  ptq->OnWeight(site, torch::randn({3, 3}));
  ptq->OnActivation(site, torch::randn({3, 3}));
  const std::vector<QuantizerReport> table = ptq->Table();
  if (table.empty()) return 0;
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].bits, table[1].bits);
  return table[0].bits;
}

TEST(PostTrainingQuantizationTest, SetupsTreatNormsAndHeadInTheirOwnWay) {
  using Setup = v1::ReferenceSchemeSpec;
  const std::string norm = "model.decoder.layers.3.final_layer_norm",
                    final_norm = "model.decoder.final_layer_norm", head = "lm_head";
  EXPECT_EQ(BitsOf(Setup::FP32_HEAD, norm), 8);
  EXPECT_EQ(BitsOf(Setup::FP32_HEAD, final_norm), 8);
  EXPECT_EQ(BitsOf(Setup::FP32_HEAD, head), 0);
  EXPECT_EQ(BitsOf(Setup::ALL, head), 8);
  EXPECT_EQ(BitsOf(Setup::FP32_HEAD_INT16_FINAL_LN, norm), 8);
  EXPECT_EQ(BitsOf(Setup::FP32_HEAD_INT16_FINAL_LN, final_norm), 16);
  EXPECT_EQ(BitsOf(Setup::FP32_HEAD_INT16_ALL_LN, norm), 16);
  EXPECT_EQ(BitsOf(Setup::FP32_HEAD_INT16_ALL_LN, final_norm), 16);
  EXPECT_EQ(BitsOf(Setup::FP32_HEAD_INT16_ALL_LN, "model.decoder.layers.3.fc2"), 8);
}

TEST(PostTrainingQuantizationTest, PerChannelMeansOutputChannelsAndGainsHaveNone) {
  v1::QuantizationSpec spec = W8A8();
  spec.mutable_weights()->set_per_channel(true);
  const auto ptq = Make(spec, kBertCase);
  ptq->OnWeight(kElevenQuery, torch::randn({5, 7}));
  ptq->OnWeight("bert.embeddings.LayerNorm", torch::ones({7}));
  const std::vector<QuantizerReport> table = ptq->Table();
  EXPECT_EQ(table[0].grid.scale.size(), 5u);
  EXPECT_EQ(table[1].grid.scale.size(), 1u);
}

TEST(PostTrainingQuantizationTest, AGivenRangeIsNotCalibratedAway) {
  const auto ptq = Make(W8A8(), kBertCase);
  ptq->SetActivationRange(kElevenQuery, {{0}, {4}, false});
  EXPECT_FLOAT_EQ(ptq->OnActivation(kElevenQuery, torch::tensor({100.f})).item<float>(), 4.0f);
}

TEST(PostTrainingQuantizationTest, TheSpecDecidesBitsRangesAndPercentile) {
  v1::QuantizationSpec spec = W8A8();
  spec.mutable_weights()->set_bits(4);
  spec.mutable_weights()->mutable_range()->mutable_mse();
  spec.mutable_activations()->set_bits(6);
  spec.mutable_activations()->mutable_range()->mutable_running_minmax()->set_percentile(99.9);
  const auto options = PtqOptionsFromSpec(spec).value();
  EXPECT_EQ(options.weights->bits, 4);
  EXPECT_EQ(options.weights->method, RangeMethod::kMseGrid);
  EXPECT_TRUE(options.weights->symmetric);
  EXPECT_EQ(options.activations->bits, 6);
  EXPECT_EQ(options.activations->momentum, 0.9);
  EXPECT_EQ(options.activations->percentile, 99.9);
  EXPECT_FALSE(options.activations->symmetric);
  EXPECT_EQ(options.setup, v1::ReferenceSchemeSpec::FP32_HEAD);
}

TEST(PostTrainingQuantizationTest, EveryRangeOfTheSpecHasItsMethod) {
  v1::QuantizationSpec spec = W8A8();
  v1::ActivationRangeSpec& activations = *spec.mutable_activations()->mutable_range();
  v1::WeightRangeSpec& weights = *spec.mutable_weights()->mutable_range();
  const auto options = [&spec] { return PtqOptionsFromSpec(spec).value(); };
  activations.mutable_minmax();
  weights.mutable_minmax();
  EXPECT_EQ(options().activations->method, RangeMethod::kMinMax);
  EXPECT_EQ(options().weights->method, RangeMethod::kMinMax);
  activations.mutable_mse();
  EXPECT_EQ(options().activations->method, RangeMethod::kMseGrid);
  activations.mutable_mse_search();
  EXPECT_EQ(options().activations->method, RangeMethod::kMseSearch);
  activations.mutable_percentile();
  weights.mutable_percentile()->set_p(90);
  EXPECT_EQ(options().activations->method, RangeMethod::kPercentile);
  EXPECT_EQ(options().activations->percentile, 99.999);
  EXPECT_EQ(options().weights->method, RangeMethod::kPercentile);
  EXPECT_EQ(options().weights->percentile, 90);
  weights.mutable_percentile()->set_p(100);
  EXPECT_EQ(options().weights->percentile, 100);
}

TEST(PostTrainingQuantizationTest, MinmaxAndPercentileTakeTheLastCalibrationBatch) {
  const at::Tensor first = torch::arange(0, 101, torch::kFloat32) * 10,
                   last = torch::arange(0, 101, torch::kFloat32);
  v1::QuantizationSpec spec = W8A8();
  for (const bool percentile : {false, true}) {
    if (percentile) {
      spec.mutable_activations()->mutable_range()->mutable_percentile()->set_p(95);
    } else {
      spec.mutable_activations()->mutable_range()->mutable_minmax();
    }
    const auto ptq = Make(spec, kBertCase);
    ptq->OnActivation(kElevenQuery, first);
    ptq->OnActivation(kElevenQuery, last);
    EXPECT_TRUE(ptq->Freeze().ok());
    const std::vector<QuantizerReport> table = ptq->Table();
    EXPECT_NEAR(table[0].range.minimum[0], percentile ? 5 : 0, 1e-9);
    EXPECT_NEAR(table[0].range.maximum[0], percentile ? 95 : 100, 1e-9);
  }
}

TEST(PostTrainingQuantizationTest, AWeightsPercentileCanBeByChannel) {
  v1::QuantizationSpec spec = W8A8();
  spec.mutable_weights()->set_per_channel(true);
  spec.mutable_weights()->mutable_range()->mutable_percentile()->set_p(75);
  const auto ptq = Make(spec, kBertCase);
  const at::Tensor row = torch::arange(0, 101, torch::kFloat32);
  ptq->OnWeight(kElevenQuery, torch::stack({row, row * 2}));
  EXPECT_EQ(ptq->Table()[0].range.maximum, (std::vector<double>{75, 150}));
}

TEST(PostTrainingQuantizationTest, UnsupportedSettingsAreRefusedWithTheirPath) {
  v1::QuantizationSpec spec = W8A8();
  spec.mutable_activations()->set_bits(17);
  EXPECT_THAT(std::string(PtqOptionsFromSpec(spec).status().message()),
              HasSubstr("quantization.activations.bits: 17"));
  spec = W8A8();
  spec.mutable_activations()->mutable_range()->mutable_running_minmax()->set_percentile(0.1);
  EXPECT_THAT(std::string(PtqOptionsFromSpec(spec).status().message()),
              HasSubstr("running_minmax.percentile: 0.1 is not between"));
  spec = W8A8();
  spec.mutable_weights()->set_symmetric(false);
  spec.mutable_weights()->set_per_channel(true);
  spec.mutable_weights()->mutable_range()->mutable_mse();
  EXPECT_THAT(std::string(PtqOptionsFromSpec(spec).status().message()),
              HasSubstr("per_channel with range.mse needs symmetric"));
  spec = W8A8();
  spec.mutable_weights()->mutable_range()->mutable_percentile()->set_p(50);
  EXPECT_THAT(
      std::string(PtqOptionsFromSpec(spec).status().message()),
      HasSubstr("quantization.weights.range.percentile.p: 50 is not between 50 and 100 (50 excluded)"));
}

}  // namespace
}  // namespace inlier
