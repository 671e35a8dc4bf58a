// From a TokenizerSpec to the tokenizer it means, for every kind of data that has one.
//
// Thread safety: pure functions of the file system.
#ifndef INLIER_CORE_DATA_TOKENIZER_OF_SPEC_H_
#define INLIER_CORE_DATA_TOKENIZER_OF_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/data/corpus.h"
#include "core/data/special_tokens.h"
#include "core/data/tokenizer_source.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// `path` is where `tokenizer` stands in the spec, "data.text.tokenizer"; messages begin with it. With
// byte_pair.corpus this is the vocabulary that a pre-training on that corpus trains (data.text.corpus, with
// the default validation_fraction and the same vocab_size), from the same folder of the cache: it is made
// when it is not there yet.
absl::StatusOr<TokenizerSource> TokenizerSourceOf(const v1::TokenizerSpec& tokenizer, const std::string& path,
                                                  const TextOpenOptions& options);

// What MLM or CLM needs of it. InvalidArgument when the vocabulary has no such tokens.
absl::StatusOr<SpecialTokens> SpecialTokensOf(const Tokenizer& tokenizer, v1::Objective objective,
                                              const std::string& path);

}  // namespace inlier

#endif  // INLIER_CORE_DATA_TOKENIZER_OF_SPEC_H_
