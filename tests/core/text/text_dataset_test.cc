#include "core/text/text_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/text/masking.h"
#include "core/text/special_tokens.h"
#include "nlohmann/json.hpp"
#include "tests/core/data/batch_rows.h"
#include "tests/core/data/data_files.h"
#include "torch/types.h"

namespace inlier {
namespace {

using testing::HasSubstr;

v1::TextDataSpec TextSpec() {
  v1::TextDataSpec spec;
  spec.set_path(std::string(INLIER_TEST_DATA) + "/tiny.txt");
  spec.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(800);
  spec.set_sequence_length(32);
  spec.set_validation_fraction(0.1);
  return spec;
}

class TextDatasetTest : public testing::Test {
 protected:
  std::unique_ptr<TextDataset> Open(v1::Objective objective, const v1::TextDataSpec& spec = TextSpec()) {
    return TryOpen(objective, spec).value();
  }
  absl::StatusOr<std::unique_ptr<TextDataset>> TryOpen(v1::Objective objective,
                                                       const v1::TextDataSpec& spec) {
    TextOpenOptions options;
    options.data_dir = folder_.path();
    options.cache_dir = cache_.path();
    return TextDataset::Open(spec, objective, options);
  }

  static TemporaryFolder& cache_;  // Shared: the vocabulary is made once.
  TemporaryFolder folder_;
};
TemporaryFolder& TextDatasetTest::cache_ = *new TemporaryFolder;

bool Equal(const Batch& a, const Batch& b) {
  return torch::equal(a.ids, b.ids) && torch::equal(a.labels, b.labels);
}

// A masked batch before its masking.
torch::Tensor Original(const Batch& batch) {
  return torch::where(batch.labels == kNoTarget, batch.ids, batch.labels);
}

TEST_F(TextDatasetTest, BatchesAreFullSequencesOfTheVocabulary) {
  const auto dataset = Open(v1::MLM);
  const Batch batch = dataset->TrainBatch(1, 0, 4);
  EXPECT_EQ(batch.ids.sizes(), (std::vector<int64_t>{4, 32}));
  EXPECT_EQ(batch.labels.sizes(), batch.ids.sizes());
  EXPECT_EQ(batch.ids.scalar_type(), torch::kInt64);
  EXPECT_FALSE(batch.attention_mask.defined());
  EXPECT_GE(batch.ids.min().item<int64_t>(), 0);
  EXPECT_LT(batch.ids.max().item<int64_t>(), dataset->vocab_size());
  EXPECT_EQ(dataset->vocab_size(), 800);
}

// Two epochs in order, then any batch alone: the same.
TEST_F(TextDatasetTest, AnyBatchCanBeMadeWithoutThoseBeforeIt) {
  const auto dataset = Open(v1::MLM);
  const Batch late = dataset->TrainBatch(7, 1000000007, 5);
  EXPECT_TRUE(Equal(late, dataset->TrainBatch(7, 1000000007, 5)));
  EXPECT_TRUE(Equal(late, Open(v1::MLM)->TrainBatch(7, 1000000007, 5)));
  EXPECT_FALSE(Equal(late, dataset->TrainBatch(8, 1000000007, 5)));
  EXPECT_FALSE(Equal(late, dataset->TrainBatch(7, 1000000008, 5)));
}

TEST_F(TextDatasetTest, EveryEpochReadsEverySequenceOnceInAnOrderOfItsOwn) {
  const auto dataset = Open(v1::CLM);
  const int64_t size = dataset->train_examples();
  ASSERT_GT(size, 100);
  std::vector<std::vector<int64_t>> epochs[2];
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int64_t i = 0; i < size; ++i)
      epochs[epoch].push_back(Row(dataset->TrainBatch(3, epoch * size + i, 1).ids, 0));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(std::multiset(epochs[0].begin(), epochs[0].end()),
            std::multiset(epochs[1].begin(), epochs[1].end()));
  EXPECT_GT(std::set(epochs[0].begin(), epochs[0].end()).size(), static_cast<size_t>(size) * 9 / 10);
}

// Gradient accumulation over two halves sees the batch it replaces, masks included.
TEST_F(TextDatasetTest, TheBatchSizeChangesNeitherOrderNorMasks) {
  const auto dataset = Open(v1::MLM);
  for (const uint64_t index : {0, 3, 500}) {
    const Batch whole = dataset->TrainBatch(5, index, 8);
    const Batch first = dataset->TrainBatch(5, 2 * index, 4),
                second = dataset->TrainBatch(5, 2 * index + 1, 4);
    EXPECT_TRUE(torch::equal(whole.ids, torch::cat({first.ids, second.ids})));
    EXPECT_TRUE(torch::equal(whole.labels, torch::cat({first.labels, second.labels})));
  }
  const Batch large = dataset->ValidationBatch(0, 6, 1);
  EXPECT_TRUE(torch::equal(large.ids.slice(0, 3, 6), dataset->ValidationBatch(1, 3, 1).ids));
}

TEST_F(TextDatasetTest, MasksAreDrawnAgainInEveryEpochOnTheSameText) {
  const auto dataset = Open(v1::MLM);
  const int64_t size = dataset->train_examples();
  std::map<std::vector<int64_t>, torch::Tensor> masked;
  int same = 0, seen = 0;
  for (int64_t i = 0; i < 2 * size; ++i) {
    const Batch batch = dataset->TrainBatch(2, i, 1);
    const auto [entry, is_new] = masked.try_emplace(Row(Original(batch), 0), batch.labels);
    if (is_new) continue;
    ++seen;
    same += torch::equal(entry->second, batch.labels);
  }
  EXPECT_GE(seen, size);
  EXPECT_LT(same, size / 10);
}

TEST_F(TextDatasetTest, MaskedBatchesKeepTheMaskingContract) {
  v1::TextDataSpec spec = TextSpec();
  spec.set_mask_probability(0.15);
  const auto dataset = Open(v1::MLM, spec);
  int64_t candidates = 0, targets = 0, masks = 0;
  for (int64_t i = 0; i < 60; ++i) {
    const Batch batch = dataset->TrainBatch(1, i, 32);
    const torch::Tensor original = Original(batch);
    const torch::Tensor special = original < static_cast<int64_t>(kOwnSpecialTokens.size());
    const torch::Tensor target = batch.labels != kNoTarget;
    ASSERT_FALSE((special & target).any().item<bool>());
    candidates += special.logical_not().sum().item<int64_t>();
    targets += target.sum().item<int64_t>();
    masks += (batch.ids == *kOwnMaskedTokens.mask).sum().item<int64_t>();
  }
  EXPECT_NEAR(targets / double(candidates), 0.15, 5 * std::sqrt(0.15 * 0.85 / candidates));
  EXPECT_NEAR(masks / double(targets), 0.8, 5 * std::sqrt(0.16 / targets) + 0.001);
}

TEST_F(TextDatasetTest, CausalBatchesAreTheirOwnLabelsAndBeginTextsWithTheSeparator) {
  const auto dataset = Open(v1::CLM);
  const Batch batch = dataset->ValidationBatch(0, 8, 1);
  EXPECT_TRUE(torch::equal(batch.ids, batch.labels));
  EXPECT_EQ(batch.ids[0][0].item<int64_t>(), kOwnCausalTokens.begin);
  EXPECT_GT((batch.ids == kOwnCausalTokens.begin).sum().item<int64_t>(), 4);
  EXPECT_EQ((batch.ids == kOwnMaskedTokens.begin).sum().item<int64_t>(), 0);
  EXPECT_EQ(dataset->special_tokens().pad, 1);
  EXPECT_EQ(Open(v1::MLM)->special_tokens().pad, 0);
}

// The whole validation part, read in order, is the last tenth of the lines with its special tokens, and
// nothing of it is trained on.
TEST_F(TextDatasetTest, ValidationIsTheLastLinesAndNeverTrainedOn) {
  v1::TextDataSpec spec = TextSpec();
  spec.set_validation(v1::LAST);
  for (const v1::Objective objective : {v1::MLM, v1::CLM}) {
    const auto dataset = Open(objective, spec);
    std::string validation;
    for (int64_t i = 0; i < dataset->ValidationBatches(7); ++i)
      validation += Decoded(*dataset, Original(dataset->ValidationBatch(i, 7, 1)));
    const Corpus corpus = *Corpus::Open({TextSpec().path()});
    std::string expected;
    for (size_t i = corpus.texts().size() - std::llround(corpus.texts().size() * 0.1);
         i < corpus.texts().size(); ++i) {
      expected += objective == v1::MLM ? "[CLS]" + std::string(corpus.texts()[i]) + "[SEP]"
                                       : "</s>" + std::string(corpus.texts()[i]);
    }
    ASSERT_GT(validation.size(), expected.size() * 9 / 10);
    EXPECT_EQ(validation, expected.substr(0, validation.size()));

    std::string train;
    for (int64_t i = 0; i < dataset->train_examples(); ++i)
      train += Decoded(*dataset, Original(dataset->TrainBatch(1, i, 1))) + "|";
    const std::string_view first_line =
        corpus.texts()[corpus.texts().size() - std::llround(corpus.texts().size() * 0.1)];
    EXPECT_EQ(train.find(first_line.substr(0, 40)), std::string::npos);
  }
}

TEST_F(TextDatasetTest, TheLastValidationBatchMayBeSmaller) {
  const auto dataset = Open(v1::MLM);
  const int64_t size = dataset->validation_examples();
  const int64_t batch_size = size - 1;
  ASSERT_EQ(dataset->ValidationBatches(batch_size), 2);
  EXPECT_EQ(dataset->ValidationBatch(0, batch_size, 1).ids.size(0), batch_size);
  EXPECT_EQ(dataset->ValidationBatch(1, batch_size, 1).ids.size(0), 1);
  EXPECT_EQ(dataset->ValidationBatches(size), 1);
}

TEST_F(TextDatasetTest, ValidationMasksFollowTheirSeedAlone) {
  const auto dataset = Open(v1::MLM);
  EXPECT_TRUE(Equal(dataset->ValidationBatch(1, 4, 9), dataset->ValidationBatch(1, 4, 9)));
  const Batch other = dataset->ValidationBatch(1, 4, 10);
  EXPECT_FALSE(torch::equal(dataset->ValidationBatch(1, 4, 9).labels, other.labels));
  EXPECT_TRUE(torch::equal(Original(dataset->ValidationBatch(1, 4, 9)), Original(other)));
}

TEST_F(TextDatasetTest, CalibrationDrawsTrainingSequencesBySeedOrTakesTheFirstOfValidation) {
  const auto dataset = Open(v1::CLM);
  EXPECT_TRUE(
      Equal(dataset->CalibrationBatch(v1::TRAIN, 2, 4, 1), dataset->CalibrationBatch(v1::TRAIN, 2, 4, 1)));
  EXPECT_FALSE(
      Equal(dataset->CalibrationBatch(v1::TRAIN, 2, 4, 1), dataset->CalibrationBatch(v1::TRAIN, 2, 4, 2)));
  EXPECT_TRUE(Equal(dataset->CalibrationBatch(v1::VALIDATION, 1, 4, 5), dataset->ValidationBatch(1, 4, 1)));
  // Past the end it starts again, with full batches.
  const int64_t size = dataset->validation_examples();
  EXPECT_EQ(Row(dataset->CalibrationBatch(v1::VALIDATION, 1, size - 1, 1).ids, 1),
            Row(dataset->ValidationBatch(0, 1, 1).ids, 0));
  EXPECT_EQ(dataset->CalibrationBatch(v1::VALIDATION, 1, size - 1, 1).ids.size(0), size - 1);
}

// A text part shorter than a sequence: MLM keeps it, padded and masked out.
TEST_F(TextDatasetTest, AShortGroupIsPaddedAndMaskedOut) {
  v1::TextDataSpec spec = TextSpec();
  std::string text;
  for (int i = 0; i < 99; ++i) text += "in the beginning was the word and the word was good\n";
  spec.set_path(folder_.Write("short.txt", text + "the end\n").string());
  spec.set_validation_fraction(0.01);
  spec.set_validation(v1::LAST);
  const auto dataset = Open(v1::MLM, spec);
  ASSERT_EQ(dataset->validation_examples(), 1);
  const Batch batch = dataset->ValidationBatch(0, 4, 1);
  ASSERT_TRUE(batch.attention_mask.defined());
  const int64_t length = batch.attention_mask.sum().item<int64_t>();
  EXPECT_LT(length, 32);
  EXPECT_EQ(Decoded(*dataset, Original(batch)[0].slice(0, 0, length)), "[CLS]the end[SEP]");
  EXPECT_TRUE((batch.ids[0].slice(0, length) == kOwnMaskedTokens.pad).all().item<bool>());
  EXPECT_TRUE((batch.labels[0].slice(0, length) == kNoTarget).all().item<bool>());
  EXPECT_TRUE((batch.attention_mask[0].slice(0, 0, length) == 1).all().item<bool>());

  const auto causal = TryOpen(v1::CLM, spec);
  EXPECT_EQ(causal.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(causal.status().message()),
              HasSubstr("no sequence of 32 tokens fits the validation part of " + spec.path()));
  EXPECT_THAT(std::string(causal.status().message()), HasSubstr("data.text.validation_fraction"));
}

TEST_F(TextDatasetTest, UnigramPerplexityIsThatOfTheTargets) {
  for (const v1::Objective objective : {v1::MLM, v1::CLM}) {
    const auto dataset = Open(objective);
    std::map<int64_t, double> counts;
    double total = 0;
    for (int64_t i = 0; i < dataset->validation_examples(); ++i) {
      const std::vector<int64_t> ids = Row(Original(dataset->ValidationBatch(i, 1, 1)), 0);
      for (size_t k = objective == v1::CLM ? 1 : 0; k < ids.size(); ++k) {
        if (objective == v1::MLM && kOwnMaskedTokens.IsSpecial(ids[k])) continue;
        ++counts[ids[k]];
        ++total;
      }
    }
    double entropy = 0;
    for (const auto& [id, count] : counts) entropy -= count / total * std::log(count / total);
    EXPECT_NEAR(dataset->ComputeUnigramPerplexity(), std::exp(entropy), 1e-9 * std::exp(entropy));
  }
}

// Words in alphabetical order, as a dictionary has them.
TEST_F(TextDatasetTest, ValidationIsSpreadOverTheFileOrItsEnd) {
  v1::TextDataSpec spec = TextSpec();
  spec.set_validation(v1::HASH);  // BLOCKS: token_cache_test.cc.
  std::string text;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    for (int i = 0; i < 40; ++i)
      text += std::string(3, letter) + std::to_string(i) +
              " is a word that begins with its own letter, as all here do\n";
  }
  spec.set_path(folder_.Write("sorted.txt", text).string());
  const auto letters = [](const TextDataset& dataset) {
    std::set<char> found;
    for (int64_t i = 0; i < dataset.validation_examples(); ++i) {
      const std::string decoded = Decoded(dataset, dataset.ValidationBatch(i, 1, 1).ids[0]);
      for (size_t at = decoded.find("</s>"); at != std::string::npos; at = decoded.find("</s>", at + 1))
        if (at + 4 < decoded.size()) found.insert(decoded[at + 4]);
    }
    return found;
  };
  const auto spread = Open(v1::CLM, spec);
  EXPECT_GT(letters(*spread).size(), 15u);
  // The first sequences are of everywhere too: an evaluation of few batches reads no single letter.
  EXPECT_NE(Decoded(*spread, spread->ValidationBatch(0, 1, 1).ids[0]).find("</s>"), std::string::npos);
  spec.set_validation(v1::LAST);
  const auto last = Open(v1::CLM, spec);
  EXPECT_LE(letters(*last).size(), 4u);
  EXPECT_TRUE(letters(*last).contains('z'));
  EXPECT_NE(last->dataset_digest(), spread->dataset_digest());
  EXPECT_NEAR(static_cast<double>(spread->validation_examples()) / last->validation_examples(), 1, 0.3);
}

