// The places of vocabularies, the message when one is missing, and the identity of their content.
#include "core/text/tokenizer_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/data/data_files.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const fs::path kGolden = fs::path(INLIER_GOLDEN_DEFAULT) / "tokenizers";

constexpr char kWordPieceField[] = "data.text.tokenizer.wordpiece.vocab";
constexpr char kGpt2Field[] = "data.instructions.tokenizer.gpt2.vocab";

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// A data folder with both vocabularies, as get-corpora makes it.
class DataFolder {
 public:
  DataFolder() {
    fs::create_directories(bert());
    fs::create_directories(gpt2());
    fs::copy_file(kGolden / "bert-base-uncased-vocab.txt", bert() / "vocab.txt");
    fs::copy_file(kGolden / "gpt2-vocab.json", gpt2() / "vocab.json");
    fs::copy_file(kGolden / "gpt2-merges.txt", gpt2() / "merges.txt");
  }
  const fs::path& path() const { return folder_.path(); }
  fs::path bert() const { return folder_ / "vocabularies/bert-base-uncased"; }
  fs::path gpt2() const { return folder_ / "vocabularies/gpt2"; }

 private:
  TemporaryFolder folder_;
};

TEST(TokenizerSourceTest, ANameIsLookedForInTheDataFolder) {
  const DataFolder data;
  EXPECT_EQ(FindWordPiece("bert-base-uncased", data.path(), kWordPieceField)->vocab_txt,
            data.bert() / "vocab.txt");
  const auto gpt2 = FindGpt2("gpt2", data.path(), kGpt2Field).value();
  EXPECT_EQ(gpt2.vocab_json, data.gpt2() / "vocab.json");
  EXPECT_EQ(gpt2.merges_txt, data.gpt2() / "merges.txt");
}

TEST(TokenizerSourceTest, APathNamesAFileOrAFolder) {
  const DataFolder data;
  EXPECT_EQ(FindWordPiece(data.bert().string(), "", kWordPieceField)->vocab_txt, data.bert() / "vocab.txt");
  EXPECT_EQ(FindWordPiece((kGolden / "bert-base-uncased-vocab.txt").string(), "", kWordPieceField)->vocab_txt,
            kGolden / "bert-base-uncased-vocab.txt");
  EXPECT_EQ(FindGpt2(data.gpt2().string(), "", kGpt2Field)->merges_txt, data.gpt2() / "merges.txt");
  const auto pair = FindGpt2((kGolden / "gpt2-vocab.json").string(), "", kGpt2Field).value();
  EXPECT_EQ(pair.vocab_json, kGolden / "gpt2-vocab.json");
  EXPECT_EQ(pair.merges_txt, kGolden / "gpt2-merges.txt");
}

TEST(TokenizerSourceTest, AMissingVocabularyIsReportedWithPlaceOthersAndRemedy) {
  const DataFolder data;
  const absl::Status unknown = FindWordPiece("bert-large", data.path(), kWordPieceField).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      MessageOf(unknown),
      "data.text.tokenizer.wordpiece.vocab: no vocabulary \"bert-large\" with vocab.txt in " +
          (data.path() / "vocabularies").string() +
          " (there are: bert-base-uncased, gpt2); get it with `make corpora`, or give an absolute path");
  const TemporaryFolder empty;
  EXPECT_THAT(MessageOf(FindGpt2("gpt2", empty.path(), kGpt2Field).status()),
              AllOf(StartsWith("data.instructions.tokenizer.gpt2.vocab: "), HasSubstr("(none in it)")));
  EXPECT_THAT(MessageOf(FindWordPiece("/no/such/folder", data.path(), kWordPieceField).status()),
              HasSubstr("no vocab.txt at /no/such/folder on this machine"));
  // One of two files.
  fs::remove(data.gpt2() / "merges.txt");
  const absl::Status half = FindGpt2("gpt2", data.path(), kGpt2Field).status();
  EXPECT_EQ(half.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(half), HasSubstr("no vocabulary \"gpt2\" with vocab.json and merges.txt"));
}

TEST(TokenizerSourceTest, PublishedVocabulariesHaveTheirSizesAndSpecialTokens) {
  const auto bert = LoadTokenizer(WordPieceFile{kGolden / "bert-base-uncased-vocab.txt"}, "").value();
  EXPECT_EQ(bert->size(), 30522u);
  const SpecialTokens masked = bert->masked_tokens().value();
  EXPECT_EQ(masked.pad, 0);
  EXPECT_EQ(masked.begin, 101);
  EXPECT_EQ(masked.end, 102);
  EXPECT_EQ(masked.mask, 103);
  EXPECT_TRUE(masked.IsSpecial(101));
  EXPECT_FALSE(masked.IsSpecial(100)) << "[UNK] is what a word became, and may be a target";
  EXPECT_FALSE(bert->causal_tokens().has_value());

  const auto gpt2 = LoadTokenizer(Gpt2Files{kGolden / "gpt2-vocab.json", kGolden / "gpt2-merges.txt"}, "");
  ASSERT_TRUE(gpt2.ok()) << gpt2.status();
  EXPECT_EQ((*gpt2)->size(), 50257u);
  const SpecialTokens causal = (*gpt2)->causal_tokens().value();
  EXPECT_EQ(causal.begin, 50256);
  EXPECT_FALSE(causal.end.has_value());
  EXPECT_FALSE(causal.mask.has_value());
  EXPECT_FALSE((*gpt2)->masked_tokens().has_value());
  const auto ids = [](const Tokenizer& tokenizer, std::string_view text) {
    std::vector<uint32_t> encoded;
    tokenizer.MakeEncoder()->Encode(text, &encoded);
    return encoded;
  };
  EXPECT_THAT(ids(**gpt2, "a<|endoftext|>"), ElementsAre(64, 50256));
  EXPECT_THAT(ids(*bert, "A [MASK]"), ElementsAre(1037, 103));
}

