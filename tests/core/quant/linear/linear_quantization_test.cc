#include "core/quant/linear/linear_quantization.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/linear.h"
#include "core/quant/make_quantization.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

const char kSite[] = "transformer.h.0.mlp.c_fc";

v1::QuantizationSpec SpecOf(const std::string& text) {
  v1::QuantizationSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

std::unique_ptr<LinearQuantization> Make(const std::string& text) {
  return LinearQuantization::Create(SpecOf(text), v1::ModelSpec::kGpt2).value();
}

at::Tensor Absmax(const at::Tensor& x, at::IntArrayRef dims) {
  return RoundToGrid(x, AbsmaxGrid(x, 8, dims));
}

TEST(LinearQuantizationTest, GroupsOfInputChannelsHaveTheirScales) {
  torch::manual_seed(2);
  const at::Tensor weight = torch::randn({6, 80});
  for (const std::string scheme : {"absmax {}", "zeropoint {}"}) {
    const auto quantization = Make("weights { bits: 4 group_size: 32 } " + scheme);
    const at::Tensor rounded = quantization->OnLinearWeight(kSite, weight);
    for (const auto& [begin, end] : {std::pair(0, 32), std::pair(32, 64), std::pair(64, 80)}) {
      const at::Tensor group = weight.slice(1, begin, end);
      const SliceGrid grid =
          scheme == "absmax {}" ? AbsmaxGrid(group, 4, {-1}) : ZeropointGrid(group, 4, {-1});
      EXPECT_TRUE(torch::equal(rounded.slice(1, begin, end), RoundToGrid(group, grid))) << scheme << begin;
    }
    const QuantizerReport report = quantization->Table().at(0);
    EXPECT_EQ(report.group_size, 32);
    EXPECT_EQ(report.grid.scale.size(), 6u * 3);
  }
}

TEST(LinearQuantizationTest, GranularitiesOfAbsmax) {
  torch::manual_seed(1);
  const at::Tensor weight = torch::randn({5, 4}), x = torch::randn({2, 3, 4}), y = torch::randn({2, 3, 5});
  const auto fine = Make("weights {} activations {} absmax { granularity: FINE }");
  EXPECT_TRUE(torch::equal(fine->OnLinearWeight(kSite, weight), Absmax(weight, {-1})));
  EXPECT_TRUE(torch::equal(fine->OnLinearInput(kSite, x), Absmax(x, {-1})));
  EXPECT_TRUE(fine->OnLinearOutput(kSite, y).is_same(y));

  const auto by_feature = Make("weights {} activations {} absmax { activation_axis: FEATURE }");
  EXPECT_TRUE(torch::equal(by_feature->OnLinearInput(kSite, x), Absmax(x, {0, 1})));

  const auto moderate = Make("weights {} activations {} absmax { granularity: MODERATE }");
  EXPECT_TRUE(torch::equal(moderate->OnLinearWeight(kSite, weight), Absmax(weight, {})));
  EXPECT_TRUE(torch::equal(moderate->OnLinearInput(kSite, x), Absmax(x, {})));
  EXPECT_TRUE(moderate->OnLinearOutput(kSite, y).is_same(y));

  const auto coarse = Make("weights {} activations {} absmax { granularity: COARSE }");
  EXPECT_TRUE(torch::equal(coarse->OnLinearOutput(kSite, y), Absmax(y, {})));
  for (const auto* scheme : {&fine, &by_feature, &moderate, &coarse})
    EXPECT_FALSE((*scheme)->needs_calibration());
}

TEST(LinearQuantizationTest, ZeropointRoundsWeightsByRowAndActivationsWhereAsked) {
  torch::manual_seed(2);
  const at::Tensor weight = torch::randn({5, 4}), x = torch::randn({2, 3, 4});
  const auto rounded = [](const at::Tensor& t, int bits, at::IntArrayRef dims) {
    return RoundToGrid(t, ZeropointGrid(t, bits, dims));
  };
  const auto weights_only = Make("weights { bits: 4 } zeropoint {}");
  EXPECT_TRUE(torch::equal(weights_only->OnLinearWeight(kSite, weight), rounded(weight, 4, {-1})));
  EXPECT_TRUE(weights_only->OnLinearInput(kSite, x).is_same(x));
  const auto both = Make("weights {} activations { bits: 6 } zeropoint { activation_axis: TOKEN }");
  EXPECT_TRUE(torch::equal(both->OnLinearInput(kSite, x), rounded(x, 6, {-1})));
  EXPECT_TRUE(torch::equal(Make("activations {} zeropoint {}")->OnLinearInput(kSite, x), rounded(x, 8, {})));
}

TEST(LinearQuantizationTest, AWeightIsRoundedOnceAndScalesOfActivationsFollowTheBatch) {
  const auto quantization = Make("weights {} activations {} absmax { granularity: MODERATE }");
  const at::Tensor weight = torch::randn({3, 3});
  const at::Tensor first = quantization->OnLinearWeight(kSite, weight);
  EXPECT_TRUE(quantization->OnLinearWeight(kSite, weight).is_same(first));
  EXPECT_TRUE(quantization->QuantizedWeight(kSite)->is_same(first));
  quantization->OnLinearInput(kSite, torch::full({1, 2}, 127.f));
  EXPECT_TRUE(quantization->Freeze().ok());
  quantization->OnLinearInput(kSite, torch::full({1, 2}, 254.f));
  EXPECT_EQ(quantization->Table()[1].grid.scale[0], 2.0);
}

TEST(LinearQuantizationTest, CalibratedScalesComeFromTheFloatModelAndStay) {
  const auto quantization = Make("weights {} activations {} absmax { granularity: COARSE calibrated: true }");
  EXPECT_TRUE(quantization->needs_calibration());
  const at::Tensor weight = torch::randn({3, 3});
  for (const float value : {127.f, -254.f, 12.7f}) {
    const at::Tensor x = torch::full({2, 3}, value);
    EXPECT_TRUE(quantization->OnLinearInput(kSite, x).is_same(x));
    EXPECT_TRUE(quantization->OnLinearWeight(kSite, weight).is_same(weight)) << "the model is still float";
    EXPECT_TRUE(quantization->OnLinearOutput(kSite, x / 2).equal(x / 2));
  }
  EXPECT_TRUE(quantization->Table().empty());
  EXPECT_TRUE(quantization->Freeze().ok());
  const at::Tensor x = torch::tensor({{1.f, 3.f, 1000.f}});
  EXPECT_TRUE(torch::equal(quantization->OnLinearInput(kSite, x), torch::tensor({{0.f, 4.f, 254.f}})));
  EXPECT_TRUE(torch::equal(quantization->OnLinearOutput(kSite, x), torch::tensor({{1.f, 3.f, 127.f}})));
  EXPECT_FALSE(quantization->OnLinearWeight(kSite, weight).is_same(weight));
}

// A sequence of two tokens and one of padding: the grids are those of the two tokens.
TEST(LinearQuantizationTest, PaddingDecidesNoGrid) {
  torch::manual_seed(3);
  const at::Tensor text = torch::randn({1, 2, 4}), padding = torch::full({1, 1, 4}, 1000.f);
  const at::Tensor x = torch::cat({text, padding}, 1), mask = torch::tensor({{1, 1, 0}});
  for (const char* scheme : {"absmax { granularity: MODERATE }", "absmax { activation_axis: FEATURE }",
                             "absmax { }", "absmax { granularity: MODERATE calibrated: true }",
                             "zeropoint { }", "zeropoint { activation_axis: FEATURE }"}) {
    const std::string spec = std::string("weights {} activations {} ") + scheme;
    for (const bool flat : {false, true}) {
      const auto padded = Make(spec), alone = Make(spec);
      const auto shaped = [flat](const at::Tensor& t) { return flat ? t.reshape({-1, 4}) : t; };
      padded->OnPass(mask);
      if (padded->needs_calibration()) {
        padded->OnLinearInput(kSite, shaped(x));
        alone->OnLinearInput(kSite, shaped(text));
      }
      EXPECT_TRUE(padded->Freeze().ok());
      EXPECT_TRUE(alone->Freeze().ok());
      const at::Tensor rounded = padded->OnLinearInput(kSite, shaped(x)).reshape({1, 3, 4});
      const at::Tensor expected = alone->OnLinearInput(kSite, shaped(text)).reshape({1, 2, 4});
      EXPECT_TRUE(torch::equal(rounded.slice(1, 0, 2), expected)) << scheme << flat;
      EXPECT_FALSE(torch::equal(expected, text)) << scheme << flat;
      padded->OnPass({});
      EXPECT_EQ(
          torch::equal(padded->OnLinearInput(kSite, shaped(x)).reshape({1, 3, 4}).slice(1, 0, 2), expected),
          std::string(scheme) == "absmax { }" || padded->needs_calibration())
          << scheme << ": of a pass without padding every token counts, " << flat;
    }
  }
}

TEST(LinearQuantizationTest, ASiteThatCalibrationDidNotReachIsAProgrammersError) {
  const auto quantization = Make("activations {} absmax { granularity: MODERATE calibrated: true }");
  EXPECT_TRUE(quantization->Freeze().ok());
  EXPECT_DEATH(quantization->OnLinearInput(kSite, torch::ones({1, 2})), "");
}

TEST(LinearQuantizationTest, OnlyLinearsAreRoundedAndTheHeadWhenAsked) {
  const at::Tensor x = torch::randn({2, 3, 4}), weight = torch::randn({3, 4});
  const auto without = Make("weights {} activations {} absmax { granularity: COARSE }");
  EXPECT_TRUE(without->OnActivation(kSite, x).is_same(x));
  EXPECT_TRUE(without->OnWeight("transformer.wte", x).is_same(x));
  const auto with = Make("weights {} activations {} absmax { granularity: COARSE head: true }");
  for (const char* head : {"lm_head", "classifier"}) {
    EXPECT_TRUE(without->OnLinearInput(head, x).is_same(x));
    EXPECT_TRUE(without->OnLinearWeight(head, weight).is_same(weight));
    EXPECT_TRUE(without->OnLinearOutput(head, x).is_same(x));
    EXPECT_FALSE(with->OnLinearInput(head, x).is_same(x));
    EXPECT_FALSE(with->OnLinearWeight(head, weight).is_same(weight));
    EXPECT_FALSE(with->OnLinearOutput(head, x).is_same(x));
  }
  const std::string patches = "vit.embeddings.patch_embeddings.projection";
  EXPECT_TRUE(with->OnLinearInput(patches, x).is_same(x));
  EXPECT_TRUE(without->Table().empty());
}

TEST(LinearQuantizationTest, ALinearHandsOverInputWeightAndOutput) {
  torch::nn::Module module;
  Linear linear = Linear::Create(ParameterScope(module).Child("fc"), 4, 3);
  torch::manual_seed(4);
  linear.weight = torch::randn({3, 4});
  linear.bias = torch::randn({3});
  const at::Tensor x = torch::randn({2, 5, 4});
  const auto quantization = Make("weights {} activations {} absmax { granularity: COARSE }");
  TapChain chain({quantization.get()});
  const at::Tensor product = at::linear(Absmax(x, {}), Absmax(linear.weight, {}), linear.bias);
  EXPECT_TRUE(torch::equal(linear(x, {.tap = &chain}), Absmax(product, {})));
  const std::vector<QuantizerReport> table = quantization->Table();
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0].part, QuantizedPart::kInput);
  EXPECT_EQ(table[1].part, QuantizedPart::kWeight);
  EXPECT_EQ(table[2].part, QuantizedPart::kOutput);
  EXPECT_EQ(table[2].site, "fc");
  EXPECT_EQ(table[0].shape, (std::vector<std::int64_t>{2, 5, 4}));
  EXPECT_EQ(table[0].grid.integer_min, -127);
}