TEST_F(TextDatasetTest, EqualTextsAreOnOneSideSoTwoDifferentOnesAreNeeded) {
  v1::TextDataSpec spec = TextSpec();
  std::string text;
  for (int i = 0; i < 50; ++i) text += "the same words again and again\n";
  spec.set_path(folder_.Write("same.txt", text).string());
  EXPECT_EQ(
      std::string(TryOpen(v1::MLM, spec).status().message()),
      spec.path() +
          " has 50 texts that are all equal, and a hash puts equal texts on one side; use different texts, "
          "or data.text.validation: LAST");
}

TEST_F(TextDatasetTest, EverySequenceBeginsWithTheTokenThatBeginsATextWhereAsked) {
  v1::TextDataSpec spec = TextSpec();
  for (const v1::Objective objective : {v1::MLM, v1::CLM}) {
    spec.set_begin_every_sequence(false);
    spec.set_sequence_length(31);
    const auto plain = Open(objective, spec);
    spec.set_sequence_length(32);
    const std::string digest = Open(objective, spec)->dataset_digest();
    spec.set_begin_every_sequence(true);
    const auto headed = Open(objective, spec);
    EXPECT_NE(headed->dataset_digest(), digest);
    ASSERT_EQ(headed->validation_examples(), plain->validation_examples());
    const int64_t begin = headed->special_tokens().begin;
    int64_t inside = 0;
    for (int64_t i = 0; i < plain->validation_examples(); ++i) {
      const std::vector<int64_t> without = Row(Original(plain->ValidationBatch(i, 1, 1)), 0);
      std::vector<int64_t> with = Row(Original(headed->ValidationBatch(i, 1, 1)), 0);
      EXPECT_EQ(with[0], begin);
      with.erase(with.begin());
      EXPECT_EQ(with, without);
      inside += without[0] != begin;
    }
    EXPECT_GT(inside, plain->validation_examples() / 2) << "most sequences begin inside a text";
    EXPECT_TRUE((headed->TrainBatch(1, 7, 16).ids.select(1, 0) == begin).all().item<bool>());
    const auto shorter = headed->WithSequenceLength(16).value();
    EXPECT_TRUE((shorter->ValidationBatch(0, 8, 1).ids.select(1, 0) == begin).all().item<bool>());
  }
}

