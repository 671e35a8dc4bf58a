// inlier workers: the registered workers.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/time.h"
#include "cli/commands.h"

namespace inlier {

void AddWorkersCommand(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("workers", "List the workers with their slots and devices");
  command->callback([&session] {
    const auto response = session.ListWorkers(/*connected=*/false);
    if (!response.ok()) return session.Finish(response.status());
    if (session.mode() == OutputMode::kJson) {
      std::cout << ToJson(*response) << std::flush;
      return;
    }
    TextTable table({"worker", "host", "state", "slots", "busy", "devices", "last seen"});
    for (const v1::WorkerStatus& worker : response->workers()) {
      table.AddRow({worker.name(), worker.host(),
                    !worker.connected() ? "lost"
                    : worker.held()     ? "drained"
                    : worker.draining() ? "draining"
                                        : "connected",
                    absl::StrCat(worker.slots()), absl::StrCat(worker.busy()),
                    absl::StrJoin(worker.devices(), ","), FormatUtc({worker.last_seen_unix_ms()})});
    }
    if (table.empty() && session.people()) {
      std::cout << "No worker has registered. Start one with: inlier-worker --set coordinator="
                << session.Address() << " --set state_dir=FOLDER\n";
      return;
    }
    std::cout << table.ToString();
  });
}

}  // namespace inlier
