// inlier fleet: workers as jobs of Slurm, as many as there is work for.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "spec/schema/overrides.h"

namespace inlier {
namespace {

struct SlurmFlags {
  v1::SetFleetRequest request;
  std::vector<std::string> overrides;
};

// "queued" for FLEET_JOB_QUEUED.
std::string FleetStateWord(v1::FleetJobState state) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::FleetJobState_Name(state), "FLEET_JOB_"));
}

std::string FleetSeconds(double seconds) { return FormatDuration(FromSeconds(seconds)); }

std::string FleetHeading(const v1::FleetStatus& fleet) {
  const v1::FleetConfig& config = fleet.config();
  std::string text = absl::StrCat(
      "fleet ", fleet.id(), " on Slurm",
      config.slurm().partition().empty() ? "" : absl::StrCat(", partition ", config.slurm().partition()),
      ": ", fleet.jobs_size(), " of ", fleet.wanted(), " wanted jobs (", config.minimum(), " to ",
      config.maximum(), "), ", fleet.waiting(), " stages wait");
  if (fleet.stopped()) absl::StrAppend(&text, "; stopped");
  if (fleet.has_seconds_since_look())
    absl::StrAppend(&text, "; queue read ", FleetSeconds(fleet.seconds_since_look()), " ago");
  return text;
}

void PrintFleet(const Session& session, const v1::FleetStatus& fleet) {
  if (session.json) return PrintExact(ToJson(fleet));
  if (!fleet.configured())
    return Print(session.quiet ? ""
                               : "No fleet. Make one with inlier fleet slurm, or with `fleet` in the "
                                 "coordinator's configuration.\n");
  Print(FleetHeading(fleet) + "\n");
  for (const std::string& reason : fleet.reasons()) Print(absl::StrCat("  ", reason, "\n"));
  TextTable table({"job", "name", "state", "node", "worker", "attempts", "ends in", "reason"});
  for (const v1::FleetJob& job : fleet.jobs()) {
    table.AddRow({job.job(), job.name(), FleetStateWord(job.state()), job.node(), job.worker(),
                  job.has_attempts() ? absl::StrCat(job.attempts()) : "",
                  job.has_seconds_left() ? FleetSeconds(job.seconds_left()) : "", job.reason()});
  }
  if (!table.empty()) Print(table.ToString(FittingWidth()));
}

void AddFleetSlurm(CLI::App& fleet, Session& session) {
  auto flags = std::make_shared<SlurmFlags>();
  CLI::App& command = *fleet.add_subcommand(
      "slurm", "Have the coordinator keep as many worker jobs in Slurm's queue as there is work for");
  v1::FleetConfig& config = *flags->request.mutable_config();
  v1::SlurmConfig& slurm = *config.mutable_slurm();
  AddField(command, "--worker-config", config, "Configuration of the workers, an absolute path on the nodes")
      ->required();
  AddField(command, "--maximum", config, "Most jobs in the queue and running")->required();
  AddField(command, "--time-limit", slurm, "Of each job, in minutes", "time_limit_minutes")->required();
  AddField(command, "--minimum", config, "Jobs that are kept without work, too; default: 0");
  AddField(command, "--idle", config,
           "Seconds without an attempt after which a job is given back; default: 120", "idle_seconds");
  AddField(command, "--partition", slurm, "One, or several with commas between them");
  AddField(command, "--account", slurm, "Account of the jobs");
  AddField(command, "--qos", slurm, "Quality of service of the jobs");
  AddField(command, "--nodes", slurm, "Nodes of each job, all of whose slots its worker has; default: 1");
  AddField(command, "--gres", slurm, "Generic resources of each job, for example gpu:1");
  AddField(command, "--constraint", slurm, "Features of the nodes");
  command.add_option("--set", flags->overrides,
                     "Any other key of `fleet` of the coordinator's configuration, for example "
                     "slurm.cpus=4; may be repeated");
  OnUse(command, session, [&session, flags]() -> absl::Status {
    v1::FleetConfig& filled = *flags->request.mutable_config();
    RETURN_IF_ERROR(ApplyOverrides(&filled, flags->overrides));
    ASSIGN_OR_RETURN(const v1::SetFleetResponse response,
                     session.CallOnce(&SweepStub::SetFleet, flags->request));
    session.Report(response,
                   absl::StrCat("fleet ", response.id(), ": up to ", filled.maximum(),
                                " jobs, as there is work for them; inlier fleet status shows them"));
    return absl::OkStatus();
  });
}

void AddFleetScale(CLI::App& fleet, Session& session) {
  auto request = std::make_shared<v1::ScaleFleetRequest>();
  CLI::App* command = fleet.add_subcommand("scale", "Change the minimum and the maximum of the fleet");
  CLI::Option* reset = AddField(*command, "--reset", *request, "Back to what its configuration has");
  AddField(*command, "--minimum", *request, "Jobs that are kept without work, too")->excludes(reset);
  AddField(*command, "--maximum", *request, "Most jobs in the queue and running")->excludes(reset);
  OnUse(*command, session, [&session, request]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::ScaleFleetResponse response,
                     session.CallOnce(&SweepStub::ScaleFleet, *request));
    session.Report(response,
                   absl::StrCat("the fleet has ", response.minimum(), " to ", response.maximum(), " jobs"));
    return absl::OkStatus();
  });
}

void AddFleetStop(CLI::App& fleet, Session& session) {
  auto request = std::make_shared<v1::StopFleetRequest>();
  CLI::App* command = fleet.add_subcommand("stop", "Submit no more jobs, and end those that are there");
  CLI::Option* ends = AddField(*command, "--resume", *request, "End the stop");
  AddField(*command, "--now", *request,
           "Running attempts write a checkpoint and yield; without it they run to their ends")
      ->excludes(ends);
  OnUse(*command, session, [&session, request]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::StopFleetResponse response, session.CallOnce(&SweepStub::StopFleet, *request));
    if (request->resume()) {
      session.Report(response, response.changed() ? "the fleet runs again" : "the fleet was not stopped");
      return absl::OkStatus();
    }
    session.Report(response,
                   absl::StrCat("the fleet ", response.changed() ? "is" : "was", " stopped",
                                response.changed() ? "" : " already", ": ", response.queued(),
                                " queued jobs are taken back, ", response.running(), " running ones end"));
    return absl::OkStatus();
  });
}

}  // namespace

void AddFleetCommand(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "fleet", "Workers as jobs of Slurm, as many as there is work for: slurm, status, scale, stop");
  command->require_subcommand(1);
  AddFleetSlurm(*command, session);
  CLI::App* status =
      command->add_subcommand("status", "Show the jobs of the fleet, and what keeps it from having more");
  OnUse(*status, session, [&session]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::FleetStatus fleet,
                     session.Call(&SweepStub::ListFleet, v1::ListFleetRequest()));
    PrintFleet(session, fleet);
    return absl::OkStatus();
  });
  AddFleetScale(*command, session);
  AddFleetStop(*command, session);
}

}  // namespace inlier
