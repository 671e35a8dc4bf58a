#include "core/text/tokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/utf8.h"
#include "core/text/encoding/bert_words.h"
#include "core/text/encoding/byte_alphabet.h"
#include "core/text/encoding/pre_tokenizer.h"
#include "core/text/encoding/text_normalizer.h"
#include "core/text/encoding/word_memory.h"
#include "core/text/encoding/word_splitter.h"

namespace inlier {
namespace {

// The steps from a text to ids, in this order.
struct Pipeline {
  TokenFinder raw, normalized;  // Added tokens of the text itself, and of the normalized one.
  TextNormalizer normalizer;
  WordSplitter splitter;
  std::variant<BytePairModel, WordPieceVocabulary> model;

  void EncodeWord(std::string_view word, std::vector<uint32_t>* ids) const {
    std::visit([&](const auto& encodes) { encodes.EncodeWord(word, ids); }, model);
  }
};

class Encoder final : public TextEncoder {
 public:
  explicit Encoder(const Pipeline& pipeline)
      : pipeline_(pipeline), bert_words_("", pipeline.normalizer.bert().value_or(BertNormalization())) {}

  void Encode(std::string_view text, std::vector<uint32_t>* ids) override {
    const char* begin = text.data();
    pipeline_.raw.Split(text, [&](std::string_view part, const AddedToken* token) {
      if (token != nullptr) return ids->push_back(token->id);
      EncodePart(part, part.data() == begin, ids);
    });
  }

 private:
  // Remembers the ids of a word of any text.
  template <typename Spell>
  void EncodeWord(std::string_view word, const Spell& spell, std::vector<uint32_t>* ids) {
    if (memory_.Recall(word, ids)) return;
    const size_t before = ids->size();
    pipeline_.EncodeWord(spell(word), ids);
    memory_.Remember(word, std::span(*ids).subspan(before));
  }

  void EncodePart(std::string_view part, bool at_begin, std::vector<uint32_t>* ids) {
    const auto as_it_is = [](std::string_view word) { return word; };
    const bool plain = pipeline_.normalizer.changes_nothing();
    if (pipeline_.normalized.empty() && plain && pipeline_.splitter.is_gpt2()) {
      size_t position = 0;
      for (auto word = NextWord(part, &position); !word.empty(); word = NextWord(part, &position))
        EncodeWord(word, PrintableBytes, ids);
    } else if (pipeline_.normalized.empty() && pipeline_.normalizer.bert().has_value() &&
               pipeline_.splitter.is_bert()) {
      bert_words_.Reset(part);
      for (auto word = bert_words_.Next(); !word.empty(); word = bert_words_.Next())
        EncodeWord(word, as_it_is, ids);
    } else {
      const std::string normalized = pipeline_.normalizer.Apply(ReplaceInvalidUtf8(part));
      pipeline_.normalized.Split(normalized, [&](std::string_view text, const AddedToken* token) {
        if (token != nullptr) return ids->push_back(token->id);
        const bool first = at_begin && text.data() == normalized.data();
        for (const std::string& word : pipeline_.splitter.Split(std::string(text), first))
          EncodeWord(word, as_it_is, ids);
      });
    }
  }

  const Pipeline& pipeline_;
  BertWords bert_words_;
  WordMemory memory_;
};

// A token in a decoded text.
std::string ShownToken(const std::string& token, bool spells_bytes) {
  if (spells_bytes) return BytesOfPrintable(token).value_or(token);
  if (token.size() == 6 && token.starts_with("<0x") && token.ends_with(">"))
    return std::string(1, static_cast<char>(std::strtoul(token.c_str() + 3, nullptr, 16)));
  return absl::StrReplaceAll(token, {{"▁", " "}});
}

class DefinedTokenizer final : public Tokenizer {
 public:
  DefinedTokenizer(TokenizerDefinition definition, Pipeline pipeline)
      : definition_(std::move(definition)), pipeline_(std::move(pipeline)) {
    for (const auto& [token, id] : definition_.ids) size_ = std::max(size_, id + 1);
    for (const AddedToken& token : definition_.added) size_ = std::max(size_, token.id + 1);
    shown_.resize(size_);
    text_bytes_.resize(size_);
    const bool bytes = pipeline_.splitter.spells_bytes();
    for (const auto& [token, id] : definition_.ids)
      shown_[id] = word_piece() ? token : ShownToken(token, bytes);
    for (const auto& [token, id] : definition_.ids) text_bytes_[id] = static_cast<int64_t>(shown_[id].size());
    for (const AddedToken& token : definition_.added) {
      shown_[token.id] = token.content;
      text_bytes_[token.id] = token.special ? 0 : static_cast<int64_t>(token.content.size());
    }
    ChooseSpecialTokens();
  }

