// The tokenizer of a Hugging Face folder: which file decides, what each key does, and what is refused by its name. Ids
// of many kinds of folders are compared with the library's by tests/integration/tokenizers_test.py.
#include "core/text/tokenizer_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text/tokenizer.h"
#include "core/text/tokenizer_source.h"
#include "nlohmann/json.hpp"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

json WordPieceFileOf(bool lowercase) {
  return {{"version", "1.0"},
          {"added_tokens",
           json::array({{{"id", 0}, {"content", "[PAD]"}, {"special", true}, {"normalized", false}},
                        {{"id", 1}, {"content", "[UNK]"}, {"special", true}, {"normalized", false}}})},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", true},
            {"strip_accents", nullptr},
            {"lowercase", lowercase}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab",
             {{"[PAD]", 0},
              {"[UNK]", 1},
              {"[CLS]", 2},
              {"[SEP]", 3},
              {"[MASK]", 4},
              {"word", 5},
              {"Word", 6},
              {"##s", 7},
              {"cafe", 8}}}}}};
}

json BytePairFileOf() {
  return {{"added_tokens", json::array({{{"id", 6}, {"content", "<end>"}, {"special", true}}})},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 0}, {"b", 1}, {"Ġ", 2}, {"ab", 3}, {"Ġa", 4}, {"<", 5}}},
            {"merges", json::array({"a b", json::array({"Ġ", "a"})})}}}};
}

class TokenizerFolderTest : public testing::Test {
 protected:
  void Write(const char* name, const json& value) { folder_.Write(name, value.dump()); }

  std::string Refusal() const {
    absl::StatusOr<TokenizerDefinition> read = ReadTokenizerFolder(folder_.path());
    if (!read.ok()) return std::string(read.status().message());
    return std::string(MakeTokenizer(*std::move(read)).status().message());
  }
  std::unique_ptr<Tokenizer> Read() const {
    TokenizerDefinition read = ReadTokenizerFolder(folder_.path()).value();
    return MakeTokenizer(std::move(read)).value();
  }
  std::vector<uint32_t> Ids(std::string_view text) const {
    std::vector<uint32_t> ids;
    Read()->MakeEncoder()->Encode(text, &ids);
    return ids;
  }

  TemporaryFolder folder_;
};

TEST_F(TokenizerFolderTest, BertsKeysComeBeforeTokenizerJson) {
  Write("tokenizer.json", WordPieceFileOf(/*lowercase=*/false));
  Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", true}});
  EXPECT_THAT(Ids("Word caf\xC3\xA9s"), ElementsAre(5, 8, 7));
  Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizerFast"}, {"do_lower_case", false}});
  EXPECT_THAT(Ids("Word caf\xC3\xA9s"), ElementsAre(6, 1));
  Write("tokenizer_config.json",
        {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", false}, {"strip_accents", true}});
  EXPECT_THAT(Ids("Word caf\xC3\xA9s"), ElementsAre(6, 8, 7));
  // Another class leaves the file as it is.
  Write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"do_lower_case", true}});
  EXPECT_THAT(Ids("Word"), ElementsAre(6));
  // Without the file the model's class, whose default it is to lower case.
  std::filesystem::remove(folder_ / "tokenizer_config.json");
  Write("config.json", {{"model_type", "bert"}});
  EXPECT_THAT(Ids("Word"), ElementsAre(5));
}

TEST_F(TokenizerFolderTest, AVocabularyIsReadWithItsSettings) {
  folder_.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\nWord\n##s\n");
  Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", false}});
  EXPECT_THAT(Ids("Words [MASK]"), ElementsAre(6, 7, 4));
  const SpecialTokens tokens = Read()->masked_tokens().value();
  EXPECT_EQ(tokens.begin, 2);
  EXPECT_EQ(tokens.end, 3);
  Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizer"}, {"do_basic_tokenize", false}});
  EXPECT_THAT(Refusal(), HasSubstr("tokenizer_config.json: do_basic_tokenize"));
}

