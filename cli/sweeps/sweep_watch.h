// Follows a sweep until it finishes, through restarts of the coordinator.
#ifndef INLIER_CLI_SWEEPS_SWEEP_WATCH_H_
#define INLIER_CLI_SWEEPS_SWEEP_WATCH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "cli/connection/session.h"

namespace inlier {

struct WatchOptions {
  // Called several times a second on the caller's thread (to supervise local daemons); an error ends the watch.
  std::function<absl::Status()> poll = [] { return absl::OkStatus(); };
  // Longest outage of the coordinator before the watch ends with an error.
  Duration patience = std::chrono::seconds(60);
  // With --json: one update a line. Otherwise only the result of the whole command is written.
  bool json_updates = true;
  // Plain lines on a terminal too.
  bool plain = false;
};

// The names of the sweep's axes, in the order of its file; none where it cannot be asked for, and the labels are sorted.
// Errors: those of the connection, which exists afterwards.
absl::StatusOr<std::vector<std::string>> AxesOfSweep(Session& session, const std::string& sweep);

// Cancelled: the watch of the sweep was interrupted.
absl::Status InterruptedWatch(const std::string& sweep);

// Shows the sweep in the session's output mode until it finishes; returns its last status.
// Cancelled when interrupted; the sweep keeps running.
absl::StatusOr<v1::SweepStatus> FollowSweep(Session& session, const std::string& sweep,
                                            const WatchOptions& options);

// The exit code for a finished sweep: 0 when every trial succeeded or diverged, else 1.
ExitCode ExitCodeOfSweep(const v1::SweepStatus& status);

}  // namespace inlier

#endif  // INLIER_CLI_SWEEPS_SWEEP_WATCH_H_
