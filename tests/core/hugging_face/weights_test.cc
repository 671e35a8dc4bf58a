#include "core/hugging_face/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include "core/io/safetensors.h"
#include "core/models/make_model.h"
#include "nlohmann/json.hpp"
#include "tests/core/hugging_face/small_specs.h"
#include "tests/core/support/test_scripts.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

std::shared_ptr<Model> RandomModel(const v1::TrialSpec& spec) {
  auto model = MakeModel(spec, SmallHubShape(spec)).value();
  torch::manual_seed(3);
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : model->parameters()) parameter.normal_(0, 0.3);
  model->eval();
  return model;
}

ModelInput SomeInput(const v1::TrialSpec& spec) {
  torch::manual_seed(4);
  ModelInput input;
  if (spec.model().has_vit()) {
    input.pixels = torch::randn({2, 3, 8, 8});
  } else {
    input.ids = torch::randint(2, 31, {2, 10}, at::kLong);
  }
  return input;
}

class HuggingFaceWeightsTest : public ::testing::Test {
 protected:
  // Into the folder; replaces the model in it.
  absl::Status Export(const v1::TrialSpec& spec, const Model& model) {
    return ExportHuggingFaceModel(spec, model, folder_.path(),
                                  {.replace = true, .quantized = false, .files = {}});
  }
  // An exported small BERT; a test may then damage its tensors.
  void ExportBert() {
    const v1::TrialSpec spec = SmallHubSpec("model { bert {} }");
    ASSERT_TRUE(Export(spec, *RandomModel(spec)).ok());
  }
  TensorMap Tensors() { return LoadSafetensors(folder_.path() / "model.safetensors").value(); }
  std::string ErrorWith(const TensorMap& tensors) {
    EXPECT_TRUE(SaveSafetensors(folder_.path() / "model.safetensors", tensors).ok());
    const auto opened = OpenHuggingFaceModel(folder_.path());
    return opened.ok() ? "OK" : std::string(opened.status().message());
  }

  TemporaryFolder folder_;
};

TEST_F(HuggingFaceWeightsTest, AnExportedModelIsReadBackWithTheSameLogits) {
  for (const std::string& text : ExportableSpecs()) {
    const v1::TrialSpec spec = SmallHubSpec(text);
    const auto model = RandomModel(spec);
    ASSERT_TRUE(Export(spec, *model).ok()) << text;
    const auto opened = OpenHuggingFaceModel(folder_.path());
    ASSERT_TRUE(opened.ok()) << text << ": " << opened.status();
    EXPECT_TRUE(opened->has_head);
    const ModelInput input = SomeInput(spec);
    EXPECT_TRUE(torch::allclose(opened->model->Logits(input), model->Logits(input), 1e-5, 1e-5)) << text;
  }
}

TEST_F(HuggingFaceWeightsTest, ScriptsGoWithTheFolder) {
  const TemporaryFolder scripts;
  const std::string softmax = WriteScript(scripts.path() / "a.pt", SoftmaxBytes(kOwnSoftmax));
  const std::string gate = WriteScript(scripts.path() / "b.pt", OwnGateBytes(4));
  const v1::TrialSpec spec =
      SmallHubSpec("model { gpt2 {} } attention { softmax { script { file: '" + softmax +
                   "' row_sum: ANY } } gate { script { file: '" + gate + "' } output_factor: 2 } }");
  const auto model = RandomModel(spec);
  const absl::Status exported = Export(spec, *model);
  ASSERT_TRUE(exported.ok()) << exported;
  const ModelInput input = SomeInput(spec);
  const at::Tensor logits = model->Logits(input);
  std::filesystem::remove(softmax);
  std::filesystem::remove(gate);
  const auto opened = OpenHuggingFaceModel(folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->model->Logits(input).equal(logits));
  EXPECT_EQ(opened->spec.attention().softmax().script().row_sum(), v1::ScriptSoftmaxSpec::ANY);
  // Without the file, and with another one that config.json names.
  std::filesystem::remove(folder_.path() / "inlier_gate.pt");
  EXPECT_THAT(std::string(OpenHuggingFaceModel(folder_.path()).status().message()),
              testing::HasSubstr((folder_.path() / "inlier_gate.pt").string()));
}

