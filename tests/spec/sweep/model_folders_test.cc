#include "spec/sweep/model_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "spec/hugging_face/config_keys.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"
#include "spec/trial/canonical.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

constexpr char kLlama[] = R"({"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24, "vocab_size": 500,
  "max_position_embeddings": 64, "rms_norm_eps": 1e-06, "rope_theta": 500000.0, "attention_dropout": 0.5})";
constexpr char kGpt2[] = R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 32,
  "vocab_size": 400, "activation_function": "relu"})";

class ModelFoldersTest : public testing::Test {
 protected:
  ModelFoldersTest() {
    Write("llama", kLlama);
    Write("gpt2", kGpt2);
  }
  void Write(const std::string& name, const std::string& config) {
    std::filesystem::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "config.json") << config;
  }
  absl::StatusOr<v1::SweepSpec> Read(const std::string& model, const std::string& rest = "",
                                     const std::vector<std::string>& overrides = {}) {
    return ReadSweepText(
        "name: s\nbase:\n  model: " + model +
            "\n  data: {text: {path: /t, tokenizer: {byte_pair: {vocab_size: 300}}, sequence_length: 8}}\n"
            "  training: {steps: 1}\n" +
            rest,
        "s.yaml", overrides);
  }
  std::string Named(const std::string& name) { return "{hugging_face: " + (folder_ / name).string() + "}"; }
  TemporaryFolder folder_;
};

TEST_F(ModelFoldersTest, TheSizesAndSettingsOfTheFolderAreTheSweeps) {
  const auto sweep = Read(Named("llama")).value();
  const v1::TrialSpec& base = sweep.base();
  EXPECT_EQ(base.model().llama().kv_heads(), 2u);
  EXPECT_EQ(base.model().llama().max_positions(), 64u);
  EXPECT_EQ(base.model().llama().rotary_theta(), 500000);
  EXPECT_EQ(base.model().llama().norm_epsilon(), 1e-6);
  EXPECT_EQ(base.norm(), v1::RMS_NORM_M);
  EXPECT_FALSE(base.attention().has_dropout()) << "the training's";
  // The same trial as with copied values.
  const auto copied = Read(
      "{llama: {layers: 2, hidden_size: 16, heads: 4, kv_heads: 2, ffn_size: 24, vocab_size: 500, "
      "max_positions: 64, "
      "norm_epsilon: 1e-6, rotary_theta: 500000}}\n  norm: RMS_NORM_M");
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(TrainFingerprint(copied->base()), TrainFingerprint(base));
}

TEST_F(ModelFoldersTest, WhatIsGivenBesideItStays) {
  const auto sweep = Read("{hugging_face: " + (folder_ / "llama").string() +
                          ", llama: {heads: 2, kv_heads: 1}}\n  norm: RMS_NORM_S\n  model.llama.layers: 3");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->base().model().llama().heads(), 2u);
  EXPECT_EQ(sweep->base().model().llama().layers(), 3u);
  EXPECT_EQ(sweep->base().model().llama().ffn_size(), 24u);
  EXPECT_EQ(sweep->base().norm(), v1::RMS_NORM_S);
}

TEST_F(ModelFoldersTest, VariantsNameFoldersToo) {
  const auto sweep = Read(Named("llama"),
                          "axes:\n  - name: model\n    variants:\n"
                          "      - {label: llama, set: {}}\n"
                          "      - {label: gpt2, set: {model: " +
                              Named("gpt2") + "}}\n");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const auto grid = CheckedGrid(*sweep).value();
  const auto point = grid.At(1).value();
  EXPECT_EQ(point.spec.model().gpt2().activation(), v1::RELU);
  EXPECT_EQ(point.spec.model().gpt2().ffn_size(), 32u);
  EXPECT_EQ(point.spec.norm(), v1::LAYER_NORM);
}

TEST_F(ModelFoldersTest, PartsOfOurOwnAreTakenWhereNoneAreGiven) {
  std::string config = kGpt2;
  config.replace(config.find("gpt2"), 4, "inlier_gpt2");
  config.insert(config.size() - 1,
                R"(, "inlier": {"attention": {"softmax": {"sink": {}}, "gate": {"linear": {}}}})");
  Write("own", config);
  const auto sweep = Read(Named("own")).value();
  EXPECT_TRUE(sweep.base().attention().softmax().has_sink());
  const auto other = Read(Named("own") + "\n  attention.softmax.clipped.gamma: -0.1").value();
  EXPECT_TRUE(other.base().attention().softmax().has_clipped());
  EXPECT_TRUE(other.base().attention().gate().has_linear());
}

