// The weights of a Hugging Face model folder (weight_files.h), as models here.
//
// Models here use the same names (core/models/model.h), so that reading is mostly a copy. Differences: base
// models are stored without the first component ("encoder.layer.0…"), tied heads and buffers may be stored
// too, and old files call a norm's gain "gamma".
#ifndef INLIER_CORE_HUGGING_FACE_WEIGHTS_H_
#define INLIER_CORE_HUGGING_FACE_WEIGHTS_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/io/safetensors.h"
#include "core/models/model.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/hugging_face/config.h"

namespace inlier {

struct HuggingFaceModel {
  v1::TrialSpec spec;            // See ReadHuggingFaceConfig.
  std::shared_ptr<Model> model;  // On the CPU in float32, eval mode.
  bool has_head = true;          // False: a base model; its head must not be used.
};

// NotFound, DataLoss for a damaged file, InvalidArgument that names a missing, superfluous, misshapen or
// non-finite tensor.
absl::StatusOr<HuggingFaceModel> OpenHuggingFaceModel(const std::filesystem::path& folder);

// The same, but a sentence classifier is opened as the language model of its body, without a head.
absl::StatusOr<HuggingFaceModel> OpenHuggingFaceBody(const std::filesystem::path& folder);

// The trial that starts from a model.
struct StartingTrial {
  v1::TrialSpec spec;  // Resolved.
  // Names of the model's outputs in their order; empty: they have none.
  std::vector<std::string> classes = {};
  // The same of a source that is a file.
  std::vector<std::string> source_classes = {};
};

// Copies the matching tensors of `source` into `model`: a folder as above, or a single .safetensors file such
// as a checkpoint of inlier (its optimizer state is skipped). Returns the parameters without a tensor, which
// keep their values: gates, learned null keys, key and value biases, norms of queries and keys, registers, heads and the
// pooler. Heads for other purposes are skipped; a classifier's outputs go where the data have their class.
// InvalidArgument names a setting of a folder's config.json that the trial does not have (CheckSameFunction), a
// classifier of other classes, and any other tensor that is missing, superfluous or misshapen; a name that only the file
// has is not quoted. Files outside `roots` are refused.
absl::StatusOr<std::vector<std::string>> LoadStartingWeights(const std::filesystem::path& source,
                                                             const StartingTrial& trial, Model& model,
                                                             const DataRoots& roots = {});

struct ExportOptions {
  bool replace = false;                      // A model that is at the place already.
  bool quantized = false;                    // `files` has kQuantizationFile (own_parts.h).
  std::map<std::string, std::string> files;  // More files of the folder: name -> content.
  ExportedData data = {};                    // Without `outputs`.
  // Changes the tensors that are written, by their names in transformers; null: nothing. With `quantization_config` of config.json.
  std::function<void(TensorMap*)> compress = nullptr;
  std::string quantization_config = {};  // JSON.
};

// Writes config.json, model.safetensors and what else the model needs (own_parts.h), so that transformers'
// from_pretrained gives the same logits. The folder appears whole (export_folder.h, with its errors).
// FailedPrecondition names a field of the spec that is not supported; nothing is written then.
// REQUIRES: `model` was made from `resolved`.
absl::Status ExportHuggingFaceModel(const v1::TrialSpec& resolved, const Model& model,
                                    const std::filesystem::path& folder, const ExportOptions& options = {});

}  // namespace inlier

#endif  // INLIER_CORE_HUGGING_FACE_WEIGHTS_H_
