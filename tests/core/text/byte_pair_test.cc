// The encoder's guarantees on any bytes, and the files. (The reference's ids: tokenizers_golden_test.cc.)
#include "core/text/byte_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random_stream.h"
#include "core/text/encoding/pre_tokenizer.h"
#include "tests/core/data/data_files.h"
#include "tests/core/text/definition_encoder.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const BytePairVocabulary& Gpt2() {
  static const BytePairVocabulary* vocabulary = [] {
    const auto folder = std::filesystem::path(INLIER_GOLDEN_DEFAULT) / "tokenizers";
    auto loaded = BytePairVocabulary::Load(folder / "gpt2-vocab.json", folder / "gpt2-merges.txt");
    if (!loaded.ok()) ADD_FAILURE() << loaded.status();
    return new BytePairVocabulary(*std::move(loaded));
  }();
  return *vocabulary;
}

std::vector<std::string> NextWords(std::string_view text) {
  std::vector<std::string> words;
  size_t position = 0;
  for (auto word = NextWord(text, &position); !word.empty(); word = NextWord(text, &position))
    words.emplace_back(word);
  return words;
}

std::vector<uint32_t> Encode(const BytePairVocabulary& vocabulary, std::string_view text) {
  return DefinitionEncoder(BytePairDefinition(vocabulary)).Ids(text);
}

// Real text: words, numbers, white space of all kinds, marks, other scripts, and bytes that are not UTF-8.
std::string RandomText(RandomStream& stream) {
  static const std::vector<std::string> pieces = {"a",
                                                  "the",
                                                  " the",
                                                  "'s",
                                                  "'ll",
                                                  " ",
                                                  "  ",
                                                  "\n",
                                                  "\t",
                                                  "\r\n",
                                                  "7",
                                                  "1984",
                                                  "!?",
                                                  "\"",
                                                  "\xC2\xA0",
                                                  "\xE3\x80\x80",
                                                  "caf\xC3\xA9",
                                                  "\xCE\xBA\xCE\xB1\xCE\xB9",
                                                  "\xE4\xB8\xAD\xE6\x96\x87",
                                                  "\xF0\x9F\x98\x80",
                                                  "\xCC\x88",
                                                  "\xC2\xBD",
                                                  "_",
                                                  std::string("\0", 1),
                                                  "\xFF",
                                                  "\xE2\x80",
                                                  "\xF0\x9F",
                                                  "</s>",
                                                  "'"};
  std::string text;
  for (uint64_t i = stream.Below(60); i > 0; --i) {
    text += stream.Below(8) == 0 ? std::string(1, static_cast<char>(stream.Below(256)))
                                 : pieces[stream.Below(pieces.size())];
  }
  return text;
}

TEST(PreTokenizerTest, CutsAsThePatternDoes) {
  EXPECT_THAT(NextWords("I'll say: it's 42nd  street"),
              ElementsAre("I", "'ll", " say", ":", " it", "'s", " 42", "nd", " ", " street"));
  EXPECT_THAT(NextWords("a \n b"), ElementsAre("a", " \n", " b"));
  EXPECT_THAT(NextWords("end  "), ElementsAre("end", "  "));
  EXPECT_THAT(NextWords(" 's"), ElementsAre(" '", "s"));
  EXPECT_THAT(NextWords("\t\tx"), ElementsAre("\t", "\t", "x"));
  EXPECT_THAT(NextWords("'"), ElementsAre("'"));
  EXPECT_THAT(NextWords(" "), ElementsAre(" "));
  EXPECT_THAT(NextWords(""), ElementsAre());
  EXPECT_THAT(NextWords("a\xC2\xA0\xCE\xBA"),
              ElementsAre("a", "\xC2\xA0", "\xCE\xBA"));  // A no-break space belongs to no word.
}

