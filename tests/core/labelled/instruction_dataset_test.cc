#include "core/labelled/instruction_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/text/special_tokens.h"
#include "tests/core/data/batch_rows.h"
#include "tests/core/data/data_files.h"
#include "torch/types.h"

namespace inlier {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kCausalPad = 1, kEndOfText = 2;

class InstructionDatasetTest : public testing::Test {
 protected:
  v1::InstructionDataSpec Spec(const std::string& content) const {
    v1::InstructionDataSpec spec;
    spec.set_path(folder_.Write("pairs.jsonl", content).string());
    spec.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(kSmallestVocabulary);
    spec.set_sequence_length(64);
    spec.set_validation_fraction(0.5);
    spec.set_validation(v1::LAST);
    return spec;
  }
  absl::StatusOr<std::unique_ptr<InstructionDataset>> TryOpen(const v1::InstructionDataSpec& spec) {
    TextOpenOptions options;
    options.data_dir = folder_.path();
    options.cache_dir = cache_.path();
    return InstructionDataset::Open(spec, options);
  }
  std::unique_ptr<InstructionDataset> Open(const v1::InstructionDataSpec& spec) {
    return TryOpen(spec).value();
  }
  std::string Error(const v1::InstructionDataSpec& spec) {
    const auto dataset = TryOpen(spec);
    return dataset.ok() ? "OK" : std::string(dataset.status().message());
  }
  std::string File() const { return (folder_.path() / "pairs.jsonl").string(); }