TEST_F(TokenizerFolderTest, AddedTokensAndTheSpaceBeforeATextAreFollowed) {
  Write("tokenizer.json", BytePairFileOf());
  Write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"bos_token", "<end>"}});
  EXPECT_THAT(Ids("ab a<end>a"), ElementsAre(3, 4, 6, 0));
  EXPECT_EQ(Read()->causal_tokens()->begin, 6);
  Write("tokenizer_config.json",
        {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"add_prefix_space", true}});
  EXPECT_THAT(Ids("a<end>a"), ElementsAre(4, 6, 4));
  Write("tokenizer_config.json",
        {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"split_special_tokens", true}});
  EXPECT_THAT(Ids("a<end>"), ElementsAre(0, 5)) << "no byte of end> is in the vocabulary";
  Write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                  {"added_tokens_decoder", {{"7", {{"content", "<b>"}, {"rstrip", true}}}}}});
  EXPECT_THAT(Ids("a<b>  a"), ElementsAre(0, 7, 0));
  Write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                  {"added_tokens_decoder", {{"9", {{"content", "<b>"}}}}}});
  EXPECT_THAT(Refusal(), HasSubstr("tokenizer_config.json: added_tokens_decoder.9: is for the id 9, and "
                                   "transformers gives the token 7"));
}

// As transformers 5 saves it.
TEST_F(TokenizerFolderTest, TokenizersBackendIsReadAsTokenizerJsonHasIt) {
  json file = BytePairFileOf();
  file["pre_tokenizer"]["add_prefix_space"] = true;
  Write("tokenizer.json", file);
  json config = {{"tokenizer_class", "TokenizersBackend"},
                 {"backend", "tokenizers"},
                 {"is_local", false},
                 {"add_prefix_space", false},
                 {"bos_token", "<end>"},
                 {"extra_special_tokens", {"<b>"}}};
  Write("tokenizer_config.json", config);
  EXPECT_THAT(Ids("a<end>a<b>"), ElementsAre(4, 6, 4, 7));
  EXPECT_EQ(Read()->causal_tokens()->begin, 6);
  EXPECT_EQ(json::parse(Read()->Files().at("tokenizer_config.json")), config);
  config["extra_special_tokens"] = {{"image", "<i>"}};
  Write("tokenizer_config.json", config);
  EXPECT_THAT(Refusal(), HasSubstr("tokenizer_config.json: extra_special_tokens: is not known"));
  config["extra_special_tokens"] = json::array();
  Write("tokenizer_config.json", config);
  EXPECT_EQ(Refusal(), "");
  std::filesystem::remove(folder_ / "tokenizer.json");
  EXPECT_THAT(Refusal(), HasSubstr("has no tokenizer.json"));
}

TEST_F(TokenizerFolderTest, LlamasClassPutsItsTokensAroundATextItself) {
  json file = BytePairFileOf();
  file["model"]["unk_token"] = "<";
  Write("tokenizer.json", file);
  Write("tokenizer_config.json", {{"tokenizer_class", "LlamaTokenizer"},
                                  {"bos_token", "<end>"},
                                  {"eos_token", "<end>"},
                                  {"unk_token", nullptr},
                                  {"add_eos_token", true}});
  const SpecialTokens tokens = Read()->causal_tokens().value();
  EXPECT_EQ(tokens.begin, 6);
  EXPECT_EQ(tokens.end, 6);
  Write("tokenizer_config.json", {{"tokenizer_class", "LlamaTokenizer"},
                                  {"bos_token", "<end>"},
                                  {"eos_token", "<end>"},
                                  {"add_prefix_space", true}});
  EXPECT_THAT(Refusal(), HasSubstr("tokenizer_config.json: add_prefix_space"));
}

