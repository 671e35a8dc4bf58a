#include "core/labelled/classification_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/text/special_tokens.h"
#include "core/text/text_dataset.h"
#include "nlohmann/json.hpp"
#include "tests/core/data/batch_rows.h"
#include "tests/core/data/data_files.h"
#include "torch/types.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kPad = 0, kCls = 3, kSep = 4;

class ClassificationDatasetTest : public testing::Test {
 protected:
  // Bytes only, so that a letter is a token.
  v1::ClassificationDataSpec Spec() const {
    v1::ClassificationDataSpec spec;
    spec.set_path(folder_.path().string());
    spec.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(kSmallestVocabulary);
    spec.set_sequence_length(6);
    return spec;
  }
  absl::StatusOr<std::unique_ptr<ClassificationDataset>> TryOpen(const v1::ClassificationDataSpec& spec) {
    TextOpenOptions options;
    options.data_dir = folder_.path();
    options.cache_dir = cache_.path();
    return ClassificationDataset::Open(spec, options);
  }
  std::unique_ptr<ClassificationDataset> Open(const v1::ClassificationDataSpec& spec) {
    return TryOpen(spec).value();
  }
  std::string Error(const v1::ClassificationDataSpec& spec) {
    const auto dataset = TryOpen(spec);
    return dataset.ok() ? "OK" : std::string(dataset.status().message());
  }
  std::string Folder() const { return folder_.path().string(); }

  TemporaryFolder folder_, cache_;
};

