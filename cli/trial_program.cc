#include "cli/trial_program.h"

#include <sys/wait.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/connection/local_mode.h"
#include "cli/programs/child_program.h"

namespace inlier {

absl::Status RunTrialProgram(const std::vector<std::string>& arguments,
                             const std::function<void(const std::string&)>& on_line) {
  const std::string program = (ProgramFolder() / "inlier-trial").string();
  ASSIGN_OR_RETURN(const ChildEnd end, RunProgram(program, arguments, on_line));
  if (end.succeeded()) return absl::OkStatus();
  if (end.not_started() && !std::filesystem::exists(program)) {
    return absl::FailedPreconditionError(
        absl::StrCat(program, ": there is no such program; `make build` builds it with LibTorch"));
  }
  if (WIFSIGNALED(end.status)) {
    return absl::FailedPreconditionError(
        absl::StrCat("inlier-trial was ended by signal ", WTERMSIG(end.status)));
  }
  constexpr char kPrefix[] = "inlier-trial: ";
  const bool prefixed = absl::StartsWith(end.last_error, kPrefix);
  return absl::FailedPreconditionError(end.last_error.substr(prefixed ? sizeof(kPrefix) - 1 : 0));
}

}  // namespace inlier