TEST_F(TokenizerFolderTest, WhatIsNotKnownIsRefusedByFileAndKey) {
  const json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  Write("tokenizer_config.json", config);
  const auto with = [this](const char* pointer, const json& value) {
    json file = BytePairFileOf();
    file[json::json_pointer(pointer)] = value;
    Write("tokenizer.json", file);
    return Refusal();
  };
  EXPECT_THAT(with("/novelty", 1), HasSubstr("tokenizer.json: novelty: is not known"));
  EXPECT_THAT(with("/model/novelty", 1), HasSubstr("tokenizer.json: model.novelty: is not known"));
  EXPECT_THAT(with("/model/dropout", 0.1), HasSubstr("tokenizer.json: model.dropout: is not 0"));
  EXPECT_EQ(with("/model/dropout", 0.0), "");
  EXPECT_THAT(with("/model/type", "Unigram"),
              HasSubstr("tokenizer.json: model.type: \"Unigram\" is not known"));
  EXPECT_THAT(with("/model/unk_token", "x"), HasSubstr("tokenizer.json: model.unk_token: is not a token"));
  EXPECT_THAT(with("/model/merges/1", "a x"), HasSubstr("tokenizer.json: model.merges[1]: not two tokens"));
  EXPECT_THAT(with("/model/merges/1", "a b"),
              HasSubstr("tokenizer.json: model.merges[1]: an earlier merge again"));
  EXPECT_THAT(with("/model/vocab/b", 0),
              AllOf(HasSubstr("tokenizer.json: model.vocab: the id of "), HasSubstr("another token's too")));
  EXPECT_THAT(with("/model/vocab/b", 4294967295),
              HasSubstr("tokenizer.json: model.vocab: the id of \"b\" is not a number below"));
  EXPECT_THAT(with("/added_tokens/0/id", 9),
              HasSubstr("tokenizer.json: added_tokens[0].id: is 9, and tokenizers gives the token 6"));
  EXPECT_THAT(with("/added_tokens/0/novelty", true), HasSubstr("tokenizer.json: added_tokens[0].novelty"));
  EXPECT_THAT(with("/normalizer", {{"type", "Precompiled"}}),
              HasSubstr("tokenizer.json: normalizer.type: \"Precompiled\""));
  EXPECT_THAT(with("/normalizer", {{"type", "Sequence"},
                                   {"normalizers", json::array({{{"type", "NFC"}}, {{"type", "Nmt"}}})}}),
              HasSubstr("tokenizer.json: normalizer.normalizers[1].type: \"Nmt\""));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "UnicodeScripts"}}),
              HasSubstr("tokenizer.json: pre_tokenizer.type: \"UnicodeScripts\""));
  json begins = BytePairFileOf();
  begins["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}};
  Write("tokenizer.json", begins);
  EXPECT_EQ(Refusal(), "");
  begins["normalizer"] = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}};
  Write("tokenizer.json", begins);
  EXPECT_THAT(Refusal(), HasSubstr("tokenizer.json: pre_tokenizer.prepend_scheme: \"first\" is not known to "
                                   "inlier behind a normalizer"));
  EXPECT_THAT(with("/pre_tokenizer/novelty", 1), HasSubstr("tokenizer.json: pre_tokenizer.novelty"));
  for (const char* pattern : {"(?<=a)b", "\\w+", ".", "^a", "(a+)+", "[[:alpha:]]", "a{1,2}+", "(", "a|",
                              "\\p{Han}", "a?a?a?a?a?a?a?a?a?aaaaaaaaa"}) {
    EXPECT_THAT(with("/pre_tokenizer",
                     {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}}),
                HasSubstr("tokenizer.json: pre_tokenizer.pattern.Regex: the regular expression is not read"))
        << pattern;
  }
  EXPECT_THAT(with("/post_processor", {{"type", "Novel"}}),
              HasSubstr("tokenizer.json: post_processor.type: \"Novel\""));
  EXPECT_THAT(with("/model", 3), HasSubstr("tokenizer.json: model: is not an object"));
  EXPECT_THAT(with("/added_tokens", 3), HasSubstr("tokenizer.json: added_tokens: is not a list"));

  Write("tokenizer.json", BytePairFileOf());
  const auto configured = [this](const json& value) {
    Write("tokenizer_config.json", value);
    return Refusal();
  };
  EXPECT_THAT(configured({{"tokenizer_class", "T5Tokenizer"}}),
              HasSubstr("tokenizer_config.json: tokenizer_class: \"T5Tokenizer\" is not known"));
  EXPECT_THAT(configured(json::object()), HasSubstr("tokenizer_config.json: no tokenizer_class"));
  EXPECT_THAT(configured(json::array()), HasSubstr("tokenizer_config.json: is not an object"));
  for (const json& more :
       {json({{"auto_map", {{"AutoTokenizer", "x"}}}}), json({{"extra_special_tokens", {{"image", "<i>"}}}}),
        json({{"split_special_tokens", 3}}), json({{"bos_token", 3}}), json({{"added_tokens_decoder", 3}}),
        json({{"additional_special_tokens", 3}})}) {
    json whole = config;
    whole.update(more);
    EXPECT_THAT(configured(whole), HasSubstr("tokenizer_config.json: " + more.begin().key()));
  }
}

