#include "core/text/tokenizer.h"

#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace inlier {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";
constexpr std::string_view kOptSeparator = "</s>";
constexpr std::string_view kOptPad = "<pad>";

// A byte-level BPE with the special tokens that it has for each objective.
class BytePairTokenizer final : public Tokenizer {
 public:
  enum class SpelledSpecial { kIsText, kIsToken };

  BytePairTokenizer(BytePairVocabulary vocabulary, std::optional<SpecialTokens> masked,
                    std::optional<SpecialTokens> causal, SpelledSpecial spelled)
      : vocabulary_(std::move(vocabulary)), masked_(masked), causal_(causal), spelled_(spelled) {}

  uint32_t size() const override { return vocabulary_.size(); }
  std::string Decode(std::span<const uint32_t> ids) const override {
    return ReplaceInvalidUtf8(vocabulary_.Decode(ids));
  }
  std::optional<SpecialTokens> masked_tokens() const override { return masked_; }
  std::optional<SpecialTokens> causal_tokens() const override { return causal_; }
  std::map<std::string, std::string> Files() const override {
    return {{"vocab.json", vocabulary_.VocabJson()}, {"merges.txt", vocabulary_.MergesTxt()}};
  }

  std::unique_ptr<TextEncoder> MakeEncoder() const override {
    class Encoder final : public TextEncoder {
     public:
      Encoder(const BytePairVocabulary& vocabulary, SpelledSpecial spelled)
          : encoder_(vocabulary), spelled_(spelled) {}
      void Encode(std::string_view text, std::vector<uint32_t>* ids) override {
        if (spelled_ == SpelledSpecial::kIsText) {
          encoder_.Encode(text, ids);
        } else {
          encoder_.EncodeWithSpecialTokens(text, ids);
        }
      }

     private:
      BytePairEncoder encoder_;
      const SpelledSpecial spelled_;
    };
    return std::make_unique<Encoder>(vocabulary_, spelled_);
  }

 private:
  const BytePairVocabulary vocabulary_;
  const std::optional<SpecialTokens> masked_, causal_;
  const SpelledSpecial spelled_;
};

class WordPieceTokenizer final : public Tokenizer {
 public:
  explicit WordPieceTokenizer(WordPieceVocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  uint32_t size() const override { return vocabulary_.size(); }
  std::string Decode(std::span<const uint32_t> ids) const override { return vocabulary_.Decode(ids); }
  std::optional<SpecialTokens> masked_tokens() const override {
    return SpecialTokens{.pad = vocabulary_.pad_id(),
                         .begin = vocabulary_.cls_id(),
                         .end = vocabulary_.sep_id(),
                         .mask = vocabulary_.mask_id()};
  }
  // It drops case and white space, so no causal model could write its decoded text.
  std::optional<SpecialTokens> causal_tokens() const override { return std::nullopt; }
  std::map<std::string, std::string> Files() const override {
    std::string text;
    for (uint32_t id = 0; id < vocabulary_.size(); ++id) {
      text += vocabulary_.Spelling(id);
      text += '\n';
    }
    return {{"vocab.txt", text}};
  }

  std::unique_ptr<TextEncoder> MakeEncoder() const override {
    class Encoder final : public TextEncoder {
     public:
      explicit Encoder(const WordPieceVocabulary& vocabulary) : encoder_(vocabulary) {}
      void Encode(std::string_view text, std::vector<uint32_t>* ids) override { encoder_.Encode(text, ids); }

     private:
      WordPieceEncoder encoder_;
    };
    return std::make_unique<Encoder>(vocabulary_);
  }

 private:
  const WordPieceVocabulary vocabulary_;
};

}  // namespace

bool IsOwnVocabulary(const BytePairVocabulary& vocabulary) {
  for (uint32_t id = 0; id < kOwnSpecialTokens.size(); ++id) {
    if (vocabulary.SpecialId(kOwnSpecialTokens[id]) != id) return false;
  }
  return true;
}

std::unique_ptr<Tokenizer> MakeOwnTokenizer(BytePairVocabulary vocabulary) {
  INLIER_CHECK(IsOwnVocabulary(vocabulary));
  return std::make_unique<BytePairTokenizer>(std::move(vocabulary), kOwnMaskedTokens, kOwnCausalTokens,
                                             BytePairTokenizer::SpelledSpecial::kIsText);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> MakeGpt2Tokenizer(BytePairVocabulary vocabulary) {
  // OPT's may list <|endoftext|> too, where no text ever has it.
  std::optional<uint32_t> separator = vocabulary.SpecialId(kOptSeparator),
                          pad = vocabulary.SpecialId(kOptPad);
  // GPT-2 has no token for padding.
  if (!separator.has_value() || !pad.has_value()) separator = pad = vocabulary.SpecialId(kEndOfText);
  if (!separator.has_value()) {
    return absl::InvalidArgumentError(
        "no token <|endoftext|>, which separates texts, nor </s> and <pad>; it must be GPT-2's or OPT's");
  }
  const SpecialTokens causal = {.pad = *pad, .begin = *separator, .end = {}, .mask = {}};
  return std::make_unique<BytePairTokenizer>(std::move(vocabulary), std::nullopt, causal,
                                             BytePairTokenizer::SpelledSpecial::kIsToken);
}

std::unique_ptr<Tokenizer> MakeWordPieceTokenizer(WordPieceVocabulary vocabulary) {
  return std::make_unique<WordPieceTokenizer>(std::move(vocabulary));
}

}  // namespace inlier
