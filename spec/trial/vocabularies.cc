#include "spec/trial/vocabularies.h"

namespace inlier {

std::optional<std::uint32_t> VocabularySize(const v1::TokenizerSpec& tokenizer) {
  switch (tokenizer.kind_case()) {
    case v1::TokenizerSpec::kBytePair:
      return tokenizer.byte_pair().vocab_size();
    case v1::TokenizerSpec::kWordpiece:
      if (tokenizer.wordpiece().vocab() == "bert-base-uncased") return 30522;
      return std::nullopt;
    case v1::TokenizerSpec::kGpt2:
      if (tokenizer.gpt2().vocab() == "gpt2") return 50257;
      return std::nullopt;
    case v1::TokenizerSpec::KIND_NOT_SET:
      break;
  }
  return std::nullopt;
}

std::string VocabularyField(const v1::TokenizerSpec& tokenizer) {
  switch (tokenizer.kind_case()) {
    case v1::TokenizerSpec::kWordpiece:
      return "wordpiece.vocab";
    case v1::TokenizerSpec::kGpt2:
      return "gpt2.vocab";
    case v1::TokenizerSpec::kBytePair:
    case v1::TokenizerSpec::KIND_NOT_SET:
      break;
  }
  return "byte_pair.vocab_size";
}

}  // namespace inlier