TEST_F(TextDatasetTest, TheDigestNamesTextAndSettings) {
  std::set<std::string> digests;
  v1::TextDataSpec spec = TextSpec();
  digests.insert(Open(v1::MLM, spec)->dataset_digest());
  digests.insert(Open(v1::CLM, spec)->dataset_digest());
  spec.set_sequence_length(16);
  digests.insert(Open(v1::MLM, spec)->dataset_digest());
  spec.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(700);
  digests.insert(Open(v1::MLM, spec)->dataset_digest());
  EXPECT_EQ(digests.size(), 4u);
  EXPECT_EQ(Open(v1::MLM)->dataset_digest(), Open(v1::MLM)->dataset_digest());
}

constexpr char kGolden[] = INLIER_GOLDEN_DEFAULT "/tokenizers";

TEST_F(TextDatasetTest, WordPieceTextsAreBetweenItsOwnSpecialTokens) {
  v1::TextDataSpec spec = TextSpec();
  spec.mutable_tokenizer()->mutable_wordpiece()->set_vocab(std::string(kGolden) +
                                                           "/bert-base-uncased-vocab.txt");
  const auto dataset = Open(v1::MLM, spec);
  EXPECT_EQ(dataset->vocab_size(), 30522);
  EXPECT_EQ(dataset->special_tokens().pad, 0);
  const Batch batch = dataset->ValidationBatch(0, 8, 1);
  const torch::Tensor original = Original(batch);
  EXPECT_EQ(original[0][0].item<int64_t>(), 101);
  EXPECT_GT((original == 102).sum().item<int64_t>(), 4);
  EXPECT_GT((batch.ids == 103).sum().item<int64_t>(), 0);
  EXPECT_FALSE(((batch.labels == 101) | (batch.labels == 102)).any().item<bool>());
  EXPECT_THAT(Decoded(*dataset, original[0]), testing::StartsWith("[CLS] "));
  EXPECT_NE(dataset->dataset_digest(), Open(v1::MLM)->dataset_digest());

  const absl::Status causal = TryOpen(v1::CLM, spec).status();
  EXPECT_EQ(causal.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(causal.message()),
            "data.text.tokenizer: it has no special tokens for CLM; choose another tokenizer");
}

