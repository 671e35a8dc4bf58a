// Vocabularies with mistakes, and the rules that Hugging Face's cases do not cover.
#include "core/text/word_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/data/data_files.h"
#include "tests/core/text/definition_encoder.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<uint32_t>;

constexpr char kSpecial[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";  // 0 to 4

absl::StatusOr<WordPieceVocabulary> Load(std::string_view content) {
  TemporaryFolder folder;
  return WordPieceVocabulary::Load(folder.Write("vocab.txt", content));
}

std::string ErrorOf(std::string_view content) {
  const auto loaded = Load(content);
  return loaded.ok() ? "OK" : std::string(loaded.status().message());
}

Ids Encode(const WordPieceVocabulary& vocabulary, std::string_view text) {
  return DefinitionEncoder(WordPieceDefinition(vocabulary)).Ids(text);
}

TEST(WordPieceTest, TheLongestPieceIsTakenFirst) {
  const auto vocabulary = Load(std::string(kSpecial) + "un\nunaff\n##aff\n##able\n##a\n##f\n").value();
  EXPECT_THAT(Encode(vocabulary, "unaffable UN unaffx un"), ElementsAre(6, 8, 5, 1, 5));
  EXPECT_THAT(Encode(vocabulary, "unaffaf"), ElementsAre(6, 9, 10));
}

TEST(WordPieceTest, AFileOfTooManyLinesIsRefused) {
  std::string lines = kSpecial;
  for (int i = 0; i < 1 << 20; ++i) lines += std::to_string(i) + "\n";
  EXPECT_THAT(ErrorOf(lines), HasSubstr("vocab.txt: more than 1048576 lines"));
}

TEST(WordPieceTest, AWordOfMoreThanAHundredCharactersIsUnknown) {
  const auto vocabulary = Load(std::string(kSpecial) + "a\n##a\n\u0444\n##\u0444\n").value();
  EXPECT_EQ(Encode(vocabulary, std::string(100, 'a')).size(), 100u);
  EXPECT_THAT(Encode(vocabulary, std::string(101, 'a')), ElementsAre(1));
  std::string cyrillic;  // Two bytes a character.
  for (int i = 0; i < 100; ++i) cyrillic += "\u0444";
  EXPECT_EQ(Encode(vocabulary, cyrillic).size(), 100u);
}

TEST(WordPieceTest, SpecialTokensInTheTextAreFoundInCapitalsOnly) {
  const auto vocabulary = Load(std::string(kSpecial) + "a\n[\n]\nmask\n##]\n").value();
  EXPECT_THAT(Encode(vocabulary, "a[MASK]a[mask][[SEP][CL"), ElementsAre(5, 4, 5, 6, 8, 7, 6, 3, 6, 1));
}

TEST(WordPieceTest, WindowsLineEndsAndAMissingLastOneDoNotMatter) {
  const auto vocabulary = Load("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nword").value();
  EXPECT_EQ(vocabulary.size(), 6u);
  EXPECT_THAT(Encode(vocabulary, "WORD"), ElementsAre(5));
}

TEST(WordPieceTest, DamagedVocabulariesAreRefusedWithFileAndLine) {
  EXPECT_THAT(ErrorOf(std::string(kSpecial) + "one\ntwo\none\n"),
              HasSubstr("vocab.txt:8: the token of line 6 again; each token has one line"));
  EXPECT_THAT(ErrorOf(std::string(kSpecial) + "one\n\ntwo\n"), HasSubstr("vocab.txt:7: an empty line"));
  EXPECT_THAT(ErrorOf("[PAD]\n[CLS]\n[SEP]\n[MASK]\na\n"),
              HasSubstr("vocab.txt: none of its 5 lines is [UNK]; it must be a vocab.txt of BERT"));
  EXPECT_THAT(ErrorOf(std::string(kSpecial) + "caf\xe9\n"),
              HasSubstr("vocab.txt:6: byte 4 of the line is not UTF-8"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("vocab.txt: none of its 0 lines is [PAD]"));
  EXPECT_THAT(ErrorOf("{\"[PAD]\": 0}"), HasSubstr("none of its 1 lines is [PAD]"));
  EXPECT_EQ(WordPieceVocabulary::Load("/no/such/vocab.txt").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace inlier
