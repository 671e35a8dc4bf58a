// Follows a sweep to its end, through restarts of the coordinator.
#ifndef INLIER_CLI_SWEEP_WATCH_H_
#define INLIER_CLI_SWEEP_WATCH_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "cli/session.h"

namespace inlier {

struct WatchOptions {
  // Called several times a second on the caller's thread (to look after local daemons); an error ends the
  // watching with it.
  std::function<absl::Status()> poll = [] { return absl::OkStatus(); };
  // How long the coordinator may be away before the watching gives up.
  Duration patience = std::chrono::seconds(60);
  // With --json: one update a line. Otherwise nothing but the result of the whole command is written.
  bool json_updates = true;
};

// Shows the sweep in the session's manner until it has ended; its last status.
// Cancelled when interrupted; the sweep goes on.
absl::StatusOr<v1::SweepStatus> FollowSweep(Session& session, const std::string& sweep,
                                            const WatchOptions& options);

// What the shell is told of an ended sweep: 0 when every trial succeeded or diverged, else 1.
ExitCode ExitCodeOfSweep(const v1::SweepStatus& status);

}  // namespace inlier

#endif  // INLIER_CLI_SWEEP_WATCH_H_