TEST_F(ModelFoldersTest, ASetOfTheFolderIsTheFileWithIt) {
  const auto named = Read(Named("gpt2")).value();
  const auto set = Read("{gpt2: {layers: 7, hidden_size: 16, heads: 4}}", "",
                        {"model.hugging_face=" + (folder_ / "gpt2").string(), "model.gpt2.layers=3"});
  ASSERT_TRUE(set.ok()) << set.status();
  v1::SweepSpec expected = named;
  expected.mutable_base()->mutable_model()->mutable_gpt2()->set_layers(3);
  EXPECT_EQ(TrainFingerprint(set->base()), TrainFingerprint(expected.base()));
  EXPECT_THAT(std::string(Read(Named("gpt2"), "", {"model.hugging_face=/no/where"}).status().message()),
              testing::StartsWith("--set model.hugging_face=/no/where: /no/where: "));
}

// A folder that a --set replaces need not be there: not in the base, nor in a scale's.
TEST_F(ModelFoldersTest, ASetTakesThePlaceOfFoldersThatAreMissing) {
  const std::string start = "training.start_from.hugging_face", gpt2 = (folder_ / "gpt2").string();
  const std::string rest =
      "  " + start + ": org/missing\nscales: {small: {base: {model: {hugging_face: org/other}}}}\n";
  const std::vector<std::string> both = {"model.hugging_face=" + gpt2, start + "=" + gpt2};
  const auto set = Read("{hugging_face: org/missing}", rest, both).value();
  EXPECT_EQ(set.base().model().gpt2().layers(), 1u);
  EXPECT_EQ(set.base().training().start_from().hugging_face(), gpt2);
  for (const std::string& one : both) {
    EXPECT_THAT(std::string(Read("{hugging_face: org/missing}", rest, {one}).status().message()),
                testing::HasSubstr("hf download org/"));
  }
  const std::string axes =
      "axes:\n  - {name: model, variants: [{label: a, set: {model: {hugging_face: org/third}}}]}\n";
  EXPECT_THAT(std::string(Read("{hugging_face: org/missing}", axes, both).status().message()),
              testing::HasSubstr("hf download org/third"));
}

TEST_F(ModelFoldersTest, AStartIsNamedAsInTheHub) {
  const std::filesystem::path model = folder_ / "models--org--name";
  std::filesystem::create_directories(model / "refs");
  std::filesystem::create_directories(model / "snapshots" / "abc");
  std::ofstream(model / "refs" / "main") << "abc";
  ::setenv("HF_HUB_CACHE", folder_.path().c_str(), 1);
  const std::string folder = (model / "snapshots" / "abc").string();
  for (const std::string key :
       {"start_from: {hugging_face: org/name}", "start_from.hugging_face: org/name"}) {
    const auto sweep = Read(Named("gpt2"), "  training." + key + "\n").value();
    EXPECT_EQ(sweep.base().training().start_from().hugging_face(), folder);
  }
  const auto set = Read(Named("gpt2"), "", {"training.start_from.hugging_face=org/name"}).value();
  EXPECT_EQ(set.base().training().start_from().hugging_face(), folder);
  EXPECT_THAT(
      std::string(Read(Named("gpt2"), "  training.start_from.hugging_face: org/other\n").status().message()),
      testing::AllOf(testing::StartsWith("s.yaml:6:"), testing::HasSubstr("hf download org/other")));
  ::unsetenv("HF_HUB_CACHE");
}

TEST_F(ModelFoldersTest, ErrorsHaveThePlaceTheFolderAndTheKey) {
  const auto error = [this](const std::string& model) { return std::string(Read(model).status().message()); };
  EXPECT_THAT(error("{hugging_face: /no/where}"),
              testing::StartsWith("s.yaml:3:25: model.hugging_face: /no/where: "));
  Write("bad", R"({"model_type": "mamba"})");
  EXPECT_EQ(error(Named("bad")),
            "s.yaml:3:25: model.hugging_face: " + (folder_ / "bad" / "config.json").string() +
                ": model_type: is not known: " + NamesOfModelTypes() + " are");
  EXPECT_THAT(error("{hugging_face: [1]}"), testing::HasSubstr("hugging_face"));
}

}  // namespace
}  // namespace inlier
