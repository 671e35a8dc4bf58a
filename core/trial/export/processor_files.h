// The tokenizer or image processor of a model, as files that transformers reads: AutoTokenizer gives our
// ids, AutoImageProcessor our pixels.
#ifndef INLIER_CORE_TRIAL_EXPORT_PROCESSOR_FILES_H_
#define INLIER_CORE_TRIAL_EXPORT_PROCESSOR_FILES_H_

#include <cstdint>
#include <map>
#include <string>

#include "core/text/tokenizer.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

using FileContents = std::map<std::string, std::string>;  // Name -> content.

// The vocabulary with tokenizer.json, tokenizer_config.json and special_tokens_map.json. The special tokens
// that the model read around each text are put around it, except GPT-2's, which transformers adds nowhere.
FileContents TokenizerFiles(const Tokenizer& tokenizer, bool causal, std::int64_t max_positions);

// preprocessor_config.json of a model of images. transformers resizes a whole image to the square that ours
// cuts from its middle: pixels of images that are square agree.
FileContents ImageProcessorFiles(const v1::TrialSpec& resolved);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_EXPORT_PROCESSOR_FILES_H_
