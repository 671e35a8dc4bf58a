#include "spec/hugging_face/config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/config_keys.h"
#include "tests/core/hugging_face/small_specs.h"

namespace inlier {
namespace {

using nlohmann::json;

std::string ReadError(const json& config) {
  const auto spec = ParseHuggingFaceConfig(config);
  return spec.ok() ? "OK" : std::string(spec.status().message());
}

std::string ExportError(const v1::TrialSpec& spec) {
  const auto config = HuggingFaceConfigOfSpec(spec);
  return config.ok() ? "OK" : std::string(config.status().message());
}

void ExpectReadBack(const std::string& text) {
  SCOPED_TRACE(text);
  const v1::TrialSpec spec = SmallHubSpec(text);
  const std::int64_t outputs = SmallHubShape(spec).classes;
  const json config = HuggingFaceConfigOfSpec(spec, {.outputs = outputs}).value();
  const auto read = ParseHuggingFaceConfig(config).value();
  EXPECT_EQ(config.dump(), HuggingFaceConfigOfSpec(read.spec, {.outputs = outputs}).value().dump());
}

TEST(HuggingFaceConfigTest, AWrittenConfigIsReadAsTheSameModel) {
  for (const std::string& text : ExportableSpecs()) ExpectReadBack(text);
}

TEST(HuggingFaceConfigTest, SettingsThatNeitherTransformersNorOurCodeHasAreRefusedByName) {
  const auto error = [](const std::string& text) { return ExportError(SmallHubSpec(text)); };
  EXPECT_THAT(error("model { gpt2 { position: ROTARY } }"),
              ::testing::StartsWith("model.gpt2.position: transformers has no ROTARY positions"));
  EXPECT_THAT(error("model { llama { position: NONE } } norm: RMS_NORM_M"),
              ::testing::StartsWith("model.llama.position: "));
  EXPECT_THAT(error("model { bert { norm_placement: PRE } }"),
              ::testing::StartsWith("model.bert.norm_placement: "));
  for (const char* architecture : {"bert", "opt", "gpt2", "llama", "vit"}) {
    EXPECT_THAT(error(absl::StrCat("model { ", architecture, " { norm_placement: PERI } } norm: RMS_NORM_M")),
                ::testing::HasSubstr(".norm_placement: transformers has no PERI norms"));
  }
  EXPECT_THAT(error("model { llama {} } norm: DYT"), ::testing::StartsWith("norm: transformers has no DYT"));
  EXPECT_THAT(error("model { llama {} } norm: RMS_NORM_M norm_gate: 2"),
              ::testing::StartsWith("norm_gate: transformers has no gates of norms"));
}

// `inlier` in config.json of the model.
json OwnPartsOf(const std::string& text) {
  const auto config =
      HuggingFaceConfigOfSpec(SmallHubSpec(text), {.outputs = SmallHubShape(SmallHubSpec(text)).classes});
  return config.value().value("inlier", json());
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
  const auto quantized = HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} }"), {}, /*quantized=*/true);
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
        "model { vit { patch_norm: true } } attention { softmax { sigmoid {} } }",
        "model { gpt2 {} } attention { softmax { script { file: 'inlier_softmax.pt' row_sum: ONE } } }",
        "model { bert {} } attention { gate { script { file: 'inlier_gate.pt' } output_factor: 2 } }"}) {
    ExpectReadBack(text);
  }
  json config = *HuggingFaceConfigOfSpec(SmallHubSpec("model { gpt2 {} } norm: RMS_NORM_M"));
  config["inlier"]["norm"] = "BATCH_NORM";
  EXPECT_EQ(ReadError(config), "inlier.norm: is not known: LAYER_NORM, RMS_NORM_M and RMS_NORM_S are");
  config["inlier"] = json{{"attention", {{"softmax", {{"hard", json::object()}}}}}};
  EXPECT_THAT(ReadError(config), ::testing::StartsWith("inlier.attention: "));
  config["inlier"] = 3;
  EXPECT_EQ(ReadError(config), "inlier: has no attention; export the model again");
}

