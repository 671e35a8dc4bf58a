// BERT's split into words, character class by character class. (Hugging Face's ids:
// tokenizers_golden_test.cc.)
#include "core/text/encoding/bert_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random_stream.h"
#include "base/utf8.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  BertWords cut(text);
  for (auto word = cut.Next(); !word.empty(); word = cut.Next()) words.emplace_back(word);
  return words;
}

TEST(BertWordsTest, LettersAreLoweredAndMarksAreWords) {
  EXPECT_THAT(Words("I'll SAY: it's 42nd  street!?"),
              ElementsAre("i", "'", "ll", "say", ":", "it", "'", "s", "42nd", "street", "!", "?"));
  EXPECT_THAT(Words("a_b-c^d"), ElementsAre("a", "_", "b", "-", "c", "^", "d"));
  EXPECT_THAT(Words(""), IsEmpty());
  EXPECT_THAT(Words(" \t\r\n "), IsEmpty());
}

TEST(BertWordsTest, AccentsAreDroppedHoweverTheyAreWritten) {
  EXPECT_THAT(Words("Caf\u00e9 cafe\u0301 \u00c5ngstr\u00f6m"), ElementsAre("cafe", "cafe", "angstrom"));
  EXPECT_THAT(Words("\u0130i\u0307"), ElementsAre("ii"));
  EXPECT_THAT(Words(".\u0301x"), ElementsAre(".", "x"));
  EXPECT_THAT(Words("\u0301"), IsEmpty());
}

TEST(BertWordsTest, EveryWhiteSpaceSeparatesAndEveryControlIsDropped) {
  EXPECT_THAT(Words("a\u00a0b\u2003c\u3000d\u2028e\u2029f"), ElementsAre("a", "b", "c", "d", "e", "f"));
  EXPECT_THAT(Words(std::string("a\x00"
                                "b\x01"
                                "c\x7f"
                                "d\x0b"
                                "e\x0c"
                                "f",
                                11)),
              ElementsAre("abcdef"));
  EXPECT_THAT(Words("so\u00adft\u200b\ufeff\ufffd\ue000ware\u0085x"), ElementsAre("softwarex"));
  EXPECT_THAT(Words("a\xff\xe2\x80z"), ElementsAre("az")) << "bytes that are not UTF-8";
}

TEST(BertWordsTest, IdeographsAreWordsAndOtherLettersAreNot) {
  EXPECT_THAT(Words("\u4e2d\u6587ab\u65e5"), ElementsAre("\u4e2d", "\u6587", "ab", "\u65e5"));
  EXPECT_THAT(Words("\U00020000\uf900"), ElementsAre("\U00020000", "\u8c48")) << "the second decomposes";
  EXPECT_THAT(Words("\u30c6\u30ad"), ElementsAre("\u30c6\u30ad"));
  EXPECT_THAT(Words("\u037e"), ElementsAre(";")) << "a mark only after decomposition";
  EXPECT_THAT(Words("\u201cx\u201d\u2026"), ElementsAre("\u201c", "x", "\u201d", "\u2026"));
}

// Found by comparing every code point with Hugging Face's tokenizer: its tables are older than ICU's.
TEST(BertWordsTest, CategoriesAreThoseOfUnicodeEight) {
  EXPECT_THAT(Words("a\u166db"), ElementsAre("a", "\u166d", "b")) << "punctuation then, a symbol now";
  EXPECT_THAT(Words("a\u1885b"), ElementsAre("a\u1885b")) << "a letter then, a mark now";
  EXPECT_THAT(Words("a\u2e55b\u08dac"), ElementsAre("a\u2e55b\u08dac")) << "unknown then";
  EXPECT_THAT(Words("a\U0002b82bb"), ElementsAre("a\U0002b82bb")) << "the gap among the ideographs";
}

TEST(BertWordsTest, AnyBytesGiveWordsWithoutSpacesAndInUtf8) {
  for (uint64_t i = 0; i < 2000; ++i) {
    RandomStream stream(3, "bytes", i);
    std::string text;
    for (uint64_t k = stream.Below(80); k > 0; --k) {
      text += static_cast<char>(stream.Below(4) == 0 ? stream.Below(256) : stream.Below(128));
    }
    for (const std::string& word : Words(text)) {
      ASSERT_EQ(ValidUtf8Prefix(word), word.size());
      ASSERT_EQ(word.find_first_of(" \t\r\n"), std::string::npos);
    }
  }
}

TEST(BertWordsTest, AVeryLongWordIsOneWord) {
  EXPECT_THAT(Words(std::string(3 << 20, 'A') + " b"), ElementsAre(std::string(3 << 20, 'a'), "b"));
  std::string accents;
  for (int i = 0; i < 100000; ++i) accents += "\u00e9";
  EXPECT_THAT(Words(accents), ElementsAre(std::string(100000, 'e')));
}

}  // namespace
}  // namespace inlier
