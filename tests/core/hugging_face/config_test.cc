#include "core/hugging_face/config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"
#include "tests/core/hugging_face/small_specs.h"

namespace inlier {
namespace {

using nlohmann::json;

std::string ReadError(const json& config) {
  const auto spec = SpecOfHuggingFaceConfig(config);
  return spec.ok() ? "OK" : std::string(spec.status().message());
}

std::string ExportError(const v1::TrialSpec& spec) {
  const auto config = HuggingFaceConfigOfSpec(spec);
  return config.ok() ? "OK" : std::string(config.status().message());
}

TEST(HuggingFaceConfigTest, AWrittenConfigIsReadAsTheSameModel) {
  for (const std::string& text : ExportableSpecs()) {
    const v1::TrialSpec spec = SmallHubSpec(text);
    const std::int64_t outputs = SmallHubShape(spec).classes;
    const auto config = HuggingFaceConfigOfSpec(spec, outputs);
    ASSERT_TRUE(config.ok()) << text << ": " << config.status();
    const auto read = SpecOfHuggingFaceConfig(*config);
    ASSERT_TRUE(read.ok()) << text << ": " << read.status();
    const auto again = HuggingFaceConfigOfSpec(*read, outputs);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(config->dump(), again->dump()) << text;
  }
}

TEST(HuggingFaceConfigTest, SettingsThatNeitherTransformersNorOurCodeHasAreRefusedByName) {
  const auto error = [](const std::string& text) { return ExportError(SmallHubSpec(text)); };
  EXPECT_THAT(error("model { gpt2 { position: ROTARY } }"),
              ::testing::StartsWith("model.gpt2.position: transformers has no ROTARY positions"));
  EXPECT_THAT(error("model { llama { position: NONE } } norm: RMS_NORM_M"),
              ::testing::StartsWith("model.llama.position: "));
  EXPECT_THAT(error("model { bert { norm_placement: PRE } }"),
              ::testing::StartsWith("model.bert.norm_placement: "));
}

// `inlier` in config.json of the model.
json OwnPartsOf(const std::string& text) {
  const auto config = HuggingFaceConfigOfSpec(SmallHubSpec(text), SmallHubShape(SmallHubSpec(text)).classes);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->value("inlier", json()) : json();
}

TEST(HuggingFaceConfigTest, OurOwnPartsAreNamedWithWhatLoadsThem) {
  const auto config = HuggingFaceConfigOfSpec(
      SmallHubSpec("model { bert {} } attention { softmax { clipped { gamma: -0.03 } } }"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ((*config)["model_type"], "inlier_bert") << "transformers' own class must not load it";
  EXPECT_EQ((*config)["architectures"], json::array({"InlierBertForMaskedLM"}));
  EXPECT_EQ((*config)["auto_map"], (json{{"AutoConfig", "configuration_inlier.InlierBertConfig"},
                                         {"AutoModelForMaskedLM", "modeling_inlier.InlierBertForMaskedLM"}}));
  EXPECT_EQ((*config)["inlier"],
            (json{{"attention", {{"softmax", {{"clipped", {{"gamma", -0.03}, {"zeta", 1}}}}}}},
                  {"quantized", false}}));
  const auto plain = HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} }"));
  EXPECT_FALSE(plain->contains("auto_map"));
  const auto quantized = HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} }"), 0, /*quantized=*/true);
  EXPECT_EQ((*quantized)["inlier"]["quantized"], true);
}

TEST(HuggingFaceConfigTest, SettingsThatDependOnTheTrainingsLengthAreWrittenAsNumbers) {
  const auto softmax = [](const std::string& text) {
    return OwnPartsOf("model { bert {} } data { text { sequence_length: 12 } } attention { softmax { " +
                      text + " } }")["attention"]["softmax"];
  };
  EXPECT_EQ(softmax("clipped { alpha: 1.5 }"), (json{{"clipped", {{"gamma", -0.125}, {"zeta", 1}}}}));
  EXPECT_EQ(softmax("ncs { beta: -10 length: CONFIGURED }"),
            (json{{"clipped", {{"gamma", -1}, {"zeta", 1}}}}));
  EXPECT_EQ(softmax("ncs { beta: 0.5 length: RUN }"),
            (json{{"ncs", {{"beta", 0.5}, {"zeta", 1}, {"length", "RUN"}}}}));
}