TEST(PreTokenizerTest, WordsJoinedGiveBackAnyBytes) {
  for (uint64_t i = 0; i < 500; ++i) {
    RandomStream stream(11, "text", i);
    const std::string text = RandomText(stream);
    std::string joined;
    for (const std::string& word : NextWords(text)) joined += word;
    ASSERT_EQ(joined, text);
  }
}

std::string BytesOf(const std::vector<uint32_t>& ids) {
  std::string bytes;
  for (const uint32_t id : ids) bytes += Gpt2().TokenBytes(id);
  return bytes;
}

TEST(BytePairTest, TheTokensHaveTheBytesOfTheText) {
  DefinitionEncoder encoder(BytePairDefinition(Gpt2()));
  for (uint64_t i = 0; i < 1000; ++i) {
    RandomStream stream(12, "text", i);
    const std::string text = RandomText(stream);
    const std::vector<uint32_t> ids = encoder.Ids(text);
    ASSERT_EQ(BytesOf(ids), text);
    ASSERT_EQ(ids, encoder.Ids(text)) << "remembered words differ from new ones";
  }
}

TEST(BytePairTest, LongWordsAreMergedAsShortOnesAre) {
  DefinitionEncoder encoder(BytePairDefinition(Gpt2()));
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> ranks;
  for (const auto& merge : Gpt2().merges()) ranks.emplace(merge, ranks.size());
  std::map<std::string_view, uint32_t> ids;
  for (uint32_t id = 0; id < Gpt2().size(); ++id) ids.emplace(Gpt2().TokenBytes(id), id);
  // The long way (a queue) and the short way (scanning) must agree; the plain rule is written out here.
  for (uint64_t i = 0; i < 50; ++i) {
    RandomStream stream(13, "word", i);
    std::string word;
    const uint64_t length = 20 + stream.Below(200);
    while (word.size() < length) word += static_cast<char>('a' + stream.Below(stream.Below(2) ? 3 : 26));
    std::vector<uint32_t> pieces;
    for (const char c : word) pieces.push_back(ids.at({&c, 1}));
    for (;;) {
      uint32_t best = UINT32_MAX;
      std::pair<uint32_t, uint32_t> pair;
      for (size_t k = 0; k + 1 < pieces.size(); ++k) {
        const auto joined = ranks.find({pieces[k], pieces[k + 1]});
        if (joined != ranks.end() && joined->second < best) best = joined->second, pair = joined->first;
      }
      if (best == UINT32_MAX) break;
      std::vector<uint32_t> merged;
      for (size_t k = 0; k < pieces.size(); ++k) {
        if (k + 1 < pieces.size() && pieces[k] == pair.first && pieces[k + 1] == pair.second) {
          const std::string joined =
              std::string(Gpt2().TokenBytes(pair.first)) + std::string(Gpt2().TokenBytes(pair.second));
          merged.push_back(ids.at(joined));
          ++k;
        } else {
          merged.push_back(pieces[k]);
        }
      }
      pieces = merged;
    }
    EXPECT_EQ(encoder.Ids(word), pieces) << word;
  }
}

TEST(BytePairTest, AMegabyteWithoutASpaceIsEncodedInTime) {
  const std::vector<uint32_t> ids = Encode(Gpt2(), std::string(1 << 20, 'a'));
  EXPECT_EQ(BytesOf(ids), std::string(1 << 20, 'a'));
}

TEST(BytePairTest, SpecialTokensInTextAreText) {
  const auto vocabulary = BytePairVocabulary::FromMerges({"<s>", "<s>>"}, {}).value();
  EXPECT_THAT(Encode(vocabulary, "a<s>>b"),
              ElementsAre(2 + 'a', 2 + '<', 2 + 's', 2 + '>', 2 + '>', 2 + 'b'));
}

