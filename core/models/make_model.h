// From a resolved TrialSpec to a model: the one place that reads the model's hyper-parameters.
#ifndef INLIER_CORE_MODELS_MAKE_MODEL_H_
#define INLIER_CORE_MODELS_MAKE_MODEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/models/language_model.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// What a model depends on in addition to the spec.
struct ModelShape {
  std::int64_t classes = 0;          // data.classification: ClassificationDataset::classes(), 1 for a number.
  DataRoots roots = {};              // Where the files of scripts may be.
  std::int64_t document_start = -1;  // data.text: the token that begins a text; -1: not known.
};

// A model on the CPU in float32, its weights not yet initialised (all zero, those of a gate's script as in its file): with data.classification a
// BertClassifier, else the model of model.…. The spec must have explicit sizes (the resolver expands
// presets). InvalidArgument starts with the path of the field: a size that is missing or 0, heads that do not
// divide hidden_size, a gate option without effect, data.classification without BERT or without classes, a script that
// cannot be read or fails its check.
absl::StatusOr<std::shared_ptr<Model>> MakeModel(const v1::TrialSpec& resolved, const ModelShape& shape = {});

// As MakeModel; InvalidArgument too when the model does not read text.
absl::StatusOr<std::shared_ptr<LanguageModel>> MakeLanguageModel(const v1::TrialSpec& resolved,
                                                                 const ModelShape& shape = {});

// Draws every weight. Each parameter has its own random stream, named by `seed` and the parameter's name, and
// is drawn on the CPU: two models that differ in a gate start from the same weights elsewhere, and so do a
// CPU and a GPU. LIBRARY: linears and embeddings normal with initial_std, biases 0, norms 1 and 0, the pad
// row of the token table 0; GPT-2's linears that write the residual with initial_std / sqrt(2 layers), as
// Hugging Face; learned null keys normal with their own initial_std. Keys and values of key_value_bias, registers and
// the weights of a projected gate are drawn as linears are, the latter with the gate's initial_std where it is given.
// REFERENCE: as LIBRARY, but attention linears as the official code leaves them: weight and bias uniform in
// +-1/sqrt(hidden_size), for BERT query, key and value, for OPT the output projection too. Other gates in both: weights
// uniform in +-1/sqrt(fan in), or normal with the gate's initial_std; bias logit(pi_init) where the gate has a pi_init,
// else uniform in the same limits; those of a script keep the values of its file. REQUIRES: `model` was made from `resolved`.
void InitialiseWeights(Model& model, const v1::TrialSpec& resolved, std::uint64_t seed);

// The number of parameter values, tied ones once.
std::int64_t CountParameters(const torch::nn::Module& model);

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_MAKE_MODEL_H_
