#include "core/text/byte_pair_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/text/corpus.h"
#include "core/text/encoding/pre_tokenizer.h"
#include "tests/core/data/data_files.h"
#include "tests/core/text/definition_encoder.h"

namespace inlier {
namespace {

BytePairTrainerOptions Options(uint32_t vocab_size, int threads = 1) {
  BytePairTrainerOptions options;
  options.vocab_size = vocab_size;
  options.special_tokens = {"[PAD]", "</s>"};
  options.threads = threads;
  return options;
}

Corpus Tiny() { return Corpus::Open({std::string(INLIER_TEST_DATA) + "/tiny.txt"}).value(); }

// The definition, written out: count all pairs again for every merge. Also gives the words in their final
// form.
std::vector<BytePairVocabulary::Merge> TrainPlainly(const std::vector<std::string_view>& texts,
                                                    uint32_t vocab_size,
                                                    std::map<std::string, std::vector<uint32_t>>* words) {
  std::map<std::string, int64_t> counts;
  for (const std::string_view text : texts) {
    size_t position = 0;
    for (auto word = NextWord(text, &position); !word.empty(); word = NextWord(text, &position))
      ++counts[std::string(word)];
  }
  for (const auto& [word, count] : counts) {
    for (const char c : word) (*words)[word].push_back(2 + static_cast<uint8_t>(c));
  }
  std::vector<BytePairVocabulary::Merge> merges;
  for (uint32_t id = 2 + 256; id < vocab_size; ++id) {
    std::map<BytePairVocabulary::Merge, int64_t> pairs;
    for (const auto& [word, ids] : *words) {
      for (size_t i = 0; i + 1 < ids.size(); ++i) pairs[{ids[i], ids[i + 1]}] += counts[word];
    }
    const auto best = std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
      return a.second < b.second;
    });  // First of equals.
    if (best == pairs.end() || best->second < 2) break;
    const BytePairVocabulary::Merge pair = best->first;
    merges.push_back(pair);
    for (auto& [word, ids] : *words) {
      std::vector<uint32_t> merged;
      for (size_t i = 0; i < ids.size(); ++i) {
        const bool here = i + 1 < ids.size() && ids[i] == pair.first && ids[i + 1] == pair.second;
        merged.push_back(here ? id : ids[i]);
        i += here;
      }
      ids = merged;
    }
  }
  return merges;
}

TEST(BytePairTrainerTest, EqualsCountingAgainForEveryMerge) {
  const Corpus corpus = Tiny();
  std::map<std::string, std::vector<uint32_t>> words;
  const auto expected = TrainPlainly(corpus.texts(), 700, &words);
  const BytePairVocabulary vocabulary = TrainBytePair(corpus.texts(), Options(700));
  EXPECT_EQ(vocabulary.merges(), expected);
  EXPECT_EQ(vocabulary.size(), 700u);

  // Encoding gives the words of the end of training.
  DefinitionEncoder encoder(BytePairDefinition(vocabulary));
  for (const auto& [word, ids] : words) ASSERT_EQ(encoder.Ids(word), ids) << word;
}

TEST(BytePairTrainerTest, OverlappingPairsAreCountedAsTheyAre) {
  for (const char* text : {"aaaa aaaaa aaa", "abababab babab aabb", "xxyxxyxxx xyxy"}) {
    const std::vector<std::string_view> texts = {text, text};
    std::map<std::string, std::vector<uint32_t>> words;
    EXPECT_EQ(TrainBytePair(texts, Options(300)).merges(), TrainPlainly(texts, 300, &words)) << text;
  }
}

TEST(BytePairTrainerTest, EquallyFrequentPairsAreTakenInTheOrderOfTheirIds) {
  const std::vector<std::string_view> texts = {"zy", "ab", "zy", "ab"};
  const BytePairVocabulary vocabulary = TrainBytePair(texts, Options(300));
  EXPECT_THAT(vocabulary.merges(), testing::ElementsAre(BytePairVocabulary::Merge(2 + 'a', 2 + 'b'),
                                                        BytePairVocabulary::Merge(2 + 'z', 2 + 'y')));
}

TEST(BytePairTrainerTest, TheNumberOfThreadsChangesNothing) {
  const Corpus corpus = Tiny();
  const BytePairVocabulary one = TrainBytePair(corpus.texts(), Options(1000, 1));
  EXPECT_EQ(one.VocabJson(), TrainBytePair(corpus.texts(), Options(1000, 3)).VocabJson());
  EXPECT_EQ(one.MergesTxt(), TrainBytePair(corpus.texts(), Options(1000, 16)).MergesTxt());
}

TEST(BytePairTrainerTest, EndsWhenNoPairOccursTwice) {
  const std::vector<std::string_view> texts = {"abc", "xyz"};
  EXPECT_EQ(TrainBytePair(texts, Options(5000)).size(), 258u);
  EXPECT_EQ(TrainBytePair({}, Options(5000)).size(), 258u);
}

TEST(BytePairTrainerTest, SpecialTokensComeFirstAndAreNotLearned) {
  const std::vector<std::string_view> texts = {"</s> </s> </s>", "</s> [PAD]"};
  const BytePairVocabulary vocabulary = TrainBytePair(texts, Options(400));
  EXPECT_EQ(vocabulary.SpecialId("[PAD]"), 0u);
  EXPECT_EQ(vocabulary.SpecialId("</s>"), 1u);
  EXPECT_EQ(vocabulary.TokenBytes(2), std::string_view("\0", 1));
  for (const uint32_t id : DefinitionEncoder(BytePairDefinition(vocabulary)).Ids("</s>"))
    EXPECT_FALSE(vocabulary.IsSpecial(id));
}

TEST(BytePairTrainerTest, TrainedVocabularyGivesBackTheCorpus) {
  const Corpus corpus = Tiny();
  const BytePairVocabulary vocabulary = TrainBytePair(corpus.texts(), Options(2000));
  DefinitionEncoder encoder(BytePairDefinition(vocabulary));
  size_t bytes = 0, tokens = 0;
  for (const std::string_view text : corpus.texts()) {
    const std::vector<uint32_t> ids = encoder.Ids(text);
    ASSERT_EQ(encoder.Text(ids), text);
    bytes += text.size();
    tokens += ids.size();
  }
  EXPECT_GT(static_cast<double>(bytes) / tokens, 3.5) << "bytes a token";
}

}  // namespace
}  // namespace inlier
