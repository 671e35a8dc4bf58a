// Exit codes of `inlier`. Documented by `inlier --help-all` (docs/reference/cli.txt); scripts rely on them.
#ifndef INLIER_CLI_EXIT_CODE_H_
#define INLIER_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace inlier {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,  // The command worked, but its subject failed (for example, the sweep has failed trials).
  kExitUsage = 2,   // Unknown or conflicting flags.
  kExitBadInput = 3,       // A file or value that is wrong: the message names the place and the remedy.
  kExitUnreachable = 4,    // No coordinator answers.
  kExitNotFound = 5,       // No such sweep, trial or file.
  kExitConflict = 6,       // Refused: already running, too large without --yes, no permission.
  kExitInternal = 7,       // A fault of inlier itself or of the machine (disk full, damaged database).
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
