// The trained weights that a training starts from.
#ifndef INLIER_CORE_TRIAL_START_FROM_H_
#define INLIER_CORE_TRIAL_START_FROM_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/trial/preparation.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

// The weights of training.start_from over the initial ones; OK where it is not given. InvalidArgument where the model
// is another one than the trial's: in a setting that decides what it computes, in its vocabulary or its classes, as far
// as its files name them. DataLoss where a file of the worker's own cannot be read.
absl::Status StartFrom(const v1::AttemptSpec& attempt, const Prepared& prepared);

// The weights of `source`, a folder of Hugging Face or a file, over those of the model. Returns the parameters without a
// tensor there; errors are LoadStartingWeights' and those above. Files outside `roots` are refused.
absl::StatusOr<std::vector<std::string>> LoadWeights(std::filesystem::path source, const Prepared& prepared,
                                                     const DataRoots& roots);

// OK where the folder has no preprocessor_config.json, or one whose pixels have the range of the data's pixel_scale.
// InvalidArgument names the key that differs.
absl::Status CheckPixels(const std::filesystem::path& folder, const v1::TrialSpec& spec,
                         const DataRoots& roots = {});

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_START_FROM_H_