TEST(TokenizerSourceTest, AVocabularyWithoutASeparatorIsNotGpt2s) {
  const auto bytes = BytePairVocabulary::FromMerges({}, {});
  const TemporaryFolder folder;
  const Gpt2Files files = {folder.Write("vocab.json", bytes->VocabJson()),
                           folder.Write("merges.txt", bytes->MergesTxt())};
  EXPECT_THAT(MessageOf(LoadTokenizer(files, "").status()),
              AllOf(HasSubstr("vocab.json: no token <|endoftext|>"), HasSubstr("nor </s> and <pad>")));
}

// The form of facebook/opt's files: its own four tokens first, GPT-2's separator among the words' ids,
// unused.
TEST(TokenizerSourceTest, OptsOwnVocabularySeparatesAndPadsWithItsOwnTokens) {
  for (const bool lists_gpt2s : {false, true}) {
    std::vector<std::string> special = {"<s>", "<pad>", "</s>", "<unk>"};
    if (lists_gpt2s) special.push_back("<|endoftext|>");
    const auto first_byte = static_cast<uint32_t>(special.size());
    const auto vocabulary = BytePairVocabulary::FromMerges(special, {{first_byte + 'h', first_byte + 'i'}});
    ASSERT_TRUE(vocabulary.ok()) << vocabulary.status();
    const TemporaryFolder folder;
    const Gpt2Files files = {folder.Write("vocab.json", vocabulary->VocabJson()),
                             folder.Write("merges.txt", vocabulary->MergesTxt())};
    const auto tokenizer = LoadTokenizer(files, "").value();
    const SpecialTokens causal = tokenizer->causal_tokens().value();
    EXPECT_EQ(causal.begin, 2);
    EXPECT_EQ(causal.pad, 1);
    EXPECT_FALSE(causal.end.has_value());
    std::vector<uint32_t> ids;
    tokenizer->MakeEncoder()->Encode("hi</s>h", &ids);
    EXPECT_THAT(ids, ElementsAre(first_byte + 256, 2, first_byte + 'h'));
    // A token that no merge makes and that separates nothing is spelt.
    ids.clear();
    tokenizer->MakeEncoder()->Encode("<s>", &ids);
    EXPECT_THAT(ids, ElementsAre(first_byte + '<', first_byte + 's', first_byte + '>'));
  }
}

TEST(TokenizerSourceTest, AVocabularyOfAnotherCacheIsNamedByItsContent) {
  const auto vocabulary =
      BytePairVocabulary::FromMerges({kOwnSpecialTokens.begin(), kOwnSpecialTokens.end()}, {}).value();
  const TemporaryFolder folder;
  folder.Write("vocab.json", vocabulary.VocabJson());
  folder.Write("merges.txt", vocabulary.MergesTxt());
  const OwnBytePairFiles source{folder.path()};
  const auto tokenizer = LoadTokenizer(source, "/nowhere").value();
  EXPECT_EQ(tokenizer->size(), 262u);
  EXPECT_EQ(tokenizer->causal_tokens()->begin, 2);
  const std::string key = KeyOf(source).value();
  EXPECT_THAT(key, StartsWith("byte_pair of "));
  folder.Write("merges.txt", vocabulary.MergesTxt() + "\n");
  EXPECT_NE(KeyOf(source).value(), key);
}

TEST(TokenizerSourceTest, TheKeyFollowsTheContentAndNotThePlace) {
  EXPECT_EQ(KeyOf(TrainedBytePair{2000}).value(), "byte_pair 2000");
  const DataFolder data;
  const std::string key = KeyOf(WordPieceFile{kGolden / "bert-base-uncased-vocab.txt"}).value();
  EXPECT_EQ(key, "wordpiece 07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3");
  EXPECT_EQ(KeyOf(*FindWordPiece("bert-base-uncased", data.path(), kWordPieceField)).value(), key);
  std::ofstream(data.bert() / "vocab.txt", std::ios::app) << "another\n";
  EXPECT_NE(KeyOf(*FindWordPiece("bert-base-uncased", data.path(), kWordPieceField)).value(), key);
}

}  // namespace
}  // namespace inlier
