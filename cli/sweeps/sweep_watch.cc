#include "cli/sweeps/sweep_watch.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/sweeps/sweep_follower.h"
#include "cli/watch_view.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

// Warnings of the sweep where no view shows them: once each, on stderr, when they have lasted. (Until a worker has connected,
// no trial can run anywhere.)
class LastingWarnings {
 public:
  void See(const v1::SweepStatus& status, Timestamp now) {
    std::map<std::string, Timestamp> seen;
    for (const std::string& warning : status.warnings()) {
      const auto known = since_.find(warning);
      seen.emplace(warning, known == since_.end() ? now : known->second);
    }
    since_ = std::move(seen);
  }
  void Print(Timestamp now) {
    for (const auto& [warning, since] : since_) {
      if (now - since >= kLasting && printed_.insert(warning).second) PrintError(warning);
    }
  }

 private:
  static constexpr Duration kLasting = std::chrono::seconds(10);
  std::map<std::string, Timestamp> since_;
  std::set<std::string> printed_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> AxesOfSweep(Session& session, const std::string& sweep) {
  RETURN_IF_ERROR(session.Sweeps().status());
  const auto known = session.GetSweep(sweep);
  return known.ok() ? AxisNames(known->spec()) : std::vector<std::string>();
}

absl::Status InterruptedWatch(const std::string& sweep) {
  return absl::CancelledError(absl::StrCat("interrupted; sweep ", sweep,
                                           " keeps running (watch it again: inlier watch ", sweep, ")"));
}

absl::StatusOr<v1::SweepStatus> FollowSweep(Session& session, const std::string& sweep,
                                            const WatchOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> axes, AxesOfSweep(session, sweep));
  const char* term = std::getenv("TERM");
  const bool moves =
      StdoutIsTerminal() && !options.plain && term != nullptr && std::strcmp(term, "dumb") != 0;
  WatchView view(TerminalWidth(), moves, axes);
  SweepFollower follower(session, sweep, std::nullopt, options.patience);
  v1::SweepStatus latest;
  LastingWarnings warnings;
  while (true) {
    RETURN_IF_ERROR(options.poll());
    if (Interrupted()) return InterruptedWatch(sweep);
    ASSIGN_OR_RETURN(const std::optional<v1::SweepUpdate> update,
                     follower.Next(std::chrono::milliseconds(200)));
    view.Resize(TerminalWidth());
    if (!session.people()) warnings.Print(MonotonicNow());
    if (update) {
      latest = update->status();
      warnings.See(latest, MonotonicNow());
      if (session.people()) PrintExact(view.Show(*update, MonotonicNow()));
      if (session.mode() == OutputMode::kJson && options.json_updates) PrintExact(ToJsonLine(*update));
    } else if (follower.over()) {
      return latest;
    } else if (session.people()) {
      PrintExact(view.Redraw(MonotonicNow()));
    }
  }
}

ExitCode ExitCodeOfSweep(const v1::SweepStatus& status) {
  return status.state() == v1::COMPLETE && status.trials().failed() == 0 &&
                 status.trials().cancelled() == status.trials().pruned()
             ? kExitOk
             : kExitFailed;
}

}  // namespace inlier
