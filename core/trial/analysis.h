// `inlier analyze`: outliers of a Hugging Face model and what quantization does to it, without training.
#ifndef INLIER_CORE_TRIAL_ANALYSIS_H_
#define INLIER_CORE_TRIAL_ANALYSIS_H_

#include <functional>

#include "absl/status/status.h"
#include "inlier/v1/analysis.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

// Receives each result as soon as it is computed; each object has one key:
//   model     {architecture, layers, hidden_size, heads, parameters, has_head, tokenizer (of text), sequence_length,
//             sequences}
//   progress  {setting, phase, step, steps_total}
//   setting   {name, measurements: {name: number}, sites: {measurement: {site: number}}}: float first.
//             Loss, perplexity and accuracy only where the folder has a head for the data. A quantized setting also has
//             hidden_change, the mean over tokens of |h_q - h| / |h| of the last hidden state, and
//             sentence_similarity, the mean over sequences of the cosine between the token means of h_q and h.
//   left_out  {name, reason}: a method that the model does not support.
using AnalysisSink = std::function<void(const nlohmann::ordered_json&)>;

// Loss, perplexity and accuracy of a model of images only where its classes are those of the images, by their number and,
// where config.json names them, their names.
absl::Status Analyze(const v1::AnalysisSpec& spec, const AnalysisSink& sink);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_ANALYSIS_H_
