#include "core/text/tokenizer_of_spec.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/data/data_folder.h"
#include "base/status.h"

namespace inlier {
namespace {

// The text that byte_pair.corpus or byte_pair.path names; `setting` is the path of byte_pair.
absl::StatusOr<CorpusSource> VocabularyText(const v1::BytePairSpec& byte_pair, const std::string& setting,
                                            const TextOpenOptions& options) {
  if (byte_pair.has_path())
    return CorpusSource{
        .path = byte_pair.path(), .field = byte_pair.field(), .roots = options.roots, .setting = setting};
  ASSIGN_OR_RETURN(
      std::filesystem::path file,
      FindDataFile(byte_pair.corpus(), options.data_dir,
                   {.field = setting + ".corpus",
                    .what = "corpus",
                    .plural = "corpora",
                    .extension = ".txt",
                    .otherwise = absl::StrCat("name a text of your own with ", setting, ".path")}));
  return CorpusSource{.path = std::move(file), .must_be_utf8 = false, .roots = options.roots};
}

// The vocabulary of a pre-training on that text.
absl::StatusOr<TokenizerSource> VocabularyOfText(const CorpusSource& text, const v1::BytePairSpec& byte_pair,
                                                 const TrainedBytePair& trained,
                                                 const TextOpenOptions& options) {
  TokenCacheSettings settings;
  settings.tokenizer = trained;
  settings.validation_fraction = v1::TextDataSpec::default_instance().validation_fraction();
  settings.validation = ValidationTextsOf(byte_pair.corpus_validation());
  ASSIGN_OR_RETURN(const TokenCache cache, TokenCache::OpenOrMake(text, settings, options));
  return OwnBytePairFiles{cache.folder()};
}

}  // namespace

absl::StatusOr<TokenizerSource> TokenizerSourceOf(const v1::TokenizerSpec& tokenizer, const std::string& path,
                                                  const TextOpenOptions& options) {
  switch (tokenizer.kind_case()) {
    case v1::TokenizerSpec::kWordpiece:
      return FindWordPiece(tokenizer.wordpiece().vocab(), options.data_dir, path + ".wordpiece.vocab",
                           options.roots);
    case v1::TokenizerSpec::kGpt2:
      return FindGpt2(tokenizer.gpt2().vocab(), options.data_dir, path + ".gpt2.vocab", options.roots);
    case v1::TokenizerSpec::kBytePair:
    case v1::TokenizerSpec::KIND_NOT_SET:
      break;
  }
  const v1::BytePairSpec& byte_pair = tokenizer.byte_pair();
  if (byte_pair.vocab_size() < kSmallestVocabulary) {
    return absl::InvalidArgumentError(absl::StrCat(path, ".byte_pair.vocab_size: ", byte_pair.vocab_size(),
                                                   " is below ", kSmallestVocabulary,
                                                   ", the 256 bytes and the special tokens"));
  }
  const TrainedBytePair trained{byte_pair.vocab_size()};
  if (!byte_pair.has_corpus() && !byte_pair.has_path()) return trained;
  ASSIGN_OR_RETURN(const CorpusSource text, VocabularyText(byte_pair, path + ".byte_pair", options));
  return VocabularyOfText(text, byte_pair, trained, options);
}

ValidationTexts ValidationTextsOf(v1::ValidationChoice validation) {
  if (validation == v1::HASH) return ValidationTexts::kByHash;
  return validation == v1::BLOCKS ? ValidationTexts::kBlocks : ValidationTexts::kLast;
}

absl::StatusOr<SpecialTokens> SpecialTokensOf(const Tokenizer& tokenizer, v1::Objective objective,
                                              const std::string& path) {
  const std::optional<SpecialTokens> tokens =
      objective == v1::MLM ? tokenizer.masked_tokens() : tokenizer.causal_tokens();
  if (tokens.has_value()) return *tokens;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": it has no special tokens for ", v1::Objective_Name(objective), "; choose another tokenizer"));
}

}  // namespace inlier
