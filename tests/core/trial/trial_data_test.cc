// Whole attempts on each kind of data other than text: trained, evaluated, quantized.
#include "tests/core/trial/trial_program.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class TrialDataTest : public TrialProgramTest {
 protected:
  // Trains and evaluates; the measurements of the evaluation.
  std::map<std::string, double> TrainAndEvaluate(const std::string& name, const std::string& changes) {
    const Ended trained = RunToEnd(Attempt(v1::TRAIN_STAGE, name, changes));
    EXPECT_EQ(trained.outcome.kind(), v1::Outcome::SUCCEEDED) << trained.outcome.message() << Log();
    if (trained.outcome.kind() != v1::Outcome::SUCCEEDED) return {};
    losses_.clear();
    for (const v1::TrialEvent& event : trained.events) {
      const v1::MeasurementPoint& point = event.measurement();
      if (point.name() == "train_loss" && !point.final()) losses_.push_back(point.value());
    }
    v1::AttemptSpec evaluate = Attempt(v1::EVALUATE_STAGE, name + "-evaluated", changes);
    evaluate.set_checkpoint(folder_ / name / "model.safetensors");
    const Ended evaluated = RunToEnd(evaluate);
    EXPECT_EQ(evaluated.outcome.kind(), v1::Outcome::SUCCEEDED) << evaluated.outcome.message() << Log();
    return FinalMeasurements(evaluated.events);
  }

  void Write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  std::vector<double> losses_;
};

std::string BigEndian(std::uint32_t value) {
  std::string bytes(4, '\0');
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (24 - 8 * i));
  return bytes;
}

TEST_F(TrialDataTest, TheDigestOfItsFilesIsAPhaseWithBytesAsSteps) {
  std::string text;
  while (text.size() < 3 << 20)
    text += "a line of text, one of many, for the digest of a file of some size\n";
  Write("large.txt", text);
  v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "large");
  attempt.mutable_spec()->mutable_data()->mutable_text()->set_path(folder_ / "large.txt");
  attempt.mutable_spec()->mutable_data()->mutable_text()->set_validation(v1::LAST);  // All lines are equal.
  const Ended ended = RunToEnd(attempt);
  ASSERT_EQ(ended.outcome.kind(), v1::Outcome::SUCCEEDED) << ended.outcome.message() << Log();
  std::vector<std::uint64_t> steps;
  for (const v1::TrialEvent& event : ended.events) {
    if (event.progress().phase() != "digest") continue;
    EXPECT_EQ(event.progress().steps_total(), text.size());
    steps.push_back(event.progress().step());
  }
  // The first piece and the last one; between them at most four a second.
  ASSERT_GE(steps.size(), 2u);
  EXPECT_LT(steps.front(), text.size());
  EXPECT_EQ(steps.back(), text.size());
}

// Images of 8 x 8: those of class 1 are bright in the right half, those of class 0 in the left.
TEST_F(TrialDataTest, AVitLearnsImagesAndIsQuantized) {
  for (const auto& [part, count] : {std::pair("train", 64), std::pair("t10k", 16)}) {
    std::string pixels = BigEndian(2051) + BigEndian(count) + BigEndian(8) + BigEndian(8);
    std::string labels = BigEndian(2049) + BigEndian(count);
    for (int i = 0; i < count; ++i) {
      labels += static_cast<char>(i % 2);
      for (int pixel = 0; pixel < 64; ++pixel) {
        const bool right = pixel % 8 >= 4;
        pixels += static_cast<char>(right == (i % 2 == 1) ? 200 + i % 40 : (i * 7 + pixel) % 60);
      }
    }
    Write("images/" + std::string(part) + "-images-idx3-ubyte", pixels);
    Write("images/" + std::string(part) + "-labels-idx1-ubyte", labels);
  }
  const auto changes = [this](const std::string& folder, int classes) {
    return "model { vit { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 image_size: 8 patch_size: 4 "
           "channels: 1 classes: " +
           std::to_string(classes) + " } } data { images { path: '" + (folder_ / folder).string() +
           "' augmentation { crop_padding: 1 mixup_alpha: 0.2 } } } attention { softmax { clipped { alpha: 1 "
           "} "
           "} } dropout: 0 training { epochs: 20 batch_size: 8 optimizer { adamw { learning_rate: 0.003 } } "
           "} "
           "quantization { weights { bits: 8 } activations { bits: 8 } calibration { batches: 2 batch_size: "
           "8 "
           "} } evaluation { batch_size: 8 measure: ALL }";
  };
  const std::map<std::string, double> values = TrainAndEvaluate("vit", changes("images", 2));
  ASSERT_TRUE(values.contains("accuracy"));
  EXPECT_EQ(values.at("accuracy"), 1) << "the halves are easy to distinguish, with 8 bits too";
  EXPECT_GT(values.at("max_inf_norm"), 0);
  EXPECT_TRUE(values.contains("first_attention_share"));
  EXPECT_FALSE(values.contains("perplexity"));
  EXPECT_EQ(Numbers("vit", {"tokens"})["columns"]["texts"],
            nlohmann::json({"class", "1,1", "1,2", "2,1", "2,2"}));
  EXPECT_EQ(Numbers("vit", {"attention", "1", "0"})["values"].size(), 5u);
  // The patches of a layer are its tokens but the class.
  const nlohmann::json of_tokens = Numbers("vit", {"tokens"})["values"][1];
  const nlohmann::json patches = Numbers("vit", {"patches", "1", "0"})["values"];
  EXPECT_EQ(patches, nlohmann::json({{of_tokens[1], of_tokens[2]}, {of_tokens[3], of_tokens[4]}}));
  EXPECT_THAT(FailureOf(Attempt(v1::TRAIN_STAGE, "nowhere", changes("nowhere", 2)), v1::INVALID_SPEC),
              HasSubstr((folder_ / "nowhere").string()));
  std::string labels = BigEndian(2049) + BigEndian(64) + std::string(64, '\2');
  Write("images/train-labels-idx1-ubyte", labels);
  EXPECT_THAT(FailureOf(Attempt(v1::TRAIN_STAGE, "few", changes("images", 2)), v1::INVALID_SPEC),
              HasSubstr("model.vit.classes: 2 are too few for the images' 3 classes"));
}