TEST(BytePairTest, FilesGiveBackTheSameVocabulary) {
  const uint32_t h = 1 + 'h', e = 1 + 'e', space = 1 + ' ', high = 1 + 0xE9;
  const auto made = BytePairVocabulary::FromMerges({"[PAD]"}, {{h, e}, {space, 257}, {high, high}}).value();
  TemporaryFolder folder;
  const auto read = BytePairVocabulary::Load(folder.Write("vocab.json", made.VocabJson()),
                                             folder.Write("merges.txt", made.MergesTxt()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->size(), 260u);
  EXPECT_EQ(read->merges(), made.merges());
  EXPECT_EQ(read->special_ids(), std::vector<uint32_t>{0});
  for (uint32_t id = 0; id < read->size(); ++id) EXPECT_EQ(read->TokenBytes(id), made.TokenBytes(id)) << id;
  EXPECT_THAT(made.MergesTxt(), testing::StartsWith("#version: 0.2\nh e\n\xC4\xA0 he\n"));
  EXPECT_THAT(made.VocabJson(), HasSubstr("\"\xC4\xA0he\": 258"));
}

TEST(BytePairTest, DamagedFilesAreNamedWithTheirPlace) {
  TemporaryFolder folder;
  const auto made = BytePairVocabulary::FromMerges({}, {{'a', 'b'}});
  const auto vocab = folder.Write("vocab.json", made->VocabJson());
  const auto merges = folder.Write("merges.txt", "#version: 0.2\na b\na c\n");
  EXPECT_THAT(std::string(BytePairVocabulary::Load(vocab, merges).status().message()),
              HasSubstr("merges.txt:3: not two tokens"));
  EXPECT_THAT(std::string(BytePairVocabulary::Load(folder.Write("v2.json", "{\"a\": 0, \"b\": 0}"), merges)
                              .status()
                              .message()),
              HasSubstr("v2.json: a token's id is missing or given twice; ids must be 0 to 1, each once"));
  EXPECT_THAT(
      std::string(BytePairVocabulary::Load(folder.Write("v3.json", "{\"a\": 0}"), merges).status().message()),
      HasSubstr("no token for the byte 0"));
  EXPECT_THAT(
      std::string(BytePairVocabulary::Load(folder.Write("v4.json", "[1]"), merges).status().message()),
      HasSubstr("v4.json: not a JSON object"));
  const auto error_of = [&](std::string_view json, std::string_view lines) {
    return std::string(BytePairVocabulary::Load(folder.Write("v.json", json), folder.Write("m.txt", lines))
                           .status()
                           .message());
  };
  const std::string json = made->VocabJson();
  EXPECT_THAT(error_of("{\"a\": 0,\n\"b\": ", "a b\n"), HasSubstr("v.json:2:6: not JSON: "));
  EXPECT_THAT(error_of(json.substr(0, json.size() / 2), "a b\n"), HasSubstr("v.json:1:"));
  EXPECT_THAT(error_of("", "a b\n"), HasSubstr("v.json:1:1: not JSON: "));
  EXPECT_THAT(error_of("{\"a\": 0, \"a\": 1}", "a b\n"),
              HasSubstr("v.json:1: a key of an object occurs twice"));
  EXPECT_THAT(error_of("{\"a\": -1}", "a b\n"), HasSubstr("a token's id is missing or given twice"));
  EXPECT_THAT(error_of(json, "#version: 0.2\na b\n\na b\n"),
              HasSubstr("m.txt:4: the merge of an earlier line again"));
  EXPECT_THAT(error_of(json, "ab\n"), HasSubstr("m.txt:1: not two tokens"));
  EXPECT_THAT(error_of(json, "a b c\n"), HasSubstr("m.txt:1: not two tokens"));
  EXPECT_EQ(BytePairVocabulary::Load(folder / "nothing.json", merges).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(BytePairTest, MergesThatCannotBeAreRefused) {
  EXPECT_EQ(BytePairVocabulary::FromMerges({}, {{'a', 300}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(BytePairVocabulary::FromMerges({"[PAD]"}, {{0, 5}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(BytePairVocabulary::FromMerges({}, {{'a', 'b'}, {'a', 'b'}}).status().message()),
              HasSubstr("merge 1 spells \"ab\" a second time"));
}

}  // namespace
}  // namespace inlier