TEST_F(HuggingFaceWeightsTest, NothingIsWrittenForAModelThatTransformersCannotExpress) {
  const v1::TrialSpec spec = SmallHubSpec("model { bert { norm_placement: PRE } }");
  const auto target = folder_.path() / "out";
  EXPECT_EQ(ExportHuggingFaceModel(spec, *RandomModel(spec), target).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(HuggingFaceWeightsTest, NothingIsOverwrittenUnlessAModelIsToBeReplaced) {
  const v1::TrialSpec spec = SmallHubSpec("model { bert {} }");
  const v1::TrialSpec clipped =
      SmallHubSpec("model { bert {} } attention { softmax { clipped { gamma: -0.03 } } }");
  const auto target = folder_.path() / "deep" / "out/";  // A slash at the end is the same folder.
  ASSERT_TRUE(ExportHuggingFaceModel(clipped, *RandomModel(clipped), target).ok());
  EXPECT_TRUE(std::filesystem::exists(target / "modeling_inlier.py"));
  const absl::Status refused = ExportHuggingFaceModel(spec, *RandomModel(spec), target);
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.message()), ::testing::EndsWith("or give --force"));
  EXPECT_TRUE(std::filesystem::exists(target / "modeling_inlier.py")) << "it is as it was";

  const ExportOptions replace{.replace = true, .quantized = false, .files = {{"vocab.txt", "x\n"}}};
  ASSERT_TRUE(ExportHuggingFaceModel(spec, *RandomModel(spec), target, replace).ok());
  EXPECT_FALSE(std::filesystem::exists(target / "modeling_inlier.py")) << "the old model has gone whole";
  EXPECT_TRUE(std::filesystem::exists(target / "vocab.txt"));

  std::filesystem::create_directory(target / "thesis");
  const absl::Status kept = ExportHuggingFaceModel(spec, *RandomModel(spec), target, replace);
  EXPECT_THAT(std::string(kept.message()), ::testing::HasSubstr("is not a folder with a model alone"));
  EXPECT_TRUE(std::filesystem::exists(target / "thesis"));
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path() / "deep"))
    ++entries;
  EXPECT_EQ(entries, 1) << "nothing else is left";
}

TEST_F(HuggingFaceWeightsTest, ABaseModelBuffersAndOldNamesAreUnderstood) {
  ExportBert();
  const auto whole = OpenHuggingFaceModel(folder_.path()).value();
  TensorMap base;
  for (const auto& [name, tensor] : Tensors()) {
    if (name.rfind("cls.", 0) == 0) continue;
    std::string stored = name.substr(5);
    if (stored == "embeddings.LayerNorm.weight") stored = "embeddings.LayerNorm.gamma";
    base[stored] = tensor;
  }
  base["embeddings.position_ids"] = torch::arange(12);
  base["pooler.dense.weight"] = torch::zeros({16, 16});
  ASSERT_EQ(ErrorWith(base), "OK");
  const auto opened = OpenHuggingFaceModel(folder_.path());
  EXPECT_FALSE(opened->has_head);
  EXPECT_TRUE(opened->model->named_parameters()["bert.embeddings.LayerNorm.weight"].equal(
      whole.model->named_parameters()["bert.embeddings.LayerNorm.weight"]));
}

// Fine-tuning: the body from pre-training, the missing head newly drawn, the old head dropped.
TEST_F(HuggingFaceWeightsTest, AClassifierStartsFromAMaskedLanguageModelWithAFreshHead) {
  ExportBert();
  const v1::TrialSpec spec = SmallHubSpec("model { bert {} } data { classification {} }");
  const auto classifier = RandomModel(spec);
  const auto before = classifier->named_parameters();
  const at::Tensor classifier_before = before["classifier.weight"].clone();
  const auto fresh = LoadStartingWeights(folder_.path(), {.spec = spec}, *classifier).value();
  EXPECT_THAT(fresh, ::testing::UnorderedElementsAre("bert.pooler.dense.weight", "bert.pooler.dense.bias",
                                                     "classifier.weight", "classifier.bias"));
  EXPECT_TRUE(classifier->named_parameters()["classifier.weight"].equal(classifier_before));
  const std::string query = "bert.encoder.layer.1.attention.self.query.weight";
  EXPECT_TRUE(classifier->named_parameters()[query].equal(Tensors().at(query)));

  // A published model brings its pooler, under a base model's name or not.
  for (const std::string name : {"bert.pooler.dense.", "pooler.dense."}) {
    TensorMap tensors = Tensors();
    tensors[name + "weight"] = torch::full({16, 16}, 0.5);
    tensors[name + "bias"] = torch::full({16}, 0.25);
    ASSERT_TRUE(SaveSafetensors(folder_ / "with_pooler.safetensors", tensors).ok());
    const auto with_pooler =
        LoadStartingWeights(folder_ / "with_pooler.safetensors", {.spec = spec}, *classifier).value();
    EXPECT_THAT(with_pooler, ::testing::UnorderedElementsAre("classifier.weight", "classifier.bias"));
    EXPECT_EQ(classifier->named_parameters()["bert.pooler.dense.bias"][3].item<double>(), 0.25);
  }
}

