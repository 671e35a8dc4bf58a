// Commands that need LibTorch, which only inlier-trial links.
#ifndef INLIER_CLI_TRIAL_PROGRAM_H_
#define INLIER_CLI_TRIAL_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace inlier {

// Runs inlier-trial (from this program's folder) with `arguments`, passes every line of its standard output to `on_line` as
// it comes, and waits for it. When it fails, the error is the last line of its standard error.
absl::Status RunTrialProgram(const std::vector<std::string>& arguments,
                             const std::function<void(const std::string&)>& on_line);

}  // namespace inlier

#endif  // INLIER_CLI_TRIAL_PROGRAM_H_