TEST_F(ClassificationDatasetTest, SentencesBecomeClsTextSepAndPadding) {
  folder_.Write("train.tsv", "sentence\tlabel\nab\tpos\nabcdefg\tneg\n\tpos\n");
  folder_.Write("dev.tsv", "sentence\tlabel\nb\tneg\nabcd\tpos\na\tpos\n");
  const auto dataset = Open(Spec());
  EXPECT_EQ(dataset->train_examples(), 3);
  EXPECT_EQ(dataset->validation_examples(), 3);
  EXPECT_EQ(dataset->sequence_length(), 6);
  EXPECT_EQ(dataset->vocab_size(), kSmallestVocabulary);
  EXPECT_EQ(dataset->classes(), 2);
  EXPECT_THAT(dataset->class_names(), ElementsAre("neg", "pos"));
  EXPECT_DOUBLE_EQ(dataset->majority_share(), 2.0 / 3);

  const Batch validation = dataset->ValidationBatch(0, 2, 0);
  EXPECT_THAT(Row(validation.ids, 0), ElementsAre(kCls, ByteId('b'), kSep, kPad, kPad, kPad));
  EXPECT_THAT(Row(validation.attention_mask, 0), ElementsAre(1, 1, 1, 0, 0, 0));
  EXPECT_THAT(Row(validation.ids, 1),
              ElementsAre(kCls, ByteId('a'), ByteId('b'), ByteId('c'), ByteId('d'), kSep));
  EXPECT_THAT(Row(validation.attention_mask, 1), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_EQ(validation.labels.scalar_type(), torch::kInt64);
  EXPECT_TRUE(torch::equal(validation.labels, torch::tensor({0L, 1L})));
  EXPECT_FALSE(validation.token_type_ids.defined());
  EXPECT_EQ(dataset->ValidationBatches(2), 2);
  EXPECT_EQ(dataset->ValidationBatch(1, 2, 0).ids.size(0), 1);

  // A text that is too long loses its end; an empty one is no error.
  const Batch train = dataset->CalibrationBatch(v1::VALIDATION, 1, 2, 0);
  EXPECT_TRUE(torch::equal(train.ids[1], validation.ids[0])) << "from the start again";
  std::set<std::vector<std::int64_t>> rows;
  const Batch epoch = dataset->TrainBatch(1, 0, 3);
  for (int i = 0; i < 3; ++i) rows.insert(Row(epoch.ids, i));
  EXPECT_THAT(rows, testing::UnorderedElementsAre(
                        ElementsAre(kCls, ByteId('a'), ByteId('b'), kSep, kPad, kPad),
                        ElementsAre(kCls, ByteId('a'), ByteId('b'), ByteId('c'), ByteId('d'), kSep),
                        ElementsAre(kCls, kSep, kPad, kPad, kPad, kPad)));
}

TEST_F(ClassificationDatasetTest, PairsHaveTokenTypesAndTheLongerSentenceIsCutFirst) {
  folder_.Write("train.tsv", "1\tx\ty\n0\tx\ty\n");
  folder_.Write("dev.tsv",
                "1\ta\tb\n"        // Fits.
                "1\tabcdef\tx\n"   // The first is longer.
                "0\tx\tabcdef\n"   // The second is.
                "0\tabc\txyz\n"    // Alike: the second loses its last token first.
                "0\tabcdef\t\n");  // Nothing in the second.
  v1::ClassificationDataSpec spec = Spec();
  spec.set_label_column("1");
  spec.set_text_column("2");
  spec.set_pair_column("3");
  spec.set_sequence_length(8);
  const auto dataset = Open(spec);
  EXPECT_DOUBLE_EQ(dataset->majority_share(), 3.0 / 5) << "equally frequent in training: the first class";
  const Batch batch = dataset->ValidationBatch(0, 5, 0);
  const auto byte = ByteId;
  EXPECT_THAT(Row(batch.ids, 0), ElementsAre(kCls, byte('a'), kSep, byte('b'), kSep, kPad, kPad, kPad));
  EXPECT_THAT(Row(batch.token_type_ids, 0), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0));
  EXPECT_THAT(Row(batch.attention_mask, 0), ElementsAre(1, 1, 1, 1, 1, 0, 0, 0));
  EXPECT_THAT(Row(batch.ids, 1),
              ElementsAre(kCls, byte('a'), byte('b'), byte('c'), byte('d'), kSep, byte('x'), kSep));
  EXPECT_THAT(Row(batch.token_type_ids, 1), ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_THAT(Row(batch.ids, 2),
              ElementsAre(kCls, byte('x'), kSep, byte('a'), byte('b'), byte('c'), byte('d'), kSep));
  EXPECT_THAT(Row(batch.ids, 3),
              ElementsAre(kCls, byte('a'), byte('b'), byte('c'), kSep, byte('x'), byte('y'), kSep));
  EXPECT_THAT(Row(batch.ids, 4),
              ElementsAre(kCls, byte('a'), byte('b'), byte('c'), byte('d'), byte('e'), kSep, kSep));
  EXPECT_THAT(Row(batch.token_type_ids, 4), ElementsAre(0, 0, 0, 0, 0, 0, 0, 1));
}

TEST_F(ClassificationDatasetTest, NumbersAreLabelsOfFloats) {
  folder_.Write("train.tsv", "score\tsentence1\tsentence2\n5.000\ta\tb\n-2.5e-1\tc\td\n");
  folder_.Write("dev.tsv", "score\tsentence1\tsentence2\n3.75\ta\tb\n");
  v1::ClassificationDataSpec spec = Spec();
  spec.set_label_column("score");
  spec.set_text_column("sentence1");
  spec.set_pair_column("sentence2");
  spec.set_target(v1::ClassificationDataSpec::NUMBER);
  const auto dataset = Open(spec);
  EXPECT_EQ(dataset->classes(), 1);
  EXPECT_TRUE(dataset->class_names().empty());
  EXPECT_EQ(dataset->majority_share(), 0);
  const Batch batch = dataset->ValidationBatch(0, 4, 0);
  EXPECT_EQ(batch.labels.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::equal(batch.labels, torch::tensor({3.75F})));
  const at::Tensor train = dataset->TrainBatch(1, 0, 2).labels;
  EXPECT_TRUE(torch::equal(std::get<0>(train.sort()), torch::tensor({-0.25F, 5.0F})));

  folder_.Write("dev.tsv", "score\tsentence1\tsentence2\n3.75\ta\tb\nhigh\ta\tb\n");
  EXPECT_EQ(Error(spec),
            Folder() + "/dev.tsv:3: the label is not a number, and data.classification.target is NUMBER");
  folder_.Write("dev.tsv", "score\tsentence1\tsentence2\nnan\ta\tb\n");
  EXPECT_THAT(Error(spec), HasSubstr("dev.tsv:2: the label is not a number"));
}

// 200 texts, half of them twice.
std::string ManyRows() {
  std::string rows = "label\tsentence\n";
  for (int i = 0; i < 300; ++i) rows += absl::StrCat(i % 2, "\ttext ", i % 200, "\n");
  return rows;
}

TEST_F(ClassificationDatasetTest, AHashOfTheTextSplitsASingleFile) {
  v1::ClassificationDataSpec spec = Spec();
  spec.set_path(folder_.Write("all.tsv", ManyRows()).string());
  spec.set_sequence_length(12);
  spec.set_validation_fraction(0.25);
  const auto texts = [](const ClassificationDataset& dataset, bool train) {
    std::multiset<std::vector<std::int64_t>> seen;
    const std::int64_t size = train ? dataset.train_examples() : dataset.validation_examples();
    const Batch batch = train ? dataset.TrainBatch(1, 0, size) : dataset.ValidationBatch(0, size, 0);
    for (std::int64_t i = 0; i < size; ++i) seen.insert(Row(batch.ids, i));
    return seen;
  };
  const auto dataset = Open(spec);
  // Fixed results of the hash; another hash would make trained models validate on their training texts.
  EXPECT_EQ(dataset->train_examples(), 223);
  EXPECT_EQ(dataset->validation_examples(), 77);
  const auto train = texts(*dataset, true), validation = texts(*dataset, false);
  for (const auto& text : validation) EXPECT_EQ(train.count(text), 0u) << "on both sides";

  // One row more or less moves no other.
  spec.set_path(folder_.Write("more.tsv", ManyRows() + "1\tanother\n").string());
  auto more = texts(*Open(spec), true), more_validation = texts(*Open(spec), false);
  EXPECT_EQ(more.size() + more_validation.size(), 301u);
  EXPECT_TRUE(std::includes(more.begin(), more.end(), train.begin(), train.end()));
  EXPECT_TRUE(
      std::includes(more_validation.begin(), more_validation.end(), validation.begin(), validation.end()));

  spec.set_path(folder_.Write("two.tsv", "label\tsentence\n0\ttext 1\n1\ttext 2\n").string());
  spec.set_validation_fraction(1e-9);
  EXPECT_EQ(Error(spec), Folder() +
                             "/two.tsv: no row for validation, of 2 with "
                             "data.classification.validation_fraction 1e-09; use more rows, another "
                             "fraction, or a folder with two files");
}

TEST_F(ClassificationDatasetTest, TheFirstValidationRowsOfASortedFileAreOfEveryClass) {
  std::string rows = "label\tsentence\n";
  for (int i = 0; i < 400; ++i) rows += absl::StrCat(i / 100, "\ttext ", i, "\n");
  v1::ClassificationDataSpec spec = Spec();
  spec.set_path(folder_.Write("sorted.tsv", rows).string());
  spec.set_validation_fraction(0.5);
  const at::Tensor labels = Open(spec)->ValidationBatch(0, 32, 0).labels;
  EXPECT_EQ(std::get<0>(at::_unique(labels)).numel(), 4);
}

TEST_F(ClassificationDatasetTest, BatchesAreFunctionsOfTheirNumberOnly) {
  v1::ClassificationDataSpec spec = Spec();
  spec.set_path(folder_.Write("all.tsv", ManyRows()).string());
  spec.set_sequence_length(12);
  const auto dataset = Open(spec);
  for (const std::uint64_t index : {0, 7, 1000}) {
    const Batch whole = dataset->TrainBatch(5, index, 8);
    const Batch first = dataset->TrainBatch(5, 2 * index, 4),
                second = dataset->TrainBatch(5, 2 * index + 1, 4);
    EXPECT_TRUE(torch::equal(whole.ids, torch::cat({first.ids, second.ids})));
    EXPECT_TRUE(torch::equal(whole.labels, torch::cat({first.labels, second.labels})));
    EXPECT_TRUE(
        torch::equal(whole.attention_mask, torch::cat({first.attention_mask, second.attention_mask})));
  }
  EXPECT_FALSE(torch::equal(dataset->TrainBatch(5, 0, 8).ids, dataset->TrainBatch(6, 0, 8).ids));
  // An epoch reads every row once: its labels are those of the file.
  const std::int64_t size = dataset->train_examples();
  const at::Tensor first = dataset->TrainBatch(5, 0, size).labels,
                   second = dataset->TrainBatch(5, 1, size).labels;
  EXPECT_FALSE(torch::equal(first, second));
  EXPECT_EQ(first.sum().item<std::int64_t>(), second.sum().item<std::int64_t>());
}

TEST_F(ClassificationDatasetTest, TheDigestNamesTextsLabelsAndSettings) {
  const auto digest = [this](const std::string& content, std::uint32_t length) {
    v1::ClassificationDataSpec spec = Spec();
    spec.set_path(folder_.Write("digest.tsv", content).string());
    spec.set_sequence_length(length);
    spec.set_validation_fraction(0.5);
    return Open(spec)->dataset_digest();
  };
  const std::string rows = ManyRows();
  const std::string of_rows = digest(rows, 12);
  EXPECT_EQ(digest(rows, 12), of_rows);
  EXPECT_NE(digest(rows, 13), of_rows);
  EXPECT_NE(digest(rows + "1\tx\n", 12), of_rows);
  std::string relabelled = rows;
  relabelled[std::string_view("label\tsentence\n").size()] = '1';
  EXPECT_NE(digest(relabelled, 12), of_rows);
}

TEST_F(ClassificationDatasetTest, LabelsThatCannotBeLearntAreNamedWithTheirLine) {
  folder_.Write("train.tsv", "sentence\tlabel\na\tpos\nb\tneg\n");
  folder_.Write("dev.tsv", "sentence\tlabel\na\tpos\nb\tneutral\n");
  EXPECT_EQ(Error(Spec()),
            Folder() +
                "/dev.tsv:3: the class of this validation row is not among the 2 of the training "
                "part; add rows of it there, or take this one out");
  folder_.Write("dev.tsv", "sentence\tlabel\na\t3.5\n");
  EXPECT_THAT(Error(Spec()),
              EndsWith("if numbers are to be predicted, set data.classification.target: NUMBER"));
  folder_.Write("train.tsv", "sentence\tlabel\na\tpos\nb\tpos\n");
  EXPECT_THAT(Error(Spec()), StartsWith(Folder() + "/train.tsv:2: every training row is of one class; two"));
}

TEST_F(ClassificationDatasetTest, MissingFilesAndColumnsHaveARemedy) {
  v1::ClassificationDataSpec spec = Spec();
  folder_.Write("train.tsv", "sentence\tlabel\na\tpos\nb\tneg\n");
  folder_.Write("dev_matched.tsv", "sentence\tlabel\na\tpos\n");
  EXPECT_EQ(Error(spec), "data.classification.validation_file: no file dev.tsv in " + Folder() +
                             "; known: dev_matched.tsv, train.tsv");
  spec.set_validation_file("dev_matchd.tsv");
  EXPECT_THAT(Error(spec), EndsWith("; did you mean \"dev_matched.tsv\"?"));
  spec.set_validation_file("dev_matched.tsv");
  EXPECT_EQ(Error(spec), "OK");
  spec.set_path("/no/such/place");
  EXPECT_THAT(Error(spec), StartsWith("data.classification.path: no file /no/such/place on this machine"));
  spec.set_dataset("wordnet-class");
  EXPECT_EQ(Error(spec),
            "data.classification.dataset: no data set \"wordnet-class\" in " + Folder() +
                " (there are: dev_matched, train); get it with `make corpora`, or name a .tsv file "
                "of your own with data.classification.path");
  folder_.Write("all.tsv", ManyRows());
  spec.set_dataset("all");
  spec.set_validation_fraction(0.25);
  EXPECT_EQ(Open(spec)->validation_examples(), 77);
}

// Against Hugging Face's, with truncation longest_first and padding max_length.
TEST_F(ClassificationDatasetTest, GoldenPairsAreCutAndPaddedTheSame) {
  const auto golden = std::filesystem::path(INLIER_GOLDEN_DEFAULT) / "tokenizers";
  const auto file = nlohmann::json::parse(ReadAll(golden / "bert_cases.json"));
  using Numbers = std::vector<std::int64_t>;
  for (const nlohmann::json& pair : file.at("pair_cases")) {
    const std::string row =
        absl::StrCat("\t", pair["text"].get<std::string>(), "\t", pair["pair"].get<std::string>(), "\n");
    folder_.Write("train.tsv", "0" + row + "1" + row);
    folder_.Write("dev.tsv", "0" + row);
    v1::ClassificationDataSpec spec = Spec();
    spec.mutable_tokenizer()->mutable_wordpiece()->set_vocab(
        (golden / "bert-base-uncased-vocab.txt").string());
    spec.set_label_column("1");
    spec.set_text_column("2");
    if (pair["pair"] != "") spec.set_pair_column("3");
    spec.set_sequence_length(pair["max_length"]);
    const Batch batch = Open(spec)->ValidationBatch(0, 1, 0);
    EXPECT_EQ(Row(batch.ids, 0), pair["input_ids"].get<Numbers>()) << pair;
    EXPECT_EQ(Row(batch.attention_mask, 0), pair["attention_mask"].get<Numbers>()) << pair;
    if (spec.has_pair_column()) {
      EXPECT_EQ(Row(batch.token_type_ids, 0), pair["token_type_ids"].get<Numbers>()) << pair;
    }
  }
}

TEST_F(ClassificationDatasetTest, ATokenizerWithoutClsIsRefused) {
  folder_.Write("train.tsv", "sentence\tlabel\na\tpos\nb\tneg\n");
  folder_.Write("dev.tsv", "sentence\tlabel\na\tpos\n");
  const auto golden = std::filesystem::path(INLIER_GOLDEN_DEFAULT) / "tokenizers";
  v1::ClassificationDataSpec spec = Spec();
  spec.mutable_tokenizer()->mutable_gpt2()->set_vocab((golden / "gpt2-vocab.json").string());
  EXPECT_EQ(Error(spec),
            "data.classification.tokenizer: it has no special tokens for MLM; choose another tokenizer");
  spec.mutable_tokenizer()->mutable_wordpiece()->set_vocab((golden / "bert-base-uncased-vocab.txt").string());
  const auto dataset = Open(spec);
  EXPECT_THAT(Row(dataset->ValidationBatch(0, 1, 0).ids, 0), ElementsAre(101, 1037, 102, 0, 0, 0));
  spec.mutable_tokenizer()->mutable_wordpiece()->set_vocab("nowhere");
  EXPECT_THAT(Error(spec),
              StartsWith("data.classification.tokenizer.wordpiece.vocab: no vocabulary \"nowhere\""));
}

TEST_F(ClassificationDatasetTest, AVocabularyOfItsOwnIsTrainedOnTheTrainingRowsOnly) {
  std::string train = "sentence\tlabel\n", dev = "sentence\tlabel\n";
  for (int i = 0; i < 20; ++i) {
    train += absl::StrCat("qqqq\t", i % 2, "\n");
    dev += "zzzz\t1\n";
  }
  folder_.Write("train.tsv", train);
  folder_.Write("dev.tsv", dev);
  v1::ClassificationDataSpec spec = Spec();
  spec.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(400);
  spec.set_sequence_length(8);
  const auto dataset = Open(spec);
  EXPECT_EQ(dataset->TrainBatch(1, 0, 1).attention_mask.sum().item<std::int64_t>(), 3) << "one token";
  EXPECT_EQ(dataset->ValidationBatch(0, 1, 0).attention_mask.sum().item<std::int64_t>(), 6) << "four bytes";
}

// Fine-tuning reads the ids that pre-training wrote.
TEST_F(ClassificationDatasetTest, TheVocabularyOfACorpusIsThatOfAPreTrainingOnIt) {
  std::string corpus;
  for (int i = 0; i < 400; ++i) corpus += absl::StrCat("the word number ", i * 7919 % 1000, " of them\n");
  // The last fiftieth is for validation; its words must not matter.
  for (int i = 0; i < 8; ++i) corpus += "zzzzzzzzzz zzzzzzzzzz\n";
  folder_.Write("some-text.txt", corpus);
  TextOpenOptions options;
  options.data_dir = folder_.path();
  options.cache_dir = cache_.path();
  v1::TextDataSpec text;
  text.set_corpus("some-text");
  text.set_validation(v1::LAST);
  text.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(300);
  text.set_sequence_length(8);
  const auto pre_training = TextDataset::Open(text, v1::MLM, options).value();
  EXPECT_EQ(pre_training->vocab_size(), 300);

  folder_.Write("train.tsv", "sentence\tlabel\nthe word number 7 of them zz\tpos\nb\tneg\n");
  folder_.Write("dev.tsv", "sentence\tlabel\nthe word number 7 of them zz\tpos\n");
  v1::ClassificationDataSpec spec = Spec();
  spec.set_sequence_length(24);
  spec.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(300);
  spec.mutable_tokenizer()->mutable_byte_pair()->set_corpus("some-text");
  spec.mutable_tokenizer()->mutable_byte_pair()->set_corpus_validation(v1::LAST);
  const auto dataset = Open(spec);
  EXPECT_EQ(dataset->vocab_size(), 300);
  const Batch batch = dataset->ValidationBatch(0, 1, 0);
  const std::int64_t length = batch.attention_mask.sum().item<std::int64_t>();
  const torch::Tensor ids = batch.ids[0].slice(0, 1, length - 1);
  EXPECT_EQ(Decoded(*pre_training, ids), "the word number 7 of them zz");
  EXPECT_LT(ids.numel(), 14) << "words of the corpus are few tokens";
  EXPECT_EQ(ids[-1].item<std::int64_t>(), ByteId('z')) << "unknown to the vocabulary";

  // Text whose vocabulary is another corpus' reads the same ids too.
  v1::TextDataSpec other = text;
  folder_.Write("other.txt", "the word number 7 of them zz\nb\n");
  other.set_path((folder_.path() / "other.txt").string());
  other.mutable_tokenizer()->mutable_byte_pair()->set_corpus("some-text");
  other.mutable_tokenizer()->mutable_byte_pair()->set_corpus_validation(v1::LAST);
  other.set_validation_fraction(0.5);
  other.set_validation(v1::LAST);
  const auto reused = TextDataset::Open(other, v1::MLM, options).value();
  const Batch packed = reused->ValidationBatch(0, 1, 0);
  EXPECT_EQ(reused->vocab_size(), 300);
  const Batch train = reused->TrainBatch(1, 0, 1);
  const torch::Tensor original = torch::where(train.labels == -100, train.ids, train.labels);
  EXPECT_TRUE(torch::equal(original[0].slice(0, 1, 8), ids.slice(0, 0, 7)));

  // The other split is another vocabulary, again that of its pre-training.
  text.set_validation(v1::HASH);
  spec.mutable_tokenizer()->mutable_byte_pair()->set_corpus_validation(v1::HASH);
  const auto spread = TextDataset::Open(text, v1::MLM, options).value();
  const Batch reread = Open(spec)->ValidationBatch(0, 1, 0);
  const std::int64_t tokens = reread.attention_mask.sum().item<std::int64_t>();
  EXPECT_EQ(Decoded(*spread, reread.ids[0].slice(0, 1, tokens - 1)), "the word number 7 of them zz");

  spec.mutable_tokenizer()->mutable_byte_pair()->set_corpus("sometext");
  EXPECT_EQ(Error(spec),
            "data.classification.tokenizer.byte_pair.corpus: no corpus \"sometext\" in " + Folder() +
                " (there are: other, some-text); get it with `make corpora`, or name a text of your "
                "own with data.classification.tokenizer.byte_pair.path");
  // A text of one's own is the same as the corpus of those bytes, its records as its lines.
  v1::BytePairSpec& byte_pair = *spec.mutable_tokenizer()->mutable_byte_pair();
  byte_pair.clear_corpus();
  byte_pair.set_path(Folder() + "/some-text.txt");
  byte_pair.set_field("text");
  EXPECT_EQ(Open(spec)->tokenizer().Digest(), spread->tokenizer().Digest());
  byte_pair.set_path("/no/such.jsonl");
  EXPECT_THAT(Error(spec),
              StartsWith("data.classification.tokenizer.byte_pair.path: no file /no/such.jsonl on this "
                         "machine"));
  spec.mutable_tokenizer()->mutable_byte_pair()->set_vocab_size(100);
  EXPECT_THAT(Error(spec),
              StartsWith("data.classification.tokenizer.byte_pair.vocab_size: 100 is below 262"));
}

}  // namespace
}  // namespace inlier