TEST_F(TrialDataTest, ABertLearnsToDistinguishSentences) {
  std::string rows = "label\tsentence\n";
  const char* const colours[] = {"red", "green", "blue", "white", "black"};
  for (int i = 0; i < 200; ++i) {
    const std::string colour = colours[i % 5];
    rows += i % 3 == 0 ? "food\tthe " + colour + " apple tastes sweet today " + std::to_string(i) + "\n"
                       : "travel\tthe " + colour + " train leaves the station " + std::to_string(i) + "\n";
  }
  Write("rows.tsv", rows);
  const std::string data = "data { classification { path: '" + (folder_ / "rows.tsv").string() +
                           "' tokenizer { byte_pair { vocab_size: 300 } } sequence_length: 24 } } ";
  const std::map<std::string, double> values =
      TrainAndEvaluate("classes", data +
                                      "dropout: 0 training { steps: 80 batch_size: 8 optimizer { adamw { "
                                      "learning_rate: 0.003 } } } evaluation { batches: 9 }");
  ASSERT_TRUE(values.contains("accuracy"));
  EXPECT_EQ(values.at("accuracy"), 1);
  EXPECT_EQ(values.at("matthews_correlation"), 1);
  EXPECT_EQ(values.at("f1"), 1);
  EXPECT_GT(values.at("majority_accuracy"), 0.5);
  EXPECT_LT(values.at("majority_accuracy"), 0.9);
  EXPECT_FALSE(values.contains("perplexity"));
  // Without padding.
  const nlohmann::json tokens = Numbers("classes", {"tokens"});
  EXPECT_LT(tokens["columns"]["texts"].size(), 24u);
  EXPECT_EQ(tokens["columns"]["texts"].size(), tokens["values"][0].size());
  EXPECT_EQ(tokens["columns"]["texts"].front(), "[CLS]");
  EXPECT_EQ(tokens["columns"]["texts"].back(), "[SEP]");
}

TEST_F(TrialDataTest, ACausalModelLearnsAnswers) {
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    lines += "{\"instruction\": \"Say the number after\", \"input\": \"" + std::to_string(i % 9) +
             "\", \"output\": \"It is " + std::to_string(i % 9 + 1) + "\"}\n";
  }
  Write("pairs.jsonl", lines);
  const std::map<std::string, double> values = TrainAndEvaluate(
      "answers",
      "model { gpt2 { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } data { instructions { path: '" +
          (folder_ / "pairs.jsonl").string() +
          "' tokenizer { byte_pair { vocab_size: 300 } } sequence_length: 96 validation_fraction: 0.1 "
          "validation: LAST } } "
          "dropout: 0 training { steps: 60 batch_size: 8 optimizer { adamw { learning_rate: 0.01 } } }");
  ASSERT_TRUE(values.contains("perplexity"));
  EXPECT_LT(values.at("perplexity"), 3) << "chance is 300";
  EXPECT_GT(values.at("accuracy"), 0.6);
  ASSERT_FALSE(losses_.empty());
  EXPECT_LT(losses_.back(), losses_.front() / 2);
  EXPECT_NE(Numbers("answers", {"attention", "0", "0"})["columns"]["texts"][0], "");
}

TEST_F(TrialDataTest, ACausalModelLearnsBackcopyWithoutAnyFile) {
  const std::map<std::string, double> values = TrainAndEvaluate(
      "backcopy",
      "model { gpt2 { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } data { backcopy { vocab_size: 16 "
      "validation_sequences: 64 } } dropout: 0 training { steps: 150 batch_size: 16 optimizer { adamw { "
      "learning_rate: 0.01 } } }");
  ASSERT_TRUE(values.contains("perplexity"));
  ASSERT_TRUE(values.contains("unigram_perplexity"));
  EXPECT_LT(values.at("perplexity"), 0.7 * values.at("unigram_perplexity"));
  EXPECT_GT(values.at("first_key_mass"), 0);
  const nlohmann::json tokens = Numbers("backcopy", {"tokens"})["columns"]["texts"];
  ASSERT_EQ(tokens.size(), 32u);
  EXPECT_EQ(tokens[0], "0") << "bos";
}

}  // namespace
}  // namespace inlier