  uint32_t size() const override { return size_; }
  std::unique_ptr<TextEncoder> MakeEncoder() const override { return std::make_unique<Encoder>(pipeline_); }
  int64_t TextBytes(uint32_t id) const override { return text_bytes_[id]; }
  TokenizerDefinition::Around around() const override {
    if (definition_.around.has_value()) return *definition_.around;
    const bool bare =
        !definition_.files.contains("tokenizer.json") && !definition_.files.contains("tokenizer_config.json");
    if (!bare || !causal_.has_value() || causal_->pad == causal_->begin) return {};
    return {.before = {static_cast<uint32_t>(causal_->begin)}, .after = {}};
  }
  std::optional<SpecialTokens> masked_tokens() const override { return masked_; }
  std::optional<SpecialTokens> causal_tokens() const override { return causal_; }
  const std::map<std::string, std::string>& Files() const override { return definition_.files; }

  std::string Decode(std::span<const uint32_t> ids) const override {
    std::string text;
    for (size_t i = 0; i < ids.size(); ++i) {
      INLIER_CHECK(ids[i] < size_);
      if (word_piece() && i > 0) text += ' ';
      text += shown_[ids[i]];
    }
    if (!word_piece()) return ReplaceInvalidUtf8(text);
    const std::string& prefix = std::get<WordPieceSettings>(definition_.model).prefix;
    return absl::StrReplaceAll(text, {{" " + prefix, ""}});
  }

  std::string Digest() const override {
    std::vector<std::string> tokens(size_);
    for (const auto& [token, id] : definition_.ids) tokens[id] = token;
    std::string text = absl::StrCat("inlier tokenizer 1\n", pipeline_.normalizer.description(), "\n",
                                    pipeline_.splitter.description(), "\n");
    for (const AddedToken& token : definition_.added) tokens[token.id] = token.content;
    for (const std::string& token : tokens) absl::StrAppend(&text, token.size(), " ", token, "\n");
    const bool normalizes = !pipeline_.normalizer.changes_nothing();
    std::vector<std::string> added;
    for (const AddedToken& token : definition_.added) {
      if (token.normalized &&
          definition_.token_normalizer.value_or(definition_.normalizer) != definition_.normalizer)
        added.push_back(absl::StrCat("in ", definition_.token_normalizer->dump()));
      added.push_back(absl::StrCat(token.id, " ", token.single_word, token.lstrip, token.rstrip,
                                   normalizes && token.normalized,
                                   token.special && definition_.special_is_text));
    }
    std::sort(added.begin(), added.end());
    for (const std::string& line : added) absl::StrAppend(&text, line, "\n");
    if (const auto* pairs = std::get_if<BytePairSettings>(&definition_.model)) {
      absl::StrAppend(&text, "BPE ", pairs->unknown.value_or(""), "\n", pairs->prefix, "\n", pairs->suffix,
                      "\n", pairs->fuse_unknown, pairs->byte_fallback, pairs->ignore_merges, "\n");
      for (const auto& [left, right] : pairs->merges) absl::StrAppend(&text, left, " ", right, "\n");
    } else {
      const auto& pieces = std::get<WordPieceSettings>(definition_.model);
      absl::StrAppend(&text, "WordPiece ", pieces.unknown, "\n", pieces.prefix, "\n", pieces.max_characters);
    }
    return Sha256Hex(text);
  }