json Gpt2() {
  return {{"model_type", "gpt2"}, {"n_layer", 2},     {"n_embd", 8},
          {"n_head", 2},          {"n_positions", 4}, {"vocab_size", 9}};
}

std::string ErrorWith(json config, const char* key, const json& value) {
  config[key] = value;
  return ReadError(config);
}

TEST(HuggingFaceConfigTest, SettingsThatInlierLacksAreRefusedByKey) {
  EXPECT_EQ(ReadError(json::array()), "config.json: is not an object of keys and values");
  EXPECT_EQ(ReadError({{"model_type", "mamba"}}),
            absl::StrCat("model_type: is not known: ", NamesOfModelTypes(), " are"));
  EXPECT_THAT(NamesOfModelTypes(), ::testing::HasSubstr("vit and deit"));
  EXPECT_EQ(ReadError({{"model_type", "bert"}}),
            "num_hidden_layers: is missing: this is not a whole config.json");
  EXPECT_EQ(ReadError(Gpt2()), "OK");
  const auto with = [](const char* key, const json& value) { return ErrorWith(Gpt2(), key, value); };
  EXPECT_EQ(with("scale_attn_by_inverse_layer_idx", true),
            "scale_attn_by_inverse_layer_idx: true is not supported by inlier's models: only false is");
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
  auto config =
      HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} } data { classification {} }"), {.outputs = 3});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ((*config)["architectures"], json::array({"BertForSequenceClassification"}));
  EXPECT_EQ((*config)["problem_type"], "single_label_classification");
  EXPECT_EQ((*config)["id2label"], (json{{"0", "LABEL_0"}, {"1", "LABEL_1"}, {"2", "LABEL_2"}}));
  const auto target = [&config] {
    const auto spec = ParseHuggingFaceConfig(*config).value();
    EXPECT_TRUE(spec.spec.data().has_classification());
    return spec.spec.data().classification().target();
  };
  EXPECT_EQ(target(), v1::ClassificationDataSpec::CLASS);
  config->erase("id2label");
  (*config)["problem_type"] = nullptr;
  EXPECT_EQ(target(), v1::ClassificationDataSpec::CLASS) << "two classes are not written";
  (*config)["id2label"] = {{"0", "LABEL_0"}};
  EXPECT_EQ(target(), v1::ClassificationDataSpec::NUMBER) << "one output";
  (*config)["architectures"] = {"BertForMaskedLM"};
  EXPECT_FALSE(ParseHuggingFaceConfig(*config)->spec.has_data());

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

// transformers takes null for false, where a class reads it as a flag, and fails for numbers; only keys that it fills in
// itself may be null.
TEST(HuggingFaceConfigTest, NullIsNotTakenForADefault) {
  const json bert = *HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} }"));
  EXPECT_EQ(ErrorWith(bert, "position_embedding_type", nullptr),
            "position_embedding_type: null is not supported by inlier's models: only \"absolute\" is");
  EXPECT_EQ(ErrorWith(bert, "hidden_act", nullptr),
            "hidden_act: is not known: gelu, gelu_new, gelu_pytorch_tanh, relu and silu are");
  EXPECT_EQ(ErrorWith(bert, "layer_norm_eps", nullptr), "layer_norm_eps: is not a number");
  EXPECT_EQ(ErrorWith(bert, "type_vocab_size", nullptr),
            "type_vocab_size: null is not supported by inlier's models: only 2 is");
  EXPECT_EQ(ErrorWith(Gpt2(), "scale_attn_weights", nullptr),
            "scale_attn_weights: null is not supported by inlier's models: only true is");
  EXPECT_EQ(ErrorWith(Gpt2(), "tie_word_embeddings", nullptr),
            "tie_word_embeddings: is neither true nor false");
  for (const char* filled :
       {"n_inner", "resid_pdrop", "is_encoder_decoder", "pruned_heads", "transformers_weights"})
    EXPECT_EQ(ErrorWith(Gpt2(), filled, nullptr), "OK") << filled;
}

