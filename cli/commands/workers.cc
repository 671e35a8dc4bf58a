// inlier workers: the registered workers.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/sweeps/sweep_text.h"

namespace inlier {

void AddWorkersCommand(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("workers", "List the workers with their slots and devices");
  OnUse(*command, session, [&session]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::ListWorkersResponse response, session.ListWorkers(/*connected=*/false));
    if (session.json) {
      PrintExact(ToJson(response));
      return absl::OkStatus();
    }
    const auto name = [](std::string* text, const v1::QuarantinedDevice& device) {
      *text += device.device();
    };
    TextTable table({"worker", "host", "state", "slots", "busy", "devices", "last seen"});
    for (const v1::WorkerStatus& worker : response.workers()) {
      table.AddRow({worker.name(), worker.host(),
                    !worker.connected()      ? AwayWord(worker)
                    : session.shows_stored() ? "was connected"
                    : worker.held()          ? "drained"
                    : worker.draining()      ? "draining"
                    : worker.outdated()      ? absl::StrCat("outdated: ", worker.version())
                    : worker.has_trouble()   ? "starts nothing"
                    : worker.quarantined_size() > 0
                        ? absl::StrCat("quarantine: ", absl::StrJoin(worker.quarantined(), ",", name))
                        : "connected",
                    absl::StrCat(worker.slots()), absl::StrCat(worker.busy()),
                    absl::StrJoin(worker.devices(), ","), FormatLocal({worker.last_seen_unix_ms()})});
    }
    if (table.empty() && session.people()) {
      const std::string remedy =
          session.shows_stored()
              ? ""
              : absl::StrCat(" Start one with: inlier-worker --set coordinator=", session.Address(),
                             " --set state_dir=FOLDER");
      Print(absl::StrCat("No worker has registered.", remedy, "\n"));
      return absl::OkStatus();
    }
    Print(table.ToString(FittingWidth()));
    for (const v1::WorkerStatus& worker : response.workers()) {
      if (worker.has_trouble() && worker.connected())
        Print(absl::StrCat(Shown(worker.name(), Layout::kCell), " can start no trial: ",
                           Shown(worker.trouble(), Layout::kCell), "; it gets work when it can\n"));
      for (const v1::QuarantinedDevice& quarantined : worker.quarantined()) {
        Print(absl::StrCat(
            Shown(quarantined.device(), Layout::kCell), " of ", Shown(worker.name(), Layout::kCell),
            " gets only probes: ", Shown(quarantined.reason(), Layout::kCell),
            quarantined.probes_failed() == 0 ? std::string()
                                             : absl::StrCat("; probes failed: ", quarantined.probes_failed()),
            "\n"));
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace inlier