TEST_F(HuggingFaceWeightsTest, TheBodyOfAClassifierIsALanguageModelWithoutAHead) {
  const v1::TrialSpec spec = SmallHubSpec("model { bert {} } data { classification {} }");
  ASSERT_TRUE(Export(spec, *RandomModel(spec)).ok());
  const auto body = OpenHuggingFaceBody(folder_.path()).value();
  EXPECT_FALSE(body.has_head);
  EXPECT_FALSE(body.spec.has_data());
  EXPECT_EQ(body.model->Logits(SomeInput(spec)).sizes(), (std::vector<std::int64_t>{2, 10, 31}));

  TensorMap tensors = Tensors();
  tensors.erase("classifier.weight");
  EXPECT_THAT(ErrorWith(tensors),
              ::testing::EndsWith("no matrix classifier.weight, which config.json asks for"));
}

TEST_F(HuggingFaceWeightsTest, ShardsAreReadTogether) {
  ExportBert();
  const auto whole = OpenHuggingFaceModel(folder_.path());
  TensorMap first, second;
  std::string map;
  for (const auto& [name, tensor] : Tensors()) {
    const bool even = first.size() <= second.size();
    (even ? first : second)[name] = tensor;
    map += (map.empty() ? "" : ",") + ("\"" + name + "\": \"part-" + (even ? "1" : "2") + ".safetensors\"");
  }
  std::filesystem::remove(folder_.path() / "model.safetensors");
  ASSERT_TRUE(SaveSafetensors(folder_.path() / "part-1.safetensors", first).ok());
  ASSERT_TRUE(SaveSafetensors(folder_.path() / "part-2.safetensors", second).ok());
  const auto index = folder_.path() / "model.safetensors.index.json";
  std::ofstream(index) << "{\"weight_map\": {" << map << "}}";
  const auto opened = OpenHuggingFaceModel(folder_.path()).value();
  const ModelInput input = SomeInput(whole->spec);
  EXPECT_TRUE(opened.model->Logits(input).equal(whole->model->Logits(input)));

  std::ofstream(index) << R"({"weight_map": {"x": "../../etc/passwd"}})";
  EXPECT_THAT(std::string(OpenHuggingFaceModel(folder_.path()).status().message()),
              ::testing::EndsWith(": one of its tensors is in no file of this folder"));
}

// Gates of zero weights, half open, and a factor of two: the trained model, before it learns to use them.
// Bondarenko et al. 2023, B.6. With the reference's small normal weights the logits move a little.
TEST_F(HuggingFaceWeightsTest, GatesAddedToATrainedModelChangeNothingAtFirst) {
  for (const std::string architecture : {"opt", "bert"}) {
    const v1::TrialSpec trained = SmallHubSpec("model { " + architecture + " {} }");
    const auto model = RandomModel(trained);
    ASSERT_TRUE(Export(trained, *model).ok());
    const ModelInput input = SomeInput(trained);
    const at::Tensor before = model->Logits(input);
    const auto difference = [&](const std::string& initial_std) {
      const v1::TrialSpec gated = SmallHubSpec(
          "model { " + architecture +
          " {} } attention { gate { linear { pi_init: 0.5 } output_factor: 2 initial_std: " + initial_std +
          " } }");
      const auto made = MakeModel(gated).value();
      InitialiseWeights(*made, gated, 7);
      const auto fresh = LoadStartingWeights(folder_.path(), {.spec = gated}, *made).value();
      EXPECT_EQ(fresh.size(), 2 * 4 * 2u) << "a weight and a bias of each head";
      made->eval();
      return (made->Logits(input) - before).abs().max().item<double>() / before.abs().max().item<double>();
    };
    EXPECT_LT(difference("0"), 1e-6) << architecture;
    EXPECT_GT(difference("0.01"), 1e-6) << architecture;
    EXPECT_LT(difference("0.01"), 0.05) << architecture;
  }
}

