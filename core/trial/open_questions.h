// The questions of evaluation.multiple_choice as token ids, joined and cut as lm-evaluation-harness 0.4.13 does it for a causal model:
//
//   continuation = " " + choice; white space at the end of the context goes before it;
//   its tokens are those of context + continuation without as many as the context alone has;
//   both have the token that the tokenizer itself puts before a text, but where they begin with it;
//   an empty context is the token that begins texts;
//   of a sequence that is longer than the model reads the first tokens are left out.
#ifndef INLIER_CORE_TRIAL_OPEN_QUESTIONS_H_
#define INLIER_CORE_TRIAL_OPEN_QUESTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/text/tokenizer.h"
#include "core/train/multiple_choice.h"

namespace inlier {

// Of the file at `path`, for a model that reads up to `longest` tokens. Errors as ReadQuestions; InvalidArgument, with file and line, where an answer has
// no token or more than the model reads, or a context is white space that is no token. REQUIRES: the tokenizer has causal_tokens().
absl::StatusOr<std::vector<Question>> OpenQuestions(const std::string& path, const Tokenizer& tokenizer,
                                                    std::int64_t longest, const DataRoots& roots);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_OPEN_QUESTIONS_H_
