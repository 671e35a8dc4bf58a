#include "core/models/vit.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <memory>
#include <string>

#include "core/models/make_model.h"
#include "spec/trial/data_kind.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

v1::TrialSpec SmallVit(const std::string& fields = "", const std::string& attention = "") {
  v1::TrialSpec spec;
  const std::string text =
      "model { vit { layers: 2 hidden_size: 16 heads: 4 ffn_size: 24 image_size: 8 patch_size: 4 channels: 2 "
      "classes: 5 initial_std: 0.3 " +
      fields + " } } attention { " + attention + " }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

std::shared_ptr<Model> MakeSmallVit(const v1::TrialSpec& spec) {
  auto model = MakeModel(spec).value();
  InitialiseWeights(*model, spec, 3);
  model->eval();
  return model;
}

ModelInput Images() {
  torch::manual_seed(5);
  ModelInput input;
  input.pixels = torch::randn({3, 2, 8, 8});
  return input;
}

// The published size: google/vit-base-patch16-224.
TEST(VitTest, BaseHasThePublishedNumberOfParameters) {
  v1::TrialSpec spec;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "model { vit { layers: 12 hidden_size: 768 heads: 12 ffn_size: 3072 image_size: 224 patch_size: 16 "
      "channels: 3 classes: 1000 } }",
      &spec));
  EXPECT_EQ(CountParameters(**MakeModel(spec)), 86'567'656);
}

TEST(VitTest, AnImageIsCutRowByRow) {
  const auto model = MakeSmallVit(SmallVit("position: NONE"));
  const ModelInput input = Images();
  // Without positions, patches may change places: here the two rows of patches.
  ModelInput swapped;
  swapped.pixels = torch::cat({input.pixels.slice(2, 4, 8), input.pixels.slice(2, 0, 4)}, 2);
  EXPECT_TRUE(torch::allclose(model->Logits(input), model->Logits(swapped), 1e-4, 1e-5));
  ModelInput mixed;
  mixed.pixels = input.pixels.roll(2, 2);
  EXPECT_FALSE(torch::allclose(model->Logits(input), model->Logits(mixed), 1e-2, 1e-2));
}

TEST(VitTest, LabelSmoothingMixesInTheMeanOverClasses) {
  const auto model = MakeSmallVit(SmallVit());
  const ModelInput input = Images();
  const at::Tensor labels = torch::tensor({0L, 4L, 2L});
  const at::Tensor log_p = model->Logits(input).log_softmax(-1);
  const double plain = -log_p.gather(1, labels.unsqueeze(1)).mean().item<double>();
  EXPECT_NEAR(model->Loss(input, labels).item<double>(), plain, 1e-5);
  EXPECT_NEAR(model->Loss(input, labels, nullptr, 0.1).item<double>(),
              0.9 * plain - 0.1 * log_p.mean().item<double>(), 1e-5);
}

TEST(VitTest, ImagesThatDoNotFitAreExplained) {
  const auto model = MakeSmallVit(SmallVit());
  ModelInput input;
  input.pixels = torch::zeros({1, 3, 8, 8});
  try {
    model->Logits(input);
    FAIL() << "three channels went into two";
  } catch (const c10::Error& error) {
    EXPECT_THAT(
        std::string(error.what_without_backtrace()),
        ::testing::HasSubstr(
            "images of shape [1, 3, 8, 8] do not fit into model.vit with channels 2 and image_size 8"));
  }
}

TEST(VitTest, UnsupportedSettingsAreNamedByTheirPath) {
  v1::TrialSpec spec = SmallVit("patch_norm: true");
  EXPECT_EQ(MakeLanguageModel(spec).status().message(),
            "model.vit: reads images, where a language model is needed");
  spec.mutable_model()->mutable_vit()->set_patch_size(3);
  EXPECT_EQ(MakeModel(spec).status().message(), "model.vit.patch_size: 3 does not divide image_size 8");
}

TEST(VitTest, RegistersAreTokensBehindThePatches) {
  const v1::TrialSpec spec = SmallVit("registers: 3", "softmax { clipped { alpha: 0.5 } }");
  const auto model = MakeSmallVit(spec),
             without = MakeSmallVit(SmallVit("", "softmax { clipped { alpha: 0.5 } }"));
  EXPECT_EQ(CountParameters(*model), CountParameters(*without) + 3 * 16);
  RecordingTap recorder, without_recorder;
  const at::Tensor logits = model->Logits(Images(), &recorder);
  without->Logits(Images(), &without_recorder);
  const at::Tensor hidden = recorder.seen.at("hidden.0");
  ASSERT_EQ(hidden.sizes(), (std::vector<std::int64_t>{3, 1 + 4 + 3, 16}));
  EXPECT_TRUE(hidden.slice(1, 0, 5).equal(without_recorder.seen.at("hidden.0")))
      << "the other weights are drawn alike";
  at::Tensor registers = model->named_parameters()["vit.embeddings.register_tokens"];
  EXPECT_TRUE(hidden.slice(1, 5, 8).equal(registers.expand({3, 3, 16}))) << "without positions";
  EXPECT_FALSE(logits.allclose(without->Logits(Images()))) << "the others attend to them";
  // No output reads them by their place.
  const at::NoGradGuard no_grad;
  registers.copy_(registers.flip(1).clone());
  EXPECT_TRUE(model->Logits(Images()).allclose(logits, 1e-4, 1e-5));
  EXPECT_EQ(SequenceLength(spec), 5u) << "of alpha / T";
}

TEST(VitTest, EveryParameterGetsAGradient) {
  for (const char* attention : {"", "gate { linear {} } softmax { softmax_n {} }"}) {
    const auto model = MakeSmallVit(SmallVit("patch_norm: true registers: 2", attention));
    model->Loss(Images(), torch::tensor({0L, 4L, 2L})).backward();
    for (const auto& item : model->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
      // The softmax does not see what is added to all keys alike.
      if (item.key().find("key.bias") != std::string::npos) continue;
      EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
    }
  }
}

}  // namespace
}  // namespace inlier
