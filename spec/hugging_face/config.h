// config.json of a Hugging Face model folder, converted to the fields of a TrialSpec and back.
//
// A setting that only one of transformers and inlier supports is refused by its key: a model is read with exactly its
// meaning, or not at all. config_keys.h lists the keys.
#ifndef INLIER_SPEC_HUGGING_FACE_CONFIG_H_
#define INLIER_SPEC_HUGGING_FACE_CONFIG_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "inlier/v1/trial_spec.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

struct HuggingFaceConfig {
  // model, attention, norm and dropout; of a BertForSequenceClassification also data.classification with its target.
  v1::TrialSpec spec;
  std::string model_type;  // As config.json has it, without "inlier_".
  // A classifier's outputs; LABEL_0, … where the file does not name them.
  std::vector<std::string> class_names;
  // The weights have a head other than of a language model, an image classifier or spec.data.classification.
  bool other_head = false;
};

enum class FolderPart {
  kWhole,
  kBody,  // A classifier of sentences counts as another head, whose settings are ignored.
};

// The model in `folder`: of one of ModelTypes(), or one of these as inlier exports it (inlier_bert, …; own_parts.h). NotFound, or InvalidArgument with file, key and remedy.
absl::StatusOr<HuggingFaceConfig> ReadHuggingFaceConfig(const std::filesystem::path& folder,
                                                        FolderPart part = FolderPart::kWhole,
                                                        const DataRoots& roots = {});

// The same from the parsed file; errors begin with the key.
absl::StatusOr<HuggingFaceConfig> ParseHuggingFaceConfig(const nlohmann::json& config,
                                                         FolderPart part = FolderPart::kWhole);

// OK where the models of both specs, with the same weights, compute the same; `trial` may add softmax, gates and other
// parts. InvalidArgument names the first setting that differs, with both values, by the key of config.json where
// `source` is from one of that `model_type`; by the field where it is empty.
absl::Status CheckSameFunction(const v1::TrialSpec& source, const v1::TrialSpec& trial,
                               std::string_view model_type);

// Facts about a model's data that its export contains.
struct ExportedData {
  std::int64_t outputs = 0;                   // With data.classification at least 1.
  std::vector<std::string> class_names = {};  // Of the outputs; LABEL_<number> by default.
  // Tokens, null in the config where unknown. The separator begins every text of a causal model, so that it ends the one before of a causal model.
  std::optional<std::int64_t> separator = {};
  std::optional<std::int64_t> pad = {};
};

// The config.json with which transformers makes the model of `resolved`, with the Python files of own_parts.h where
// HasOwnParts or `quantized`. FailedPrecondition names a field that neither supports. Some variants are exported as an
// equal model: absent biases and positions as zeros, one gain for all channels (RMS_NORM_S) as a vector of it.
absl::StatusOr<nlohmann::json> HuggingFaceConfigOfSpec(const v1::TrialSpec& resolved,
                                                       const ExportedData& data = {}, bool quantized = false);

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_CONFIG_H_