TEST_F(TextDatasetTest, SpecialTokensThatATextSpellsAreNeverTargets) {
  v1::TextDataSpec spec = TextSpec();
  std::string text;
  for (int i = 0; i < 300; ++i) text += "one [SEP] two [MASK] three\n";
  spec.set_path(folder_.Write("spelt.txt", text).string());
  spec.set_validation(v1::LAST);
  spec.mutable_tokenizer()->mutable_wordpiece()->set_vocab(std::string(kGolden) +
                                                           "/bert-base-uncased-vocab.txt");
  spec.set_mask_probability(1);
  const auto dataset = Open(v1::MLM, spec);
  const Batch batch = dataset->TrainBatch(1, 0, 8);
  EXPECT_EQ((batch.labels == 103).sum().item<int64_t>(), 0);
  EXPECT_EQ((batch.labels == 102).sum().item<int64_t>(), 0);
  EXPECT_GT((batch.labels != kNoTarget).sum().item<int64_t>(), 50);
}

TEST_F(TextDatasetTest, Gpt2TextsBeginWithEndOfText) {
  v1::TextDataSpec spec = TextSpec();
  spec.mutable_tokenizer()->mutable_gpt2()->set_vocab(std::string(kGolden) + "/gpt2-vocab.json");
  const auto dataset = Open(v1::CLM, spec);
  EXPECT_EQ(dataset->vocab_size(), 50257);
  const Batch batch = dataset->ValidationBatch(0, 8, 1);
  EXPECT_EQ(batch.ids[0][0].item<int64_t>(), 50256);
  EXPECT_GT((batch.ids == 50256).sum().item<int64_t>(), 4);
  EXPECT_THAT(Decoded(*dataset, batch.ids[0]), testing::StartsWith("<|endoftext|>"));
  EXPECT_THAT(std::string(TryOpen(v1::MLM, spec).status().message()), HasSubstr("no special tokens for MLM"));
}