TEST(HuggingFaceConfigTest, KeysThatChangeTheFunctionAreRefused) {
  const json bert = *HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} }"));
  const json opt = *HuggingFaceConfigOfSpec(SmallHubSpec("model { opt {} }"));
  const json llama = *HuggingFaceConfigOfSpec(SmallHubSpec("model { llama {} } norm: RMS_NORM_M"));
  const json vit = *HuggingFaceConfigOfSpec(SmallHubSpec("model { vit {} }"));
  json mistral = llama, qwen2 = llama;
  mistral["model_type"] = "mistral";
  qwen2["model_type"] = "qwen2";
  const struct {
    json config;
    const char* key;
    json value;
  } cases[] = {{bert, "position_embedding_type", "relative_key"},
               {bert, "is_decoder", true},
               {bert, "tie_word_embeddings", false},
               {bert, "pruned_heads", {{"0", {1}}}},
               {bert, "add_cross_attention", true},
               {bert, "architectures", "BertForMaskedLM"},
               {opt, "enable_bias", false},
               {opt, "layer_norm_elementwise_affine", false},
               {opt, "_remove_final_layer_norm", true},
               {Gpt2(), "scale_attn_weights", false},
               {Gpt2(), "num_attention_heads", 4},
               {Gpt2(), "activation_function", 3},
               {Gpt2(), "transformers_weights", "other.safetensors"},
               {Gpt2(), "auto_map", {{"AutoModelForCausalLM", "modeling.Mine"}}},
               {llama, "mlp_bias", 1},
               {llama, "head_dim", 0},
               {llama, "partial_rotary_factor", 0.5},
               {llama, "sliding_window", 4},
               {llama, "is_causal", false},
               {llama, "layer_types", {"full_attention", "sliding_attention"}},
               {llama, "rope_scaling", {{"type", "longrope"}, {"factor", 2.0}}},
               {llama, "rope_scaling", {{"type", "linear"}}},
               {llama, "rope_scaling", {{"type", "linear"}, {"factor", 2.0}, {"mrope_section", {1}}}},
               {llama, "rope_scaling", {{"type", "yarn"}, {"factor", 2.0}, {"truncate", 1}}},
               {mistral, "layer_types", {"full_attention", "sliding_attention"}},
               {qwen2, "use_sliding_window", 1},
               {qwen2, "max_window_layers", -1},
               {qwen2, "num_hidden_layers", 4294967295},
               {llama, "rope_scaling", "linear"},
               {llama, "rope_scaling", 3},
               {llama, "rope_parameters", {{"rope_type", "default"}, {"rope_theta", "a lot"}}},
               {llama, "rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}},
               {llama, "rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}},
               {vit, "qkv_bias", false},
               {vit, "id2label", {{"7", "x"}}},
               {vit, "id2label", json::array({1})}};
  for (const auto& [config, key, value] : cases)
    EXPECT_THAT(ErrorWith(config, key, value), ::testing::StartsWith(key)) << value;
  EXPECT_EQ(ErrorWith(Gpt2(), "auto_map", {{"AutoTokenizer", "tokenization.Mine"}}), "OK");
  EXPECT_EQ(ErrorWith(llama, "partial_rotary_factor", 1.0), "OK");
}

// Up to the version that was read for the tables, an unknown key is one that no class of transformers reads.
TEST(HuggingFaceConfigTest, AnUnknownKeyOfALaterTransformersIsRefused) {
  json config = Gpt2();
  config["rotary_shift"] = 3;
  for (const char* version : {"4.57.6", "5.24.0", "4.99", "odd"}) {
    EXPECT_EQ(ErrorWith(config, "transformers_version", version), "OK") << version;
  }
  EXPECT_EQ(
      ErrorWith(config, "transformers_version", "5.25.0"),
      "\"rotary_shift\": is not known, and transformers 5.25, which wrote the file, may give it a meaning; "
      "remove the key if the model is the same without it");
  EXPECT_EQ(ErrorWith(Gpt2(), "transformers_version", "6.0.0"), "OK");
}

// Written by LlamaConfig of transformers 5.24.
TEST(HuggingFaceConfigTest, FoldersOfTransformersFiveAreRead) {
  const json llama = json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1,
    "dtype": "float32", "eos_token_id": 2, "head_dim": 4, "hidden_act": "silu", "hidden_size": 16,
    "initializer_range": 0.02, "intermediate_size": 24, "max_position_embeddings": 2048, "mlp_bias": false,
    "model_type": "llama", "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
    "pad_token_id": null, "pretraining_tp": 1, "rms_norm_eps": 1e-06,
    "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}, "tie_word_embeddings": true,
    "transformers_version": "5.24.0", "use_cache": true, "vocab_size": 31})");
  const auto read = ParseHuggingFaceConfig(llama).value();
  EXPECT_EQ(read.spec.model().llama().rotary_theta(), 500000);
  EXPECT_TRUE(read.spec.model().llama().tied_head());
  EXPECT_EQ(read.spec.model().llama().kv_heads(), 2u);
  json qwen = llama;
  qwen.update({{"model_type", "qwen2"},
               {"use_sliding_window", true},
               {"sliding_window", 8},
               {"max_window_layers", 1}});
  const v1::LlamaSpec read_qwen = ParseHuggingFaceConfig(qwen)->spec.model().llama();
  EXPECT_TRUE(read_qwen.qkv_biases());
  EXPECT_FALSE(read_qwen.has_head_size()) << "which is hidden_size / heads";
  EXPECT_EQ(read_qwen.window(), 8u);
  EXPECT_EQ(read_qwen.window_from(), 1u);
  qwen["model_type"] = "phi3";
  EXPECT_THAT(ReadError(qwen), ::testing::StartsWith("model_type: is not known: bert, "));
}

