// The published tokenizers against the results of Hugging Face's: every file of the group `tokenizers`,
// exactly.
//
// A file names the vocabulary it needs; it is taken from the same folder, or from the sources' when a folder
// of other cases (INLIER_GOLDEN_DIR) has none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "core/text/byte_pair.h"
#include "core/text/tokenizer.h"
#include "core/text/word_piece.h"
#include "nlohmann/json.hpp"
#include "tests/core/data/data_files.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/text/definition_encoder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<uint32_t>;
using nlohmann::json;

constexpr char kBert[] = "bert-base-uncased WordPiece";
constexpr char kGpt2[] = "GPT-2 byte-level BPE";

fs::path VocabularyFile(const std::string& name) {
  const fs::path given = GoldenFolder() / "tokenizers" / name;
  return fs::exists(given) ? given : fs::path(INLIER_GOLDEN_DEFAULT) / "tokenizers" / name;
}

WordPieceVocabulary Bert(const std::string& vocab = "bert-base-uncased-vocab.txt") {
  return WordPieceVocabulary::Load(VocabularyFile(vocab)).value();
}

BytePairVocabulary Gpt2(const std::string& vocab = "gpt2-vocab.json",
                        const std::string& merges = "gpt2-merges.txt") {
  return BytePairVocabulary::Load(VocabularyFile(vocab), VocabularyFile(merges)).value();
}

std::unique_ptr<Tokenizer> Gpt2Tokenizer(const BytePairVocabulary& vocabulary) {
  return MakeTokenizer(Gpt2Definition(vocabulary).value()).value();
}

// The group's JSON files that `wanted` accepts, by name.
template <typename Wanted>
std::map<std::string, json> FilesWhere(Wanted wanted) {
  std::map<std::string, json> files;
  for (const auto& entry : fs::directory_iterator(GoldenFolder() / "tokenizers")) {
    if (entry.path().extension() != ".json") continue;
    json root = json::parse(ReadAll(entry.path()));
    if (wanted(root)) files[entry.path().stem().string()] = std::move(root);
  }
  EXPECT_FALSE(files.empty()) << "no such cases in " << GoldenFolder() / "tokenizers";
  return files;
}

std::map<std::string, json> CasesOf(const std::string& tokenizer) {
  return FilesWhere([&](const json& root) { return root.value("tokenizer", json()) == tokenizer; });
}

// Of the keys of a file and of its `settings` WordPiece reads none but these, and no other value.
bool EverySettingIsUsed(const std::string& name, const json& file) {
  CaseSettings keys("tokenizers/" + name, "", file);
  keys.Describes({"tokenizer", "vocab_file", "merges_file", "settings", "special_tokens", "cases",
                  "pair_cases", "partial_decode"});
  CaseSettings settings("tokenizers/" + name, "settings", file.value("settings", json::object()));
  settings.Require("do_lower_case", true);
  settings.Require("strip_accents", true);  // null: as do_lower_case.
  settings.Require("tokenize_chinese_chars", true);
  settings.Require("max_chars_per_word", 100);
  settings.Require("prefix", "##");
  settings.Require("add_prefix_space", false);
  return All({keys.AllUsed(), settings.AllUsed()});
}

TEST(TokenizersGoldenTest, WordPieceGivesTheSameIdsAndTexts) {
  for (const auto& [name, file] : CasesOf(kBert)) {
    if (!EverySettingIsUsed(name, file)) continue;
    const WordPieceVocabulary vocabulary = Bert(file["vocab_file"]);
    for (const auto& [spelling, id] : file["special_tokens"].items()) {
      EXPECT_EQ(vocabulary.Spelling(id.get<uint32_t>()), spelling);
      const auto& special = vocabulary.special_ids();
      EXPECT_NE(std::find(special.begin(), special.end(), id.get<uint32_t>()), special.end()) << spelling;
    }
    DefinitionEncoder encoder(WordPieceDefinition(vocabulary));
    for (const json& golden : file["cases"]) {
      const auto text = golden["text"].get<std::string>();
      const Ids ids = encoder.Ids(text);
      EXPECT_EQ(ids, golden["ids"].get<Ids>()) << golden["text"];
      EXPECT_EQ(encoder.Ids(text), ids) << "remembered words differ from new ones: " << golden["text"];
      std::vector<std::string> tokens;
      for (const uint32_t id : ids) tokens.emplace_back(vocabulary.Spelling(id));
      EXPECT_EQ(tokens, golden["tokens"].get<std::vector<std::string>>()) << golden["text"];

      Ids with_special = ids;
      with_special.insert(with_special.begin(), vocabulary.cls_id());
      with_special.push_back(vocabulary.sep_id());
      EXPECT_EQ(with_special, golden["ids_with_special"].get<Ids>()) << golden["text"];

      EXPECT_EQ(encoder.Text(ids), golden["decoded"].get<std::string>());
    }
    std::printf("golden tokenizers/%s: %zu texts, ids, tokens and decoding equal\n", name.c_str(),
                file["cases"].size());
  }
}

