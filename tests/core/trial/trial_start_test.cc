// A training that starts from a model with another meaning is refused by the difference; exports have the names of the
// data.
#include "tests/core/trial/trial_program.h"

namespace inlier {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TrialStartTest : public TrialProgramTest {
 protected:
  std::filesystem::path Train(const std::string& name, const std::string& changes) {
    const Ended ended = RunToEnd(Attempt(v1::TRAIN_STAGE, name, changes));
    EXPECT_EQ(ended.outcome.kind(), v1::Outcome::SUCCEEDED) << ended.outcome.message() << Log();
    return folder_ / name / "model.safetensors";
  }
  // A training from the model of the coordinator, as of `start_from: {point: …}`.
  v1::AttemptSpec From(const std::filesystem::path& model, const std::string& changes) {
    v1::AttemptSpec attempt =
        Attempt(v1::TRAIN_STAGE, "then",
                changes + " training { steps: 1 start_from { training: \"" + std::string(64, 'e') + "\" } }");
    attempt.set_checkpoint(model);
    return attempt;
  }
  std::string Rows(const std::string& name, const std::vector<std::string>& classes) {
    std::ofstream file(folder_ / name);
    file << "text\tlabel\n";
    for (int i = 0; i < 60; ++i)
      file << "row number " << i << " of a table\t" << classes[static_cast<std::size_t>(i) % classes.size()]
           << "\n";
    return "data { classification { path: \"" + (folder_ / name).string() +
           "\" text_column: \"text\" sequence_length: 16 tokenizer { byte_pair { vocab_size: 300 } } } } ";
  }
  json Exported(const std::string& checkpoint, const std::string& changes) {
    v1::AttemptSpec attempt = Attempt(v1::EVALUATE_STAGE, "exported", changes);
    attempt.set_checkpoint(checkpoint);
    EXPECT_EQ(StartWith({"export", WriteSpec(attempt), folder_ / "model", "--force"})->Wait(), 0) << Log();
    return json::parse(std::ifstream(folder_ / "model" / "config.json"), nullptr, false);
  }
};

// The ids of the bytes are equal in every vocabulary trained here, so nothing else would fail.
TEST_F(TrialStartTest, AModelOfAnotherVocabularyIsRefused) {
  const auto model = Train("first", "");
  EXPECT_EQ(RunToEnd(From(model, "")).outcome.kind(), v1::Outcome::SUCCEEDED) << "the same data";
  std::ofstream other(folder_ / "other.txt");
  for (int i = 0; i < 400; ++i) other << "quite another corpus, line " << i << ", with words of its own\n";
  other.close();
  v1::AttemptSpec attempt = From(model, "");
  attempt.mutable_spec()->mutable_data()->mutable_text()->set_path(folder_ / "other.txt");
  EXPECT_THAT(FailureOf(attempt, v1::INVALID_SPEC),
              testing::AllOf(HasSubstr("training.start_from: "),
                             HasSubstr("the model was trained with another vocabulary (digest ")));
}

// The folder of an export has the vocabulary of its training.
TEST_F(TrialStartTest, AFolderOfAnotherVocabularyIsRefused) {
  Exported(Train("first", ""), "");
  v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "then", "training { steps: 1 }");
  attempt.mutable_spec()->mutable_training()->mutable_start_from()->set_hugging_face(folder_ / "model");
  const Ended same = RunToEnd(attempt);
  EXPECT_EQ(same.outcome.kind(), v1::Outcome::SUCCEEDED) << same.outcome.message();
  std::ofstream other(folder_ / "other.txt");
  for (int i = 0; i < 400; ++i) other << "quite another corpus, line " << i << ", with words of its own\n";
  other.close();
  attempt.mutable_spec()->mutable_data()->mutable_text()->set_path(folder_ / "other.txt");
  EXPECT_THAT(FailureOf(attempt, v1::INVALID_SPEC),
              HasSubstr("gives texts other ids than the trial's tokenizer"));
}

// Their mean and deviation are in the folder's image processor.
TEST_F(TrialStartTest, AModelOfPixelsOfAnotherRangeIsRefused) {
  const auto number = [](char high, char low) { return std::string{'\0', '\0', high, low}; };
  std::filesystem::create_directories(folder_ / "images");
  for (const std::string part : {"train", "t10k"}) {
    const std::string pixels(16 * 64, '\x40');
    std::ofstream(folder_ / "images" / (part + "-images-idx3-ubyte"))
        << number(8, 3) << number(0, 16) << number(0, 8) << number(0, 8) << pixels;
    std::ofstream(folder_ / "images" / (part + "-labels-idx1-ubyte"))
        << number(8, 1) << number(0, 16) << std::string{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  }
  v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "first");
  attempt.mutable_spec()->clear_model();
  attempt.mutable_spec()->clear_data();
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      "model { vit { layers: 1 hidden_size: 16 heads: 2 ffn_size: 16 image_size: 8 patch_size: 4 channels: 1 "
      "classes: 2 "
      "} } data { images { path: \"" +
          (folder_ / "images").string() + "\" } } training { steps: 1 }",
      attempt.mutable_spec()));
  ASSERT_EQ(RunToEnd(attempt).outcome.kind(), v1::Outcome::SUCCEEDED) << Log();
  v1::AttemptSpec exported = attempt;
  exported.set_kind(v1::EVALUATE_STAGE);
  exported.set_checkpoint(folder_ / "first" / "model.safetensors");
  ASSERT_EQ(StartWith({"export", WriteSpec(exported), folder_ / "model"})->Wait(), 0) << Log();
  attempt.mutable_spec()->mutable_training()->mutable_start_from()->set_hugging_face(folder_ / "model");
  EXPECT_EQ(RunToEnd(attempt).outcome.kind(), v1::Outcome::SUCCEEDED) << Log();
  attempt.mutable_spec()->mutable_data()->mutable_images()->set_pixel_scale(v1::IMAGENET);
  EXPECT_THAT(
      FailureOf(attempt, v1::INVALID_SPEC),
      HasSubstr("preprocessor_config.json: image_mean: is not that of data.images.pixel_scale IMAGENET"));
}

