// The file of a trial's trained model.
#ifndef INLIER_CLI_PROGRAMS_MODEL_OF_TRIAL_H_
#define INLIER_CLI_PROGRAMS_MODEL_OF_TRIAL_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "cli/connection/session.h"

namespace inlier {

// "t-17".
bool IsTrialId(const std::string& text);

// In the session's state folder, which is that of a worker that has the model. NotFound: no such trial, or no such
// file; FailedPrecondition: it is not trained. REQUIRES: IsTrialId(trial).
absl::StatusOr<std::filesystem::path> ModelOfTrial(Session& session, const std::string& trial);

}  // namespace inlier

#endif  // INLIER_CLI_PROGRAMS_MODEL_OF_TRIAL_H_
