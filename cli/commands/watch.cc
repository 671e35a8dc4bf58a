// inlier watch: live progress of a sweep until it finishes.
#include <memory>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/sweep_watch.h"

namespace inlier {

void AddWatchCommand(CLI::App& app, Session& session) {
  auto sweep = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("watch", "Follow a sweep until it finishes: bar, rate, time left, last loss");
  command->add_option("sweep", *sweep, "Sweep id or name")->required();
  command->callback([&session, sweep] {
    CatchInterrupts();
    const auto status = FollowSweep(session, *sweep, WatchOptions());
    if (!status.ok()) return session.Finish(status.status());
    session.Finish(ExitCodeOfSweep(*status));
  });
}

}  // namespace inlier