TEST(HuggingFaceConfigTest, TheBodyOfAClassifierIsReadWithoutItsHeadsSettings) {
  json config =
      *HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} } data { classification {} }"), {.outputs = 3});
  config["problem_type"] = "multi_label_classification";
  config["classifier_dropout"] = 0.5;
  config["id2label"] = 7;
  const auto body = ParseHuggingFaceConfig(config, FolderPart::kBody).value();
  EXPECT_TRUE(body.other_head);
  EXPECT_FALSE(body.spec.has_data());
  config["architectures"] = {"BertForQuestionAnswering"};
  config["tie_word_embeddings"] = false;
  EXPECT_EQ(ReadError(config), "OK") << "a head that is not read";
  config["architectures"] = {"BertForMaskedLM"};
  EXPECT_THAT(ReadError(config), ::testing::StartsWith("tie_word_embeddings: false is not supported"));
}

TEST(HuggingFaceConfigTest, ClassesAndTokensOfTheDataAreWritten) {
  const json bert = *HuggingFaceConfigOfSpec(SmallHubSpec("model { bert {} } data { classification {} }"),
                                             {.outputs = 2, .class_names = {"bad", "good"}, .pad = 5});
  EXPECT_EQ(bert["id2label"], (json{{"0", "bad"}, {"1", "good"}}));
  EXPECT_EQ(bert["label2id"], (json{{"bad", 0}, {"good", 1}}));
  EXPECT_EQ(bert["pad_token_id"], 5);
  EXPECT_EQ(ParseHuggingFaceConfig(bert)->class_names, (std::vector<std::string>{"bad", "good"}));
  EXPECT_THAT(ErrorWith(bert, "label2id", {{"bad", 1}, {"good", 0}}), ::testing::StartsWith("label2id: "));

  const json gpt2 = *HuggingFaceConfigOfSpec(SmallHubSpec("model { gpt2 {} }"), {.separator = 2, .pad = 1});
  EXPECT_EQ((json{gpt2["bos_token_id"], gpt2["eos_token_id"], gpt2["pad_token_id"]}), (json{2, 2, 1}));
  const json unknown = *HuggingFaceConfigOfSpec(SmallHubSpec("model { gpt2 {} }"));
  EXPECT_TRUE(unknown["eos_token_id"].is_null()) << "not transformers' 50256, of another vocabulary";
}

std::string Difference(const std::string& source, const std::string& trial, bool by_key = true) {
  return std::string(CheckSameFunction(SmallHubSpec(source), SmallHubSpec(trial),
                                       by_key ? ArchitectureName(SmallHubSpec(source).model()) : "")
                         .message());
}