TEST_F(TokenizerFolderTest, BertsKeysChangeTextsAndNotAddedTokens) {
  json file = WordPieceFileOf(/*lowercase=*/false);
  file["added_tokens"].push_back({{"id", 9}, {"content", "<N>"}, {"normalized", true}});
  Write("tokenizer.json", file);
  Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", true}});
  EXPECT_THAT(Ids("word<N>"), ElementsAre(5, 1, 1, 1)) << "the text is <n>, the token <N>";
  Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", false}});
  EXPECT_THAT(Ids("word<N>"), ElementsAre(5, 9));
}

TEST_F(TokenizerFolderTest, WhiteSpaceThatATokenTakesIsNoOtherToken) {
  json file = BytePairFileOf();
  file["added_tokens"].push_back({{"id", 7}, {"content", "  "}, {"lstrip", true}, {"rstrip", true}});
  Write("tokenizer.json", file);
  Write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}});
  EXPECT_THAT(Ids("a     b"), ElementsAre(0, 7, 1));
}

TEST_F(TokenizerFolderTest, AFolderWithoutATokenizerIsNotGuessed) {
  Write("config.json", {{"model_type", "gpt2"}, {"vocab_size", 50257}});
  EXPECT_TRUE(TokenizerFilesIn(folder_.path()).empty());
  EXPECT_THAT(Refusal(), HasSubstr("has no tokenizer.json, nor the vocabulary of a GPT2Tokenizer"));
  Write("tokenizer.model", "");
  Write("tokenizer_config.json", {{"tokenizer_class", "LlamaTokenizer"}});
  EXPECT_THAT(Refusal(),
              HasSubstr("has no tokenizer.json, nor the vocabulary of a LlamaTokenizer (vocab.txt, or "
                        "vocab.json and merges.txt); transformers makes one of tokenizer.model: "
                        "AutoTokenizer.from_pretrained(\""));
}

TEST_F(TokenizerFolderTest, TwoWithTheSameIdsHaveTheSameDigest) {
  const TemporaryFolder bare;
  const std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\n";
  const auto file = LoadTokenizer(WordPieceFile{bare.Write("vocab.txt", vocabulary), {}, {}}, "").value();
  folder_.Write("vocab.txt", vocabulary);
  Write("config.json", {{"model_type", "bert"}});
  EXPECT_EQ(Read()->Digest(), file->Digest());
  Write("tokenizer_config.json", {{"do_lower_case", false}});
  EXPECT_NE(Read()->Digest(), file->Digest());
  EXPECT_THAT(std::string(CheckSameTokenizer(folder_.path(), *file).message()),
              AllOf(HasSubstr("vocab.txt: gives texts other ids"), HasSubstr("{wordpiece: {vocab: ")));
  Write("tokenizer_config.json", {{"do_lower_case", true}});
  EXPECT_TRUE(CheckSameTokenizer(folder_.path(), *file).ok());
  EXPECT_TRUE(CheckSameTokenizer(bare / "nothing", *file).ok());
}

TEST_F(TokenizerFolderTest, ATrialFollowsTheFolderThatItsVocabularyIsIn) {
  folder_.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\nWord\n");
  const std::string key = KeyOf(*FindWordPiece(folder_.path(), "", "vocab")).value();
  Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", false}});
  for (const auto& place : {folder_.path(), folder_ / "vocab.txt"}) {
    const auto found = FindWordPiece(place, "", "vocab").value();
    EXPECT_NE(KeyOf(found).value(), key);
    const auto tokenizer = LoadTokenizer(found, "").value();
    std::vector<uint32_t> ids;
    tokenizer->MakeEncoder()->Encode("Word", &ids);
    EXPECT_THAT(ids, ElementsAre(6));
  }
  const auto other = LoadTokenizer(*FindGpt2(folder_.path(), "", "vocab"), "");
  EXPECT_THAT(std::string(other.status().message()),
              HasSubstr("is a WordPiece; choose the tokenizer wordpiece"));
}

}  // namespace
}  // namespace inlier
