// From a TokenizerSpec to its tokenizer, for every kind of data with text.
#ifndef INLIER_CORE_TEXT_TOKENIZER_OF_SPEC_H_
#define INLIER_CORE_TEXT_TOKENIZER_OF_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/text/corpus.h"
#include "core/text/special_tokens.h"
#include "core/text/token_cache.h"
#include "core/text/tokenizer_source.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// `path` is the path of `tokenizer` in the spec, "data.text.tokenizer"; messages begin with it. With
// byte_pair.corpus or byte_pair.path this is the vocabulary that a pre-training on that text trains (data.text.corpus or
// path, with the default validation_fraction, the same vocab_size and field, and corpus_validation as its validation),
// from the same folder of the cache, and made if missing.
absl::StatusOr<TokenizerSource> TokenizerSourceOf(const v1::TokenizerSpec& tokenizer, const std::string& path,
                                                  const TextOpenOptions& options);

ValidationTexts ValidationTextsOf(v1::ValidationChoice validation);

// The special tokens for MLM or CLM. InvalidArgument when the vocabulary has none.
absl::StatusOr<SpecialTokens> SpecialTokensOf(const Tokenizer& tokenizer, v1::Objective objective,
                                              const std::string& path);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKENIZER_OF_SPEC_H_
