#include "core/text/tokenizer_definition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/utf8.h"
#include "core/text/encoding/byte_alphabet.h"
#include "core/text/special_tokens.h"

namespace inlier {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";
constexpr std::string_view kOptSeparator = "</s>";
constexpr std::string_view kOptPad = "<pad>";

// A token of the vocabulary itself.
void AddSpecial(std::string_view content, TokenizerDefinition* definition) {
  INLIER_CHECK(definition->Add({.content = std::string(content)}).ok());
}

}  // namespace

bool IsOwnVocabulary(const BytePairVocabulary& vocabulary) {
  for (uint32_t id = 0; id < kOwnSpecialTokens.size(); ++id) {
    if (vocabulary.SpecialId(kOwnSpecialTokens[id]) != id) return false;
  }
  return true;
}

bool TokenizerDefinition::IsOwn() const {
  if (!special_is_text) return false;
  for (uint32_t id = 0; id < kOwnSpecialTokens.size(); ++id) {
    if (IdOf(kOwnSpecialTokens[id]) != id) return false;
  }
  return true;
}

std::optional<uint32_t> TokenizerDefinition::IdOf(std::string_view token) const {
  const absl::string_view key(token.data(), token.size());
  if (const auto place = added_places_.find(key); place != added_places_.end())
    return added[place->second].id;
  const auto found = ids.find(key);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> TokenizerDefinition::IdOfNamed(const std::string& name) const {
  const auto found = named.find(name);
  return found == named.end() ? std::nullopt : IdOf(found->second);
}

absl::StatusOr<uint32_t> TokenizerDefinition::Add(AddedToken token) {
  if (token.content.empty()) return absl::InvalidArgumentError("an added token is empty");
  if (!IsUtf8(token.content)) return absl::InvalidArgumentError("an added token is not UTF-8");
  if (const auto place = added_places_.find(token.content); place != added_places_.end()) {
    AddedToken& same = added[place->second];
    if (!normalizer.is_null() && token.normalized != same.normalized) {
      return absl::InvalidArgumentError(absl::StrCat("the added token ", Quoted(token.content),
                                                     " is given twice, with and without \"normalized\""));
    }
    token.id = same.id;
    same = std::move(token);
    return same.id;
  }
  token.id = IdOf(token.content).value_or(std::max(static_cast<uint32_t>(ids.size()), next_id_));
  next_id_ = std::max(next_id_, token.id + 1);
  added_places_[token.content] = added.size();
  added.push_back(std::move(token));
  return added.back().id;
}

TokenizerDefinition BytePairDefinition(const BytePairVocabulary& vocabulary) {
  TokenizerDefinition definition;
  const auto spelling = [&vocabulary](uint32_t id) {
    const std::string_view bytes = vocabulary.TokenBytes(id);
    return vocabulary.IsSpecial(id) ? std::string(bytes) : PrintableBytes(bytes);
  };
  for (uint32_t id = 0; id < vocabulary.size(); ++id) definition.ids[spelling(id)] = id;
  BytePairSettings settings;
  for (const auto& [left, right] : vocabulary.merges())
    settings.merges.emplace_back(spelling(left), spelling(right));
  definition.model = std::move(settings);
  definition.pre_tokenizer = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  definition.files = {{"vocab.json", vocabulary.VocabJson()}, {"merges.txt", vocabulary.MergesTxt()}};
  return definition;
}

TokenizerDefinition OwnDefinition(const BytePairVocabulary& vocabulary) {
  INLIER_CHECK(IsOwnVocabulary(vocabulary));
  TokenizerDefinition definition = BytePairDefinition(vocabulary);
  definition.special_is_text = true;
  for (const std::string_view token : kOwnSpecialTokens) AddSpecial(token, &definition);
  return definition;
}

absl::StatusOr<TokenizerDefinition> Gpt2Definition(const BytePairVocabulary& vocabulary) {
  // OPT's may list <|endoftext|> too, where no text ever has it.
  std::optional<uint32_t> separator = vocabulary.SpecialId(kOptSeparator),
                          pad = vocabulary.SpecialId(kOptPad);
  const bool opt = separator.has_value() && pad.has_value();
  // GPT-2 has no token for padding.
  if (!opt) separator = vocabulary.SpecialId(kEndOfText);
  if (!separator.has_value()) {
    return absl::InvalidArgumentError(
        "no token <|endoftext|>, which separates texts, nor </s> and <pad>; it must be GPT-2's or OPT's");
  }
  TokenizerDefinition definition = BytePairDefinition(vocabulary);
  AddSpecial(opt ? kOptSeparator : kEndOfText, &definition);
  definition.named["bos_token"] = definition.added[0].content;
  if (opt) {
    AddSpecial(kOptPad, &definition);
    definition.named["pad_token"] = kOptPad;
  }
  return definition;
}

TokenizerDefinition PiecesDefinition(const WordPieceVocabulary& vocabulary) {
  TokenizerDefinition definition;
  definition.model = WordPieceSettings();
  definition.normalizer = {{"type", "BertNormalizer"}};
  definition.pre_tokenizer = {{"type", "BertPreTokenizer"}};
  std::string& text = definition.files["vocab.txt"];
  for (uint32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string token(vocabulary.Spelling(id));
    definition.ids[token] = id;
    absl::StrAppend(&text, token, "\n");
  }
  return definition;
}

TokenizerDefinition WordPieceDefinition(const WordPieceVocabulary& vocabulary) {
  TokenizerDefinition definition = PiecesDefinition(vocabulary);
  for (const uint32_t id : vocabulary.special_ids()) AddSpecial(vocabulary.Spelling(id), &definition);
  definition.around = {.before = {vocabulary.cls_id()}, .after = {vocabulary.sep_id()}};
  definition.named = {{"pad_token", "[PAD]"},
                      {"unk_token", "[UNK]"},
                      {"cls_token", "[CLS]"},
                      {"sep_token", "[SEP]"},
                      {"mask_token", "[MASK]"}};
  return definition;
}

}  // namespace inlier
