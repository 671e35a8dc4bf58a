// The weights of a Hugging Face model folder: model.safetensors, or the shards that
// model.safetensors.index.json lists.
//
// Models here use the same names (core/models/model.h), so that reading is mostly a copy. What differs: base
// models are stored without the first component ("encoder.layer.0…"), tied heads and buffers may be stored
// too, and old files call a norm's gain "gamma".
#ifndef INLIER_CORE_HUGGING_FACE_WEIGHTS_H_
#define INLIER_CORE_HUGGING_FACE_WEIGHTS_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/models/model.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

struct HuggingFaceModel {
  v1::TrialSpec spec;            // model, attention, norm, dropout.
  std::shared_ptr<Model> model;  // On the CPU in float32, eval mode.
  bool has_head = true;          // False: the folder is a base model, and the head is not to be used.
};

// NotFound, DataLoss for a damaged file, InvalidArgument that names the tensor which is missing, left over, of
// another shape or not finite.
absl::StatusOr<HuggingFaceModel> OpenHuggingFaceModel(const std::filesystem::path& folder);

// Copies into `model` what `source` has of it: a folder as above, or a single .safetensors file such as a
// checkpoint of inlier (its optimizer state is passed over). Returns the parameters that it lacks and that so
// keep their values: gates, learned null keys, heads. InvalidArgument names any other tensor that is missing,
// left over or of another shape.
absl::StatusOr<std::vector<std::string>> LoadStartingWeights(const std::filesystem::path& source,
                                                             Model& model);

// Writes config.json and model.safetensors, so that transformers' from_pretrained gives the same logits. The
// folder is made; files that are there are replaced. FailedPrecondition names the field of the spec that
// transformers has no word for; nothing is written then. REQUIRES: `model` was made from `resolved`.
absl::Status ExportHuggingFaceModel(const v1::TrialSpec& resolved, const Model& model,
                                    const std::filesystem::path& folder);

}  // namespace inlier

#endif  // INLIER_CORE_HUGGING_FACE_WEIGHTS_H_
