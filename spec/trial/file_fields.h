// The texts of a trial that name files on the worker, found by their declarations (ParamOptions.file), so
// that a new one cannot be forgotten.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_TRIAL_FILE_FIELDS_H_
#define INLIER_SPEC_TRIAL_FILE_FIELDS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Calls `check` with the field ("data.text.path") and the value of every absolute path that is set in `spec`;
// returns its first error with the field in front. InvalidArgument too for a name that is a path: it would
// leave the folder that it belongs to.
absl::Status CheckFilePaths(const v1::TrialSpec& spec,
                            const std::function<absl::Status(const std::string& path)>& check);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_FILE_FIELDS_H_