TEST_F(HuggingFaceWeightsTest, AStartThatDoesNotFitIsNamedWithItsTensor) {
  const v1::TrialSpec spec = SmallHubSpec("model { opt {} }");
  ASSERT_TRUE(Export(spec, *RandomModel(spec)).ok());
  v1::TrialSpec wider = spec;
  wider.mutable_model()->mutable_opt()->set_vocab_size(40);
  EXPECT_THAT(
      std::string(
          LoadStartingWeights(folder_.path(), {.spec = wider}, *RandomModel(wider)).status().message()),
      ::testing::EndsWith("the tensor model.decoder.embed_tokens.weight has shape (31, 16) where the "
                          "trial's model asks for (40, 16); give the model vocab_size 31 and the "
                          "tokenizer that it was trained with"));
  wider = spec;
  wider.mutable_model()->mutable_opt()->set_max_positions(20);
  EXPECT_THAT(
      std::string(
          LoadStartingWeights(folder_.path(), {.spec = wider}, *RandomModel(wider)).status().message()),
      ::testing::EndsWith("asks for (22, 16); give the model max_positions 12"));
  // A single file, as inlier's checkpoints are, is read too.
  EXPECT_TRUE(LoadStartingWeights(folder_ / "model.safetensors", {.spec = spec}, *RandomModel(spec)).ok());
}

TEST_F(HuggingFaceWeightsTest, MismatchesNameTheirTensor) {
  ExportBert();
  const TensorMap tensors = Tensors();
  const std::string query = "bert.encoder.layer.1.attention.self.query.weight";
  TensorMap spoilt = tensors;
  spoilt.erase(query);
  EXPECT_THAT(ErrorWith(spoilt),
              ::testing::EndsWith("the tensor " + query + " that config.json asks for is missing"));
  spoilt[query] = torch::zeros({16, 8});
  EXPECT_THAT(
      ErrorWith(spoilt),
      ::testing::EndsWith("the tensor " + query + " has shape (16, 8) where config.json asks for (16, 16)"));
  spoilt[query] = tensors.at(query).clone();
  spoilt[query][0].fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(ErrorWith(spoilt),
              ::testing::HasSubstr("the tensor " + query + " holds 16 of 256 values that are not finite"));
  spoilt = tensors;
  spoilt["bert.encoder.layer.2.output.dense.weight"] = torch::zeros({2, 2});
  EXPECT_THAT(
      ErrorWith(spoilt),
      ::testing::ContainsRegex("has no place for the tensor number [0-9]+ of model.safetensors's header"));
  std::filesystem::resize_file(folder_.path() / "model.safetensors", 1000);
  EXPECT_EQ(OpenHuggingFaceModel(folder_.path()).status().code(), absl::StatusCode::kDataLoss);
  std::filesystem::remove(folder_.path() / "model.safetensors");
  EXPECT_THAT(std::string(OpenHuggingFaceModel(folder_.path()).status().message()),
              ::testing::HasSubstr("safe_serialization=True"));
  EXPECT_EQ(OpenHuggingFaceModel(folder_.path() / "nowhere").status().code(), absl::StatusCode::kNotFound);
}

// As transformers leaves it: a save in shards, then one whole.
TEST_F(HuggingFaceWeightsTest, AnIndexBesideAWholeFileIsOld) {
  ExportBert();
  const auto whole = OpenHuggingFaceModel(folder_.path()).value();
  const auto index = folder_ / "model.safetensors.index.json";
  std::ofstream(index) << R"({"weight_map": {"x": "part-1.safetensors"}})";
  EXPECT_TRUE(OpenHuggingFaceModel(folder_.path()).ok()) << "its shards have gone";
  ASSERT_TRUE(SaveSafetensors(folder_ / "part-1.safetensors", {{"x", torch::zeros({2})}}).ok());
  const auto opened = OpenHuggingFaceModel(folder_.path()).value();
  const ModelInput input = SomeInput(whole.spec);
  EXPECT_TRUE(opened.model->Logits(input).equal(whole.model->Logits(input)));

  ASSERT_TRUE(SaveSafetensors(folder_ / "part-2.safetensors", {{"x", torch::ones({2})}}).ok());
  std::filesystem::remove(folder_ / "model.safetensors");
  std::ofstream(index) << R"({"weight_map": {"x": "part-1.safetensors", "y": "part-2.safetensors"}})";
  EXPECT_THAT(std::string(OpenHuggingFaceModel(folder_.path()).status().message()),
              ::testing::EndsWith("the tensor number 1 of its header is in another file too"));
}