TEST_F(TextDatasetTest, AMissingVocabularyIsNamedWithTheRemedy) {
  v1::TextDataSpec spec = TextSpec();
  spec.mutable_tokenizer()->mutable_wordpiece();
  const absl::Status status = TryOpen(v1::MLM, spec).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no vocabulary \"bert-base-uncased\""));
  EXPECT_THAT(std::string(status.message()), HasSubstr("make corpora"));
}

// The same texts, parts and masks' seeds; only the cut is another.
TEST_F(TextDatasetTest, AnotherLengthIsTheSameTextCutAgain) {
  for (const v1::Objective objective : {v1::MLM, v1::CLM}) {
    const auto dataset = Open(objective);
    const auto same = dataset->WithSequenceLength(32).value();
    EXPECT_EQ(same->dataset_digest(), dataset->dataset_digest());
    EXPECT_TRUE(Equal(same->ValidationBatch(0, 4, 1), dataset->ValidationBatch(0, 4, 1)));

    const auto longer = dataset->WithSequenceLength(64).value();
    EXPECT_EQ(longer->sequence_length(), 64);
    EXPECT_NE(longer->dataset_digest(), dataset->dataset_digest());
    v1::TextDataSpec spec = TextSpec();
    spec.set_sequence_length(64);
    EXPECT_EQ(longer->dataset_digest(), Open(objective, spec)->dataset_digest());
    const std::vector<int64_t> row = Row(Original(longer->ValidationBatch(0, 1, 1)), 0);
    std::vector<int64_t> halves = Row(Original(dataset->ValidationBatch(0, 1, 1)), 0);
    const std::vector<int64_t> second = Row(Original(dataset->ValidationBatch(1, 1, 1)), 0);
    halves.insert(halves.end(), second.begin(), second.end());
    EXPECT_EQ(row, halves);
  }
  const absl::Status too_long = Open(v1::CLM)->WithSequenceLength(1 << 20).status();
  EXPECT_EQ(too_long.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(too_long.message()), HasSubstr("a smaller evaluation.sequence_length"));
}