  TemporaryFolder folder_, cache_;
};

// A pair in T tokens: ids, labels and mask.
void ExpectPair(const Batch& batch, std::int64_t row, const std::string& prompt, const std::string& answer,
                std::size_t length) {
  std::vector<std::int64_t> ids = {kEndOfText};
  for (const std::int64_t id : ByteIds(prompt)) ids.push_back(id);
  std::vector<std::int64_t> labels(ids.size(), -100);
  for (const std::int64_t id : ByteIds(answer)) {
    ids.push_back(id);
    labels.push_back(id);
  }
  ids.push_back(kEndOfText);
  labels.push_back(kEndOfText);
  std::vector<std::int64_t> mask(ids.size(), 1);
  ids.resize(length, kCausalPad);
  labels.resize(length, -100);
  mask.resize(length, 0);
  EXPECT_EQ(Row(batch.ids, row), ids);
  EXPECT_EQ(Row(batch.labels, row), labels);
  EXPECT_EQ(Row(batch.attention_mask, row), mask);
}

TEST_F(InstructionDatasetTest, OnlyTheAnswerAndItsEndArePredicted) {
  const auto dataset = Open(Spec(R"({"instruction": "Add.", "input": "1 2", "output": "3"}
{"instruction": "x", "output": "y"}

{"instruction": "Say hi.", "input": "", "output": "hi\n"}
{"instruction": "Say no.", "input": null, "output": ""}
)"));
  EXPECT_EQ(dataset->train_examples(), 2);
  EXPECT_EQ(dataset->validation_examples(), 2);
  EXPECT_EQ(dataset->sequence_length(), 64);
  EXPECT_EQ(dataset->vocab_size(), kSmallestVocabulary);
  EXPECT_EQ(dataset->left_out(), 0);
  const Batch validation = dataset->ValidationBatch(0, 2, 0);
  ExpectPair(validation, 0, "Instruction:\nSay hi.\n\nAnswer:\n", "hi\n", 64);
  ExpectPair(validation, 1, "Instruction:\nSay no.\n\nAnswer:\n", "", 64);
  EXPECT_FALSE(validation.token_type_ids.defined());
  const Batch train = dataset->TrainBatch(1, 0, 2);
  const std::int64_t first =
      train.attention_mask[0].sum().item<std::int64_t>() > train.attention_mask[1].sum().item<std::int64_t>()
          ? 0
          : 1;
  ExpectPair(train, first, "Instruction:\nAdd.\n\nInput:\n1 2\n\nAnswer:\n", "3", 64);
  ExpectPair(train, 1 - first, "Instruction:\nx\n\nAnswer:\n", "y", 64);
}

TEST_F(InstructionDatasetTest, LongPairsAreCutAtTheirEndAndPromptsThatFillEverythingAreLeftOut) {
  const std::string frame = "Instruction:\n\n\nAnswer:\n";
  const std::string content =
      "{\"instruction\": \"p\", \"output\": \"abcdef\"}\n"     // The answer is cut, with its end.
      "{\"instruction\": \"pppppp\", \"output\": \"abc\"}\n"   // One token of the answer is left.
      "{\"instruction\": \"ppppppp\", \"output\": \"abc\"}\n"  // None is.
      "{\"instruction\": \"ppp\", \"output\": \"abc\"}\n"      // Its end just does not fit.
      "{\"instruction\": \"pp\", \"output\": \"abc\"}\n"       // It just does.
      "{\"instruction\": \"pppppppp\", \"output\": \"abc\"}\n";
  v1::InstructionDataSpec spec = Spec(content);
  const std::uint32_t length = static_cast<std::uint32_t>(frame.size()) + 1 + 7;
  spec.set_sequence_length(length);
  const auto dataset = Open(spec);
  EXPECT_EQ(dataset->left_out(), 2);
  EXPECT_EQ(dataset->train_examples(), 2);
  EXPECT_EQ(dataset->validation_examples(), 2);
  const Batch validation = dataset->ValidationBatch(0, 2, 0);
  const auto targets = [](const Batch& batch, std::int64_t row) {
    std::vector<std::int64_t> found = Row(batch.labels, row);
    found.erase(std::remove(found.begin(), found.end(), -100), found.end());
    return found;
  };
  std::vector<std::int64_t> abc = ByteIds("abc"), abc_and_end = abc;
  abc_and_end.push_back(kEndOfText);
  EXPECT_EQ(targets(validation, 0), abc_and_end) << "3 + 3 + 1 tokens";
  EXPECT_EQ(targets(validation, 1), abc_and_end);
  EXPECT_EQ(validation.attention_mask[0].sum().item<std::int64_t>(), length);
  EXPECT_EQ(validation.attention_mask[1].sum().item<std::int64_t>(), length - 1);
  const Batch train = dataset->TrainBatch(1, 0, 2);
  std::vector<std::vector<std::int64_t>> seen = {targets(train, 0), targets(train, 1)};
  EXPECT_THAT(seen, testing::UnorderedElementsAre(ByteIds("abcdef"), ByteIds("a")));

  spec.set_sequence_length(length - 5);
  EXPECT_EQ(Error(spec), File() + ": every prompt of the validation part fills a sequence of " +
                             std::to_string(length - 5) +
                             " tokens, with no space for an answer; raise data.instructions.sequence_length");
}

TEST_F(InstructionDatasetTest, ByHashThePartsAreSpreadAndEqualPromptsStayTogether) {
  std::string content;
  for (int i = 0; i < 200; ++i)
    content += absl::StrCat("{\"instruction\": \"p", i / 2, "\", \"output\": \"", i % 2, "\"}\n");
  v1::InstructionDataSpec spec = Spec(content);
  spec.set_validation(v1::HASH);
  spec.set_validation_fraction(0.2);
  const auto dataset = Open(spec);
  const std::int64_t validation = dataset->validation_examples(), train = dataset->train_examples();
  EXPECT_EQ(train + validation, 200);
  EXPECT_NEAR(static_cast<double>(validation), 40, 4 * 2 * 4);  // Hundred prompts, two pairs each.
  const Batch validated = dataset->ValidationBatch(0, validation, 0);
  const Batch trained = dataset->CalibrationBatch(v1::TRAIN, 0, train, 1);
  const auto prompts = [](const Batch& batch) {
    std::map<std::vector<std::int64_t>, int> found;
    for (std::int64_t i = 0; i < batch.ids.size(0); ++i) {
      std::vector<std::int64_t> prompt = Row(batch.ids, i);
      const std::vector<std::int64_t> labels = Row(batch.labels, i);
      for (std::size_t k = 0; k < prompt.size(); ++k) prompt[k] = labels[k] == -100 ? prompt[k] : 0;
      ++found[prompt];
    }
    return found;
  };
  const auto in_training = prompts(trained);
  for (const auto& [prompt, count] : prompts(validated)) {
    EXPECT_EQ(count, 2);
    EXPECT_FALSE(in_training.contains(prompt));
  }
  spec.set_validation(v1::LAST);
  EXPECT_NE(Open(spec)->dataset_digest(), dataset->dataset_digest());

  v1::InstructionDataSpec same =
      Spec("{\"instruction\": \"a\", \"output\": \"b\"}\n{\"instruction\": \"a\", \"output\": \"c\"}\n");
  same.set_validation(v1::HASH);
  EXPECT_EQ(Error(same), File() +
                             ": all 2 prompts are equal, and a hash puts equal prompts on one side; use "
                             "different ones, or data.instructions.validation: LAST");
}

TEST_F(InstructionDatasetTest, TheFieldsCanHaveOtherNames) {
  v1::InstructionDataSpec spec = Spec(R"({"q": "a", "context": "b", "a": "c"}
{"q": "d", "context": "e", "a": "f"}
)");
  EXPECT_EQ(Error(spec),
            File() +
                ":1: no field \"instruction\" among its 3; known: a, context, q; name the one that is "
                "wanted by data.instructions.prompt_field");
  spec.set_prompt_field("q");
  EXPECT_THAT(Error(spec), HasSubstr("no field \"output\""));
  EXPECT_THAT(Error(spec), EndsWith("data.instructions.answer_field"));
  spec.set_answer_field("a");
  spec.set_input_field("context");
  ExpectPair(Open(spec)->ValidationBatch(0, 1, 0), 0, "Instruction:\nd\n\nInput:\ne\n\nAnswer:\n", "f", 64);
}

TEST_F(InstructionDatasetTest, ErrorsNameTheirLine) {
  EXPECT_EQ(Error(Spec("{\"instruction\": \"a\", \"output\": \"b\"}\n[1]\n")),
            File() +
                ":2: a JSON object is needed in every line, such as {\"instruction\": \"…\"}, and this is of "
                "type array");
  EXPECT_THAT(
      Error(Spec("{\"instruction\": \"a\", \"output\": \"b\"}\n\n{\"instruction\": 1, \"output\": \"b\"}")),
      StartsWith(File() + ":3: the field \"instruction\" is of type number, and a text is a string"));
  EXPECT_THAT(Error(Spec("{\"instruction\": \"a\"")), StartsWith(File() + ":1:"));
  EXPECT_EQ(Error(Spec("{\"instruction\": \"a\", \"output\": \"b\"}\n")),
            File() + " has 1 pairs; one record each is needed, two at least");
  EXPECT_THAT(Error(Spec("{\"instruction\": \"caf\xE9\", \"output\": \"b\"}\n")), HasSubstr("UTF-8"));
  v1::InstructionDataSpec spec = Spec("");
  spec.set_path("/no/such.jsonl");
  EXPECT_EQ(Error(spec),
            "data.instructions.path: no file /no/such.jsonl on this machine; name a .jsonl file, one "
            "object a line, or a .json, .csv or .tsv file");
}

TEST_F(InstructionDatasetTest, Gpt2sSeparatorEndsTheAnswer) {
  const auto golden = std::filesystem::path(INLIER_GOLDEN_DEFAULT) / "tokenizers";
  v1::InstructionDataSpec spec =
      Spec("{\"instruction\": \"a\", \"output\": \"b\"}\n{\"instruction\": \"a\", \"output\": \"The\"}\n");
  spec.mutable_tokenizer()->mutable_gpt2()->set_vocab((golden / "gpt2-vocab.json").string());
  const auto dataset = Open(spec);
  EXPECT_EQ(dataset->vocab_size(), 50257);
  const Batch batch = dataset->ValidationBatch(0, 1, 0);
  const std::int64_t length = batch.attention_mask.sum().item<std::int64_t>();
  EXPECT_EQ(batch.ids[0][0].item<std::int64_t>(), 50256);
  EXPECT_EQ(batch.labels[0][length - 1].item<std::int64_t>(), 50256);
  EXPECT_EQ(batch.labels[0][length - 2].item<std::int64_t>(), 464) << "The";
  EXPECT_EQ(batch.labels[0].ne(-100).sum().item<std::int64_t>(), 2) << "padding is no target";
  spec.mutable_tokenizer()->mutable_wordpiece()->set_vocab((golden / "bert-base-uncased-vocab.txt").string());
  EXPECT_EQ(Error(spec),
            "data.instructions.tokenizer: it has no special tokens for CLM; choose another tokenizer");
}

TEST_F(InstructionDatasetTest, BatchesAreFunctionsOfTheirNumberOnly) {
  std::string content;
  for (int i = 0; i < 60; ++i)
    content += absl::StrCat("{\"instruction\": \"p", i, "\", \"output\": \"", i * i, "\"}\n");
  const auto dataset = Open(Spec(content));
  for (const std::uint64_t index : {0, 9, 500}) {
    const Batch whole = dataset->TrainBatch(5, index, 6);
    const Batch first = dataset->TrainBatch(5, 2 * index, 3),
                second = dataset->TrainBatch(5, 2 * index + 1, 3);
    EXPECT_TRUE(torch::equal(whole.ids, torch::cat({first.ids, second.ids})));
    EXPECT_TRUE(torch::equal(whole.labels, torch::cat({first.labels, second.labels})));
  }
  const Batch drawn = dataset->CalibrationBatch(v1::TRAIN, 0, 30, 1);
  EXPECT_EQ(std::get<0>(torch::unique_dim(drawn.ids, 0)).size(0), 30) << "without repetition";
  EXPECT_TRUE(torch::equal(drawn.ids, dataset->CalibrationBatch(v1::TRAIN, 1, 30, 1).ids));
  EXPECT_FALSE(torch::equal(drawn.ids, dataset->CalibrationBatch(v1::TRAIN, 0, 30, 2).ids));
  v1::InstructionDataSpec longer = Spec(content);
  longer.set_sequence_length(65);
  EXPECT_NE(Open(longer)->dataset_digest(), dataset->dataset_digest());
  EXPECT_EQ(Open(Spec(content))->dataset_digest(), dataset->dataset_digest());
}

// As Alpaca is published.
TEST_F(InstructionDatasetTest, AnArrayOfObjectsIsAsItsLines) {
  const std::string first = R"({"instruction": "Add.", "input": "1 2", "output": "3"})";
  const std::string second = R"({"instruction": "x", "output": "y"})";
  const auto lines = Open(Spec(first + "\n" + second + "\n"));
  const auto array = Open(Spec("[\n " + first + ",\n " + second + "\n]\n"));
  EXPECT_TRUE(torch::equal(lines->TrainBatch(1, 0, 1).ids, array->TrainBatch(1, 0, 1).ids));
  EXPECT_TRUE(torch::equal(lines->ValidationBatch(0, 1, 0).ids, array->ValidationBatch(0, 1, 0).ids));
  EXPECT_THAT(Error(Spec("[" + first + ", 3]")), StartsWith(File() + ":1: a JSON object is needed"));
}

}  // namespace
}  // namespace inlier