TEST_F(HuggingFaceWeightsTest, HeadsForOtherPurposesAreLeftOut) {
  ExportBert();
  nlohmann::json config = nlohmann::json::parse(std::ifstream(folder_ / "config.json"));
  TensorMap tensors = Tensors();
  tensors["qa_outputs.weight"] = torch::zeros({2, 16});
  EXPECT_THAT(ErrorWith(tensors), ::testing::HasSubstr("has no place for the tensor number"));
  config["architectures"] = {"BertForQuestionAnswering"};
  std::ofstream(folder_ / "config.json") << config;
  const auto opened = OpenHuggingFaceBody(folder_.path()).value();
  EXPECT_FALSE(opened.has_head) << "the head of another class";
  tensors["bert.encoder.adapter.weight"] = torch::zeros({2, 2});
  EXPECT_THAT(ErrorWith(tensors), ::testing::HasSubstr("has no place for the tensor number"))
      << "it is of the body";
}

// A config.json of some hundred bytes must not take more memory than its weights.
TEST_F(HuggingFaceWeightsTest, SizesAreComparedWithTheWeightsBeforeAModelIsMade) {
  ExportBert();
  const nlohmann::json config = nlohmann::json::parse(std::ifstream(folder_ / "config.json"));
  const auto error = [&](const char* key, std::uint64_t value) {
    nlohmann::json changed = config;
    changed[key] = value;
    std::ofstream(folder_ / "config.json") << changed;
    return std::string(OpenHuggingFaceModel(folder_.path()).status().message());
  };
  EXPECT_THAT(error("num_hidden_layers", 2'000'000'000),
              ::testing::HasSubstr("config.json: num_hidden_layers: is 2e+09, and the weights have "));
  for (const char* key : {"vocab_size", "intermediate_size", "max_position_embeddings", "hidden_size"})
    EXPECT_THAT(error(key, 4294967295), ::testing::HasSubstr("more than the ")) << key;
  EXPECT_THAT(error("num_attention_heads", 4294967295), ::testing::HasSubstr("does not divide hidden_size"));
}

TEST_F(HuggingFaceWeightsTest, AStartFromAFolderOfAnotherFunctionIsRefusedByItsKey) {
  const v1::TrialSpec spec = SmallHubSpec("model { gpt2 {} }");
  ASSERT_TRUE(Export(spec, *RandomModel(spec)).ok());
  v1::TrialSpec other = spec;
  other.mutable_model()->mutable_gpt2()->set_heads(2);
  EXPECT_EQ(LoadStartingWeights(folder_.path(), {.spec = other}, *RandomModel(other)).status().message(),
            (folder_ / "config.json").string() +
                ": n_head: the model was trained with model.gpt2.heads 4, and the trial has 2; set "
                "model.gpt2.heads: 4");
  std::filesystem::remove(folder_ / "config.json");
  EXPECT_THAT(
      std::string(LoadStartingWeights(folder_.path(), {.spec = spec}, *RandomModel(spec)).status().message()),
      ::testing::HasSubstr("config.json"));
}

TEST_F(HuggingFaceWeightsTest, OutputsGoWhereTheDataHaveTheirClass) {
  const v1::TrialSpec spec = SmallHubSpec("model { bert {} } data { classification {} }");
  const auto trained = RandomModel(spec);
  const auto start = [&](const std::vector<std::string>& names, const std::vector<std::string>& classes) {
    ExportOptions options{.replace = true, .quantized = false, .files = {}, .data = {.class_names = names}};
    EXPECT_TRUE(ExportHuggingFaceModel(spec, *trained, folder_.path(), options).ok());
    auto made = MakeModel(spec, SmallHubShape(spec)).value();
    made->eval();
    const auto fresh = LoadStartingWeights(folder_.path(), {.spec = spec, .classes = classes}, *made);
    return fresh.ok() ? made : std::shared_ptr<Model>();
  };
  const ModelInput input = SomeInput(spec);
  const at::Tensor logits = trained->Logits(input);
  const auto moved = start({"e", "n", "c", "x", "y"}, {"c", "e", "n", "x", "y"});
  ASSERT_NE(moved, nullptr);
  EXPECT_TRUE(torch::allclose(moved->Logits(input), logits.index_select(1, torch::tensor({2, 0, 1, 3, 4}))));
  const auto numbered = start({}, {"0", "1", "2", "3", "4"});
  ASSERT_NE(numbered, nullptr) << "LABEL_0 is the class 0";
  EXPECT_TRUE(torch::allclose(numbered->Logits(input), logits));
  EXPECT_NE(start({}, {"a", "b", "c", "d", "e"}), nullptr)
      << "outputs without names are in the order of the classes";
  EXPECT_EQ(start({}, {"1", "2", "3", "4", "5"}), nullptr) << "LABEL_0 is none of them";
  EXPECT_EQ(start({"a", "a", "c", "d", "e"}, {"a", "b", "c", "d", "e"}), nullptr);
}

}  // namespace
}  // namespace inlier