TEST_F(TextDatasetTest, AFolderAndJsonLinesAreTheSameTextsAsAFile) {
  const Corpus corpus = *Corpus::Open({TextSpec().path()});
  std::string lines, objects;
  std::filesystem::create_directory(folder_ / "many");
  for (size_t i = 0; i < corpus.texts().size(); ++i) {
    lines += std::string(corpus.texts()[i]) + "\n";
    objects += nlohmann::json{{"id", i}, {"body", corpus.texts()[i]}}.dump() + "\n";
    if (i == corpus.texts().size() / 2) folder_.Write("many/a.txt", std::exchange(lines, ""));
  }
  folder_.Write("many/b.txt", lines);
  v1::TextDataSpec spec = TextSpec();
  spec.set_validation(v1::HASH);  // An object is a block of its own.
  const auto from_file = Open(v1::CLM, spec);
  spec.set_path((folder_ / "many").string());
  const auto from_folder = Open(v1::CLM, spec);
  spec.set_path(folder_.Write("all.jsonl", objects).string());
  spec.set_field("body");
  const auto from_objects = Open(v1::CLM, spec);
  for (const auto* dataset : {from_folder.get(), from_objects.get()}) {
    ASSERT_EQ(dataset->validation_examples(), from_file->validation_examples());
    EXPECT_TRUE(Equal(dataset->ValidationBatch(0, 9, 1), from_file->ValidationBatch(0, 9, 1)));
    EXPECT_TRUE(Equal(dataset->TrainBatch(1, 5, 9), from_file->TrainBatch(1, 5, 9)));
  }
}