TEST(HuggingFaceConfigTest, OurOwnPartsAreReadBack) {
  for (const char* text :
       {"model { bert {} } attention { softmax { ncs { beta: 0.5 zeta: 1.5 length: UNPADDED } } } norm: "
        "RMS_NORM_S",
        "model { opt { norm_epsilon: 0.001 } } attention { softmax { sink {} } gate { mlp { hidden_size: 3 } "
        "pooled: true "
        "} }",
        "model { llama {} } attention { softmax { softmax_n { n: 2 } } } norm: LAYER_NORM",
        "model { gpt2 {} } attention { gate { linear {} output_factor: 2 } }",
        "model { bert {} } data { classification {} } attention { softmax { softpick {} } }",
        "model { vit { patch_norm: true } } attention { softmax { sigmoid {} } }"}) {
    const v1::TrialSpec spec = SmallHubSpec(text);
    const std::int64_t outputs = SmallHubShape(spec).classes;
    const auto config = HuggingFaceConfigOfSpec(spec, outputs);
    ASSERT_TRUE(config.ok()) << text << ": " << config.status();
    const auto read = SpecOfHuggingFaceConfig(*config);
    ASSERT_TRUE(read.ok()) << text << ": " << read.status();
    const auto again = HuggingFaceConfigOfSpec(*read, outputs);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(config->dump(), again->dump()) << text;
  }
  json config = *HuggingFaceConfigOfSpec(SmallHubSpec("model { gpt2 {} } norm: RMS_NORM_M"));
  config["inlier"]["norm"] = "BATCH_NORM";
  EXPECT_EQ(ReadError(config), "inlier.norm: is not known: LAYER_NORM, RMS_NORM_M and RMS_NORM_S are");
  config["inlier"] = json{{"attention", {{"softmax", {{"hard", json::object()}}}}}};
  EXPECT_THAT(ReadError(config), ::testing::StartsWith("inlier.attention: "));
  config["inlier"] = 3;
  EXPECT_EQ(ReadError(config), "inlier: has no attention; export the model again");
}

TEST(HuggingFaceConfigTest, SettingsThatInlierLacksAreRefusedByKey) {
  EXPECT_EQ(ReadError(json::array()), "config.json: is not an object of keys and values");
  EXPECT_EQ(ReadError({{"model_type", "mamba"}}),
            "model_type: is not known: bert, opt, gpt2, llama and vit are");
  EXPECT_EQ(ReadError({{"model_type", "bert"}}),
            "num_hidden_layers: is missing: this is not a whole config.json");
  const json gpt2 = {{"model_type", "gpt2"}, {"n_layer", 2},     {"n_embd", 8},
                     {"n_head", 2},          {"n_positions", 4}, {"vocab_size", 9}};
  EXPECT_EQ(ReadError(gpt2), "OK");
  const auto with = [&gpt2](const char* key, const json& value) {
    json config = gpt2;
    config[key] = value;
    return ReadError(config);
  };
  EXPECT_EQ(with("scale_attn_by_inverse_layer_idx", true),
            "scale_attn_by_inverse_layer_idx: true is not supported by inlier's models");
  EXPECT_EQ(with("n_layer", -1), "n_layer: is not a size: it must be a whole number of at least 1");
  EXPECT_EQ(with("n_layer", 1e30), "n_layer: is not a size: it must be a whole number of at least 1");
  EXPECT_EQ(with("resid_pdrop", "a lot"), "resid_pdrop: is not a number");
  EXPECT_EQ(with("activation_function", "mish"),
            "activation_function: is not known: gelu, gelu_new, gelu_pytorch_tanh, relu and silu are");
  EXPECT_EQ(with("quantization_config", json::object()),
            "quantization_config: the weights are stored quantized; give the float model");
}

// As transformers saves them: no labels for two classes, no problem_type before a training.
TEST(HuggingFaceConfigTest, AClassifierOfSentencesIsRecognisedByItsArchitecture) {
  auto config = HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} } data { classification {} }"), 3);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ((*config)["architectures"], json::array({"BertForSequenceClassification"}));
  EXPECT_EQ((*config)["problem_type"], "single_label_classification");
  EXPECT_EQ((*config)["id2label"], (json{{"0", "LABEL_0"}, {"1", "LABEL_1"}, {"2", "LABEL_2"}}));
  const auto target = [&config] {
    const auto spec = SpecOfHuggingFaceConfig(*config);
    EXPECT_TRUE(spec.ok()) << spec.status();
    EXPECT_TRUE(spec->data().has_classification());
    return spec->data().classification().target();
  };
  EXPECT_EQ(target(), v1::ClassificationDataSpec::CLASS);
  config->erase("id2label");
  (*config)["problem_type"] = nullptr;
  EXPECT_EQ(target(), v1::ClassificationDataSpec::CLASS) << "two classes are not written";
  (*config)["id2label"] = {{"0", "LABEL_0"}};
  EXPECT_EQ(target(), v1::ClassificationDataSpec::NUMBER) << "one output";
  (*config)["architectures"] = {"BertForMaskedLM"};
  EXPECT_FALSE(SpecOfHuggingFaceConfig(*config)->has_data());

  (*config)["architectures"] = {"BertForSequenceClassification"};
  (*config)["problem_type"] = "multi_label_classification";
  EXPECT_EQ(ReadError(*config), "problem_type: is not known: regression and single_label_classification are");
  (*config)["problem_type"] = "regression";
  (*config)["id2label"] = {{"0", "x"}, {"1", "y"}};
  EXPECT_EQ(ReadError(*config),
            "problem_type: regression of several numbers is not supported by inlier's models");
  (*config)["id2label"] = {{"0", "x"}};
  (*config)["classifier_dropout"] = 0.5;
  EXPECT_EQ(ReadError(*config),
            "classifier_dropout: differs from hidden_dropout_prob, and there is one dropout here");
}

}  // namespace
}  // namespace inlier
