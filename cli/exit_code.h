// What `inlier` returns to the shell. Documented in docs/reference/cli.md; scripts rely on it.
#ifndef INLIER_CLI_EXIT_CODE_H_
#define INLIER_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace inlier {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed =
      1,  // The command worked, and what it watched or asked for ended badly (failed trials, for example).
  kExitUsage = 2,        // Flags that do not exist or do not go together.
  kExitBadInput = 3,     // A file or value that is wrong: the message names the place and the remedy.
  kExitUnreachable = 4,  // No coordinator answers.
  kExitNotFound = 5,     // No such sweep, trial or file.
  kExitConflict = 6,  // In the way of the present state: already running, too large without --yes, refused.
  kExitInternal = 7,  // A fault of inlier itself or of the machine (disk full, damaged database).
  kExitInterrupted = 130,  // Ctrl-C.
};

inline ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitBadInput;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitConflict;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitInternal;
  }
}

}  // namespace inlier

#endif  // INLIER_CLI_EXIT_CODE_H_
