// All active sweeps and the workers on the whole screen.
#ifndef INLIER_CLI_TERMINAL_TOP_APP_H_
#define INLIER_CLI_TERMINAL_TOP_APP_H_

#include "absl/status/status.h"
#include "cli/connection/session.h"
#include "cli/terminal/screen.h"

namespace inlier {

// Returns when the user leaves. Errors: no answer for a minute; Cancelled when interrupted.
absl::Status RunTopApp(Session& session, Screen& screen);

// The same once, as plain text of `columns`.
absl::StatusOr<Drawing> TopOnce(Session& session, int columns);

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_TOP_APP_H_