TEST(LinearQuantizationTest, ADivergedModelDoesNotLookHealthy) {
  const at::Tensor x = torch::tensor({{1.f, std::numeric_limits<float>::quiet_NaN()}});
  EXPECT_TRUE(Make("activations {} absmax {}")->OnLinearInput(kSite, x).isnan().any().item<bool>());
  const auto calibrated = Make("activations {} absmax { granularity: MODERATE calibrated: true }");
  calibrated->OnLinearInput(kSite, x);
  calibrated->OnLinearInput(kSite, torch::ones({1, 2}));
  EXPECT_TRUE(calibrated->Freeze().ok());
  EXPECT_TRUE(calibrated->OnLinearInput(kSite, torch::ones({1, 2})).isnan().all().item<bool>());
}

TEST(LinearQuantizationTest, SettingsThatCannotBeHadAreNamed) {
  const auto message = [](const std::string& text) {
    return std::string(LinearQuantizationOptionsFromSpec(SpecOf(text)).status().message());
  };
  EXPECT_THAT(message("weights { bits: 1 } absmax {}"), HasSubstr("quantization.weights.bits: 1"));
  EXPECT_THAT(message("activations { bits: 17 } zeropoint {}"),
              HasSubstr("quantization.activations.bits: 17"));
  EXPECT_THAT(message("activations {} absmax { calibrated: true }"),
              HasSubstr("quantization.absmax.calibrated"));
}

TEST(MakeQuantizationTest, TheSchemeDecides) {
  const auto is_linear = [](const std::string& text, v1::ModelSpec::ArchitectureCase architecture) {
    auto made = MakeQuantization(SpecOf(text), architecture).value();
    return dynamic_cast<LinearQuantization*>(made.get()) != nullptr;
  };
  EXPECT_FALSE(is_linear("weights {}", v1::ModelSpec::kBert));
  EXPECT_FALSE(is_linear("weights {} reference {}", v1::ModelSpec::kOpt));
  EXPECT_FALSE(is_linear("weights {} reference {}", v1::ModelSpec::kVit));
  EXPECT_TRUE(is_linear("weights {} absmax {}", v1::ModelSpec::kBert));
  EXPECT_TRUE(is_linear("weights {} zeropoint {}", v1::ModelSpec::kLlama));
}

TEST(MakeQuantizationTest, TheReferenceIsNotForGpt2AndLlama) {
  for (const auto architecture : {v1::ModelSpec::kGpt2, v1::ModelSpec::kLlama}) {
    const absl::Status status = MakeQuantization(SpecOf("weights {} reference {}"), architecture).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("use quantization.absmax or quantization.zeropoint"));
  }
}

}  // namespace
}  // namespace inlier
