// The model that a program of one's own has trained and saved, as a trial of ours: what inlier evaluates for it.
//
// A folder of Hugging Face as save_pretrained writes it, in the tar that the program's worker has made of it.
#ifndef INLIER_CORE_TRIAL_SAVED_MODEL_H_
#define INLIER_CORE_TRIAL_SAVED_MODEL_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/trial/preparation.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Where UnpackSavedModel puts it, in the folder of the attempt.
std::filesystem::path SavedModelFolder(const v1::AttemptSpec& attempt);

// Unpacks attempt.checkpoint; returns the folder of the model. InvalidArgument where the training has saved none.
absl::StatusOr<std::filesystem::path> UnpackSavedModel(const v1::AttemptSpec& attempt);

// `trial`'s data, quantization and evaluation with the model of `folder`, resolved and valid. `trial`'s attention is
// added to that of config.json. Without a vocabulary: the folder's own.
absl::StatusOr<v1::TrialSpec> SpecOfSavedModel(const v1::TrialSpec& trial,
                                               const std::filesystem::path& folder);

// The weights of `folder` over those of `prepared`. InvalidArgument names a parameter that the folder lacks.
absl::Status LoadSavedModel(const std::filesystem::path& folder, const Prepared& prepared);

// The tokenizer of a folder of Hugging Face, by its files. NotFound, with `remedy`, where it has none.
absl::StatusOr<v1::TokenizerSpec> TokenizerOfFolder(const std::filesystem::path& folder,
                                                    const std::string& remedy);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_SAVED_MODEL_H_