TEST(TokenizersGoldenTest, Gpt2GivesTheSameIdsAndTexts) {
  for (const auto& [name, file] : CasesOf(kGpt2)) {
    if (!EverySettingIsUsed(name, file)) continue;
    const BytePairVocabulary vocabulary = Gpt2(file["vocab_file"], file["merges_file"]);
    for (const auto& [spelling, id] : file["special_tokens"].items()) {
      EXPECT_EQ(vocabulary.SpecialId(spelling), id.get<uint32_t>());
    }
    const auto tokenizer = Gpt2Tokenizer(vocabulary);
    const auto encoder = tokenizer->MakeEncoder();
    for (const json& golden : file["cases"]) {
      Ids ids;
      encoder->Encode(golden["text"].get<std::string>(), &ids);
      EXPECT_EQ(ids, golden["ids"].get<Ids>()) << golden["text"];
      EXPECT_EQ(tokenizer->Decode(ids), golden["decoded"].get<std::string>());
    }
    // Prefixes of a character: an incomplete one is shown as U+FFFD.
    for (const json& golden : file["partial_decode"]) {
      EXPECT_EQ(tokenizer->Decode(golden["ids"].get<Ids>()), golden["decoded"].get<std::string>());
    }
    std::printf("golden tokenizers/%s: %zu texts and %zu partial decodings equal\n", name.c_str(),
                file["cases"].size(), file["partial_decode"].size());
  }
}

std::string DigestOf(const Ids& ids) { return Sha256Hex(absl::StrJoin(ids, ",")); }

// `encode` against the digests of one tokenizer on a whole text and on its lines.
template <typename Encode>
void ExpectDigests(const std::string& what, const std::string& text, const json& golden, Encode encode) {
  Ids whole;
  encode(text, &whole);
  EXPECT_EQ(whole.size(), golden["whole_file"]["count"].get<size_t>()) << what;
  EXPECT_EQ(DigestOf(whole), golden["whole_file"]["sha256"].get<std::string>()) << what;
  const auto first = golden["whole_file"]["first_200"].get<Ids>();
  const auto last = golden["whole_file"]["last_200"].get<Ids>();
  ASSERT_GE(whole.size(), std::max(first.size(), last.size())) << what;
  EXPECT_TRUE(std::equal(first.begin(), first.end(), whole.begin())) << what;
  EXPECT_TRUE(std::equal(last.begin(), last.end(), whole.end() - static_cast<std::ptrdiff_t>(last.size())))
      << what;

  Ids by_line;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    encode(std::string_view(text).substr(begin, end - begin), &by_line);
    begin = end + 1;
  }
  EXPECT_EQ(by_line.size(), golden["per_line"]["count"].get<size_t>()) << what;
  EXPECT_EQ(DigestOf(by_line), golden["per_line"]["sha256"].get<std::string>()) << what;
  std::printf("golden tokenizers/%s: %zu and %zu ids, digests equal\n", what.c_str(), whole.size(),
              by_line.size());
}

TEST(TokenizersGoldenTest, AWholeFileAndItsLinesGiveTheSameIds) {
  const auto bert = MakeTokenizer(WordPieceDefinition(Bert())).value();
  const auto gpt2 = Gpt2Tokenizer(Gpt2());
  for (const auto& [name, file] :
       FilesWhere([](const json& root) { return root.contains("ids_sha256_rule"); })) {
    const std::string text = ReadAll(GoldenFolder() / "tokenizers" / file["file"].get<std::string>());
    ASSERT_EQ(Sha256Hex(text), file["sha256"].get<std::string>());
    for (const auto& [kind, tokenizer] : {std::pair("bert", bert.get()), std::pair("gpt2", gpt2.get())}) {
      const auto encoder = tokenizer->MakeEncoder();
      ExpectDigests(name + " " + kind, text, file[kind],
                    [&](std::string_view piece, Ids* ids) { encoder->Encode(piece, ids); });
    }
  }
}

}  // namespace
}  // namespace inlier