 private:
  bool word_piece() const { return std::holds_alternative<WordPieceSettings>(definition_.model); }

  void ChooseSpecialTokens() {
    if (definition_.IsOwn()) {
      masked_ = kOwnMaskedTokens;
      causal_ = kOwnCausalTokens;
      return;
    }
    const auto named = [this](const char* name) { return definition_.IdOfNamed(name); };
    std::optional<int64_t> before, after;
    if (definition_.around.has_value()) {
      if (!definition_.around->before.empty()) before = definition_.around->before[0];
      if (!definition_.around->after.empty()) after = definition_.around->after[0];
    }
    const auto pad = named("pad_token"), mask = named("mask_token"), cls = named("cls_token"),
               sep = named("sep_token");
    if (pad && mask && cls && sep)
      masked_ = SpecialTokens{
          .pad = *pad, .begin = before.value_or(*cls), .end = after.value_or(*sep), .mask = *mask};
    // WordPiece drops case and white space, so no causal model could write its decoded text.
    std::optional<int64_t> begin = before;
    for (const char* name : {"bos_token", "eos_token"}) {
      if (!begin.has_value()) begin = named(name);
    }
    if (!word_piece() && begin.has_value())
      causal_ = SpecialTokens{.pad = pad.value_or(*begin), .begin = *begin, .end = after, .mask = {}};
  }

  const TokenizerDefinition definition_;
  const Pipeline pipeline_;
  uint32_t size_ = 0;
  std::vector<std::string> shown_;   // By id.
  std::vector<int64_t> text_bytes_;  // By id.
  std::optional<SpecialTokens> masked_, causal_;
};

absl::StatusOr<std::variant<BytePairModel, WordPieceVocabulary>> ModelOf(
    const TokenizerDefinition& definition) {
  if (const auto* pairs = std::get_if<BytePairSettings>(&definition.model))
    return BytePairModel::Make(definition.ids, *pairs);
  return WordPieceVocabulary::Make(definition.ids, std::get<WordPieceSettings>(definition.model));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(TokenizerDefinition definition) {
  const std::string& place = definition.place;
  ASSIGN_OR_RETURN(TextNormalizer normalizer,
                   TextNormalizer::Of(definition.normalizer, place + ": normalizer"));
  ASSIGN_OR_RETURN(WordSplitter splitter,
                   WordSplitter::Of(definition.pre_tokenizer, place + ": pre_tokenizer"));
  if (splitter.needs_begin() && !normalizer.changes_nothing()) {
    // A normalizer may take away the begin.
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": pre_tokenizer.prepend_scheme: \"first\" is not known to inlier behind a normalizer"));
  }
  auto model = ModelOf(definition);
  if (!model.ok())
    return absl::InvalidArgumentError(absl::StrCat(place, ": model.", std::string(model.status().message())));
  if (definition.around.has_value() &&
      (definition.around->before.size() > 1 || definition.around->after.size() > 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": post_processor: puts more than one special token before or after a text"));
  }
  ASSIGN_OR_RETURN(const TextNormalizer of_tokens,
                   TextNormalizer::Of(definition.token_normalizer.value_or(definition.normalizer),
                                      place + ": normalizer"));
  // tokenizers looks for special tokens first.
  std::vector<AddedToken> raw, normalized;
  for (const bool special : {true, false}) {
    for (AddedToken token : definition.added) {
      if (token.special != special) continue;
      if (token.normalized) token.content = of_tokens.Apply(token.content);
      if (token.content.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(place, ": added_tokens: the normalizer leaves nothing of the token ", token.id));
      }
      (token.normalized ? normalized : raw).push_back(std::move(token));
    }
  }
  // The same, and faster.
  if (raw.empty() && normalizer.changes_nothing()) raw.swap(normalized);
  Pipeline pipeline{TokenFinder(std::move(raw), definition.special_is_text),
                    TokenFinder(std::move(normalized), definition.special_is_text), std::move(normalizer),
                    std::move(splitter), *std::move(model)};
  return std::make_unique<DefinedTokenizer>(std::move(definition), std::move(pipeline));
}

}  // namespace inlier
