// From a trained model of inlier to a folder that Hugging Face transformers loads.
#ifndef INLIER_CORE_TRIAL_EXPORT_CHECKPOINT_H_
#define INLIER_CORE_TRIAL_EXPORT_CHECKPOINT_H_

#include <filesystem>

#include "absl/status/status.h"

namespace inlier {

// Writes config.json and model.safetensors of the model in `checkpoint` into `folder`. FailedPrecondition
// names a variant that transformers does not support; nothing is written then.
absl::Status ExportCheckpoint(const std::filesystem::path& checkpoint, const std::filesystem::path& folder);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_EXPORT_CHECKPOINT_H_
