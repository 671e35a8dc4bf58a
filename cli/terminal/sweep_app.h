// One sweep on the whole screen, with its keys, until it ends or the user leaves.
#ifndef INLIER_CLI_TERMINAL_SWEEP_APP_H_
#define INLIER_CLI_TERMINAL_SWEEP_APP_H_

#include "absl/status/statusor.h"
#include "cli/connection/session.h"
#include "cli/sweeps/sweep_follower.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/sweep_model.h"

namespace inlier {

// Why the view of a sweep ended.
enum class SweepAppEnd {
  kOver,  // The sweep has ended.
  kQuit,  // q.
  kBack,  // esc, where there is a view to go back to.
};

// Shows the sweep of `follower` and updates `model`. With `may_go_back` it stays after the end of the sweep, and esc
// leaves it. Errors: those of the follower; Cancelled when interrupted.
absl::StatusOr<SweepAppEnd> RunSweepApp(Session& session, Screen& screen, SweepFollower& follower,
                                        SweepModel& model, bool may_go_back);

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_SWEEP_APP_H_
