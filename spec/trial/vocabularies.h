// Contents of a tokenizer's vocabulary as far as a spec gives them: sizes that the resolver and the validator
// need before any worker has read a file.
#ifndef INLIER_SPEC_TRIAL_VOCABULARIES_H_
#define INLIER_SPEC_TRIAL_VOCABULARIES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Tokens of the vocabulary; nothing for one that only the worker can count.
std::optional<std::uint32_t> VocabularySize(const v1::TokenizerSpec& tokenizer);

// The field that decides it: "byte_pair.vocab_size", "wordpiece.vocab" or "gpt2.vocab".
std::string VocabularyField(const v1::TokenizerSpec& tokenizer);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_VOCABULARIES_H_
