// The encoder against what the reference tokenizer gives on GPT-2's vocabulary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "core/data/byte_pair.h"
#include "nlohmann/json.hpp"
#include "tests/core/data/temporary_folder.h"

namespace inlier {
namespace {

const BytePairVocabulary& Gpt2() {
  static const BytePairVocabulary* vocabulary = [] {
    const std::filesystem::path folder = GoldenFolder() / "tokenizers";
    auto loaded = BytePairVocabulary::Load(folder / "gpt2-vocab.json", folder / "gpt2-merges.txt");
    if (!loaded.ok()) ADD_FAILURE() << loaded.status();
    return new BytePairVocabulary(*std::move(loaded));
  }();
  return *vocabulary;
}

TEST(BytePairGoldenTest, EveryCaseOfTheReferenceGivesTheSameIds) {
  const auto cases = nlohmann::json::parse(ReadAll(GoldenFolder() / "tokenizers/gpt2_cases.json"));
  ASSERT_EQ(cases["cases"].size(), 80u);
  BytePairEncoder encoder(Gpt2());
  for (const auto& golden : cases["cases"]) {
    const auto text = golden["text"].get<std::string>();
    std::vector<uint32_t> ids;
    encoder.EncodeWithSpecialTokens(text, &ids);
    EXPECT_EQ(ids, golden["ids"].get<std::vector<uint32_t>>()) << golden["text"];
    EXPECT_EQ(Gpt2().Decode(ids), golden["decoded"].get<std::string>());
  }
  std::printf("golden tokenizers/gpt2_cases: %zu texts, all ids equal\n", cases["cases"].size());
}

TEST(BytePairGoldenTest, PartialCharactersDecodeToReplacementCharacters) {
  const auto cases = nlohmann::json::parse(ReadAll(GoldenFolder() / "tokenizers/gpt2_cases.json"));
  ASSERT_FALSE(cases["partial_decode"].empty());
  for (const auto& golden : cases["partial_decode"]) {
    const auto ids = golden["ids"].get<std::vector<uint32_t>>();
    EXPECT_EQ(ReplaceInvalidUtf8(Gpt2().Decode(ids)), golden["decoded"].get<std::string>());
  }
}

TEST(BytePairGoldenTest, AWholeFileAndItsLinesGiveTheSameIds) {
  const auto golden =
      nlohmann::json::parse(ReadAll(GoldenFolder() / "tokenizers/kjv_excerpt_ids.json"))["gpt2"];
  const std::string text = ReadAll(GoldenFolder() / "tokenizers/kjv_excerpt.txt");
  std::vector<uint32_t> ids;
  BytePairEncoder(Gpt2()).Encode(text, &ids);
  EXPECT_EQ(ids.size(), golden["whole_file"]["count"].get<size_t>());
  EXPECT_EQ(Sha256Hex(absl::StrJoin(ids, ",")), golden["whole_file"]["sha256"].get<std::string>());

  std::vector<uint32_t> by_line;
  BytePairEncoder encoder(Gpt2());
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    encoder.Encode(std::string_view(text).substr(begin, end - begin), &by_line);
    begin = end + 1;
  }
  EXPECT_EQ(by_line.size(), golden["per_line"]["count"].get<size_t>());
  EXPECT_EQ(Sha256Hex(absl::StrJoin(by_line, ",")), golden["per_line"]["sha256"].get<std::string>());
  std::printf("golden tokenizers/kjv_excerpt: %zu and %zu ids, digests equal\n", ids.size(), by_line.size());
}

}  // namespace
}  // namespace inlier
