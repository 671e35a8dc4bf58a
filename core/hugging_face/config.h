// config.json of a Hugging Face model folder, converted to the fields of a TrialSpec and back.
//
// A setting that only one of transformers and inlier supports is refused by name: a model is read with
// exactly its meaning, or not at all.
#ifndef INLIER_CORE_HUGGING_FACE_CONFIG_H_
#define INLIER_CORE_HUGGING_FACE_CONFIG_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

// model, attention, norm and dropout of the model in `folder`: model_type bert, opt, gpt2, llama or vit, or one
// of these as inlier exports it (inlier_bert, …; own_parts.h); of a BertForSequenceClassification also data.classification with its target. NotFound, or InvalidArgument with
// file, key and remedy.
absl::StatusOr<v1::TrialSpec> ReadHuggingFaceConfig(const std::filesystem::path& folder);

// The same from the parsed file; errors begin with the key.
absl::StatusOr<v1::TrialSpec> SpecOfHuggingFaceConfig(const nlohmann::json& config);

// The config.json with which transformers makes the model of `resolved`, with the Python files of own_parts.h
// where HasOwnParts or `quantized`. FailedPrecondition names a field that neither supports. Some variants are exported as an equal model: absent biases and positions as
// zeros, one gain for all channels (RMS_NORM_S) as a vector of it. With data.classification a
// BertForSequenceClassification of `outputs` outputs. REQUIRES: outputs >= 1 then.
absl::StatusOr<nlohmann::json> HuggingFaceConfigOfSpec(const v1::TrialSpec& resolved,
                                                       std::int64_t outputs = 0, bool quantized = false);

}  // namespace inlier

#endif  // INLIER_CORE_HUGGING_FACE_CONFIG_H_