TEST_F(TrialStartTest, AModelOfAnotherFunctionIsRefused) {
  const auto model = Train("first", "");
  EXPECT_THAT(
      FailureOf(From(model, "model { bert { heads: 4 } }"), v1::INVALID_SPEC),
      HasSubstr(
          "the model was trained with model.bert.heads 2, and the trial has 4; set model.bert.heads: 2"));
  EXPECT_THAT(FailureOf(From(model, "model { bert { activation: RELU } }"), v1::INVALID_SPEC),
              HasSubstr("model.bert.activation GELU_ERF"));
  const Ended gated =
      RunToEnd(From(model, "attention { softmax { clipped { gamma: -0.03 } } gate { linear {} } }"));
  EXPECT_EQ(gated.outcome.kind(), v1::Outcome::SUCCEEDED)
      << "parts may be added: " << gated.outcome.message();
}

TEST_F(TrialStartTest, AClassifierOfOtherClassesIsRefusedAndAnExportHasTheNames) {
  const std::string classes = Rows("rows.tsv", {"good", "bad"});
  const auto model = Train("first", classes);
  const json config = Exported(model, classes);
  EXPECT_EQ(config["id2label"], (json{{"0", "bad"}, {"1", "good"}}));
  EXPECT_EQ(config["pad_token_id"], 0);
  EXPECT_EQ(RunToEnd(From(model, classes)).outcome.kind(), v1::Outcome::SUCCEEDED);
  EXPECT_THAT(FailureOf(From(model, Rows("rows.tsv", {"good", "so-so"})), v1::INVALID_SPEC),
              HasSubstr("id2label"));
}

// The same as in the tokenizer's files: transformers' generate ends with the token that separates texts.
TEST_F(TrialStartTest, AnExportedCausalModelNamesTheTokensOfItsVocabulary) {
  const std::string gpt2 =
      "model { gpt2 { layers: 1 hidden_size: 16 heads: 2 ffn_size: 16 } } training { steps: 1 }";
  v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "first");
  attempt.mutable_spec()->clear_model();
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(gpt2, attempt.mutable_spec()));
  ASSERT_EQ(RunToEnd(attempt).outcome.kind(), v1::Outcome::SUCCEEDED) << Log();
  attempt.set_kind(v1::EVALUATE_STAGE);
  attempt.set_checkpoint(folder_ / "first" / "model.safetensors");
  ASSERT_EQ(StartWith({"export", WriteSpec(attempt), folder_ / "model"})->Wait(), 0) << Log();
  const json config = json::parse(std::ifstream(folder_ / "model" / "config.json"));
  const json special = json::parse(std::ifstream(folder_ / "model" / "tokenizer_config.json"));
  const json vocabulary = json::parse(std::ifstream(folder_ / "model" / "vocab.json"));
  for (const char* token : {"bos_token", "eos_token", "pad_token"})
    EXPECT_EQ(config[std::string(token) + "_id"], vocabulary[special[token].get<std::string>()]) << token;
}

// A config.json that makes a model of any size, or that no reader of types expects.
TEST_F(TrialStartTest, AHostileConfigIsRefusedAtOnce) {
  const auto model = Train("first", "");
  json config = Exported(model, "");
  const json sound = config;
  const auto refusal = [&](const char* key, const json& value) {
    json changed = sound;
    changed[key] = value;
    std::ofstream(folder_ / "model" / "config.json") << changed;
    std::ofstream(folder_ / "analysis.json") << json{{"folder", folder_ / "model"},
                                                     {"cache_dir", folder_ / "cache"},
                                                     {"text", {{"path", INLIER_TINY_TEXT}}}};
    EXPECT_EQ(StartWith({"analyze", folder_ / "analysis.json"})->Wait(), 1) << key;
    return Log();
  };
  EXPECT_THAT(refusal("num_hidden_layers", 2000000000),
              HasSubstr("config.json: num_hidden_layers: is 2e+09"));
  EXPECT_THAT(refusal("vocab_size", 4294967295), HasSubstr("values that the weights have"));
  EXPECT_THAT(refusal("model_type", json::array({json::object()})),
              HasSubstr("config.json: model_type: is not known"));
}

}  // namespace
}  // namespace inlier
