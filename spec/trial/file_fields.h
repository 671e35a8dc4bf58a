// The texts of a trial that name files on the worker, by their declarations (ParamOptions.file).
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_TRIAL_FILE_FIELDS_H_
#define INLIER_SPEC_TRIAL_FILE_FIELDS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "inlier/v1/param_options.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Calls `visit` with each field that names files and has a value or a default, and its path ("data.text.path").
void VisitFileFields(
    const v1::TrialSpec& spec,
    const std::function<void(const std::string& path, v1::FileUse use, const std::string& value)>& visit);

// `spec` with these fields alone, where they are set.
v1::TrialSpec FileFieldsOf(const v1::TrialSpec& spec);

// Calls `check` with every absolute path that `spec` names; returns its first error with the field in front.
// InvalidArgument also for a name that is a path and would leave its folder.
absl::Status CheckFilePaths(const v1::TrialSpec& spec,
                            const std::function<absl::Status(const std::string& path)>& check);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_FILE_FIELDS_H_