TEST(HuggingFaceConfigTest, ATrialOfAnotherFunctionThanItsSourceIsRefused) {
  v1::TrialSpec two = SmallHubSpec("model { gpt2 {} }");
  two.mutable_model()->mutable_gpt2()->set_heads(2);
  EXPECT_EQ(
      CheckSameFunction(SmallHubSpec("model { gpt2 {} }"), two, "gpt2").message(),
      "n_head: the model was trained with model.gpt2.heads 4, and the trial has 2; set model.gpt2.heads: 4");
  EXPECT_EQ(Difference("model { gpt2 {} }", "model { gpt2 { activation: RELU } }", false),
            "the model was trained with model.gpt2.activation GELU_TANH, and the trial has RELU; set "
            "model.gpt2.activation: GELU_TANH");
  const struct {
    const char *source, *trial, *begin;
  } cases[] = {
      {"model { llama { rotary_theta: 500000 } }", "model { llama {} }", "rope_theta: "},
      {"model { llama { norm_epsilon: 1e-6 } }", "model { llama {} }", "rms_norm_eps: "},
      {"model { llama { kv_heads: 2 } }", "model { llama {} }", "num_key_value_heads: "},
      {"model { llama { rotary_scaling { linear { factor: 2 } } } }", "model { llama {} }",
       "the model was trained with model.llama.rotary_scaling"},
      {"model { llama { head_size: 8 } }", "model { llama {} }", "head_dim: "},
      {"model { llama { qkv_biases: true } }", "model { llama {} }",
       "the model was trained with model.llama.qkv_biases true"},
      {"model { gpt2 { tied_head: false } }", "model { gpt2 {} }", "tie_word_embeddings: "},
      {"model { opt { norm_placement: POST } }", "model { opt {} }", "do_layer_norm_before: "},
      {"model { opt {} }", "model { opt { norm_epsilon: 1e-3 } }",
       "the model was trained with model.opt.norm_epsilon"},
      {"model { bert {} }", "model { bert { position: NONE } }",
       "the model was trained with model.bert.position"},
      {"model { bert {} }", "model { opt {} }", "model_type: the model is bert, and the trial's is opt"},
      {"model { gpt2 {} } norm: RMS_NORM_M", "model { gpt2 {} }",
       "the model was trained with norm RMS_NORM_M"},
      {"model { gpt2 {} } attention { gate { linear {} output_factor: 2 } }",
       "model { gpt2 {} } attention { gate { linear {} } }",
       "the model was trained with attention.gate.output_factor"},
      {"model { gpt2 {} } attention { query_key_norm: HEAD_RMS }",
       "model { gpt2 {} } attention { query_key_norm: HEAD_LAYER }",
       "the model was trained with attention.query_key_norm"},
      {"model { gpt2 {} } residual_gain: 0.5", "model { gpt2 {} }",
       "the model was trained with residual_gain"},
      {"model { gpt2 {} }", "model { gpt2 {} } residual_gain: 0.5",
       "the model was trained with residual_gain"},
      {"model { gpt2 {} } attention { window: 8 }", "model { gpt2 {} }",
       "the model was trained with attention.window"},
      {"model { gpt2 {} } attention { document_mask: true }", "model { gpt2 {} }",
       "the model was trained with attention.document_mask"},
      {"model { gpt2 {} } attention { softmax { softmax_n {} } }", "model { gpt2 {} }",
       "the model was trained with attention.softmax softmax_n"}};
  for (const auto& [source, trial, begin] : cases)
    EXPECT_THAT(Difference(source, trial), ::testing::StartsWith(begin)) << source << " -> " << trial;
  // Parts that a trial adds, and settings of training alone.
  for (const auto& [source, trial] :
       {std::pair("model { llama {} }", "model { llama { kv_heads: 4 initial_std: 0.5 } } dropout: 0.5"),
        std::pair("model { gpt2 {} }", "model { gpt2 { position: LEARNED rotary_theta: 3 } }"),
        std::pair("model { opt {} }",
                  "model { opt { embedding_size: 16 } } attention { softmax { clipped { gamma: "
                  "-0.1 } } gate { linear {} output_factor: 2 } query_key_norm: HEAD_RMS }")})
    EXPECT_EQ(Difference(source, trial), "");
}

}  // namespace
}  // namespace inlier