TEST_F(TextDatasetTest, MissingTextIsNamedWithTheRemedy) {
  v1::TextDataSpec spec = TextSpec();
  spec.set_path("/no/such/file.txt");
  const absl::Status no_file = TryOpen(v1::MLM, spec).status();
  EXPECT_EQ(no_file.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_file.message()), HasSubstr("data.text.path: no file /no/such/file.txt on this "
                                                        "machine; name a UTF-8 text file"));
  spec.set_corpus("gcide");
  const absl::Status no_corpus = TryOpen(v1::MLM, spec).status();
  EXPECT_EQ(no_corpus.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_corpus.message()), HasSubstr("make corpora"));

  spec = TextSpec();
  spec.set_sequence_length(1000000);
  EXPECT_THAT(std::string(TryOpen(v1::CLM, spec).status().message()),
              HasSubstr("a smaller data.text.sequence_length"));
  spec = TextSpec();
  spec.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(261);
  EXPECT_THAT(std::string(TryOpen(v1::MLM, spec).status().message()), HasSubstr("261 is below 262"));
}

TEST_F(TextDatasetTest, ACorpusOfTheDataFolderIsOpenedByName) {
  std::filesystem::copy_file(TextSpec().path(), folder_ / "mine.txt");
  v1::TextDataSpec spec = TextSpec();
  spec.set_corpus("mine");
  EXPECT_EQ(Open(v1::MLM, spec)->dataset_digest(), Open(v1::MLM)->dataset_digest());
}

}  // namespace
}  // namespace inlier
