// inlier fleet: workers as jobs of Slurm, as many as there is work for.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/commands.h"
#include "spec/schema/overrides.h"

namespace inlier {
namespace {

struct SlurmFlags {
  v1::FleetConfig config;
  std::string partition, account, qos, gres, constraint, worker_config;
  std::uint32_t time_limit = 0, minimum = 0, maximum = 0, idle = 0, nodes = 0;
  std::vector<std::string> overrides;
};

// "queued" for FLEET_JOB_QUEUED.
std::string FleetStateWord(v1::FleetJobState state) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::FleetJobState_Name(state), "FLEET_JOB_"));
}

void ReportFleet(Session& session, const google::protobuf::Message& response, const std::string& text) {
  if (session.mode() == OutputMode::kJson) {
    PrintExact(ToJson(response));
  } else if (session.people()) {
    Print(text + "\n");
  }
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

void ShowFleet(Session& session) {
  const auto fleet = session.Call(&v1::SweepService::Stub::ListFleet, v1::ListFleetRequest());
  if (!fleet.ok()) return session.Finish(fleet.status());
  if (session.mode() == OutputMode::kJson) return PrintExact(ToJson(*fleet));
  if (!fleet->configured())
    return Print(session.people() ? "No fleet. Make one with inlier fleet slurm, or with `fleet` in the "
                                    "coordinator's configuration.\n"
                                  : "");
  Print(FleetHeading(*fleet) + "\n");
  for (const std::string& reason : fleet->reasons()) Print(absl::StrCat("  ", reason, "\n"));
  TextTable table({"job", "name", "state", "node", "worker", "attempts", "ends in", "reason"});
  for (const v1::FleetJob& job : fleet->jobs()) {
    table.AddRow({job.job(), job.name(), FleetStateWord(job.state()), job.node(), job.worker(),
                  job.has_attempts() ? absl::StrCat(job.attempts()) : "",
                  job.has_seconds_left() ? FleetSeconds(job.seconds_left()) : "", job.reason()});
  }
  if (!table.empty()) Print(table.ToString());
}

absl::Status FillFleet(SlurmFlags& flags) {
  v1::FleetConfig& config = flags.config;
  v1::SlurmConfig& slurm = *config.mutable_slurm();
  if (!flags.partition.empty()) slurm.set_partition(flags.partition);
  if (!flags.account.empty()) slurm.set_account(flags.account);
  if (!flags.qos.empty()) slurm.set_qos(flags.qos);
  if (!flags.gres.empty()) slurm.set_gres(flags.gres);
  if (!flags.constraint.empty()) slurm.set_constraint(flags.constraint);
  if (flags.nodes > 0) slurm.set_nodes(flags.nodes);
  slurm.set_time_limit_minutes(flags.time_limit);
  config.set_worker_config(flags.worker_config);
  config.set_maximum(flags.maximum);
  if (flags.minimum > 0) config.set_minimum(flags.minimum);
  if (flags.idle > 0) config.set_idle_seconds(flags.idle);
  return ApplyOverrides(&config, flags.overrides);
}

void AddFleetSlurm(CLI::App& fleet, Session& session) {
  auto flags = std::make_shared<SlurmFlags>();
  CLI::App* command = fleet.add_subcommand(
      "slurm", "Have the coordinator keep as many worker jobs in Slurm's queue as there is work for");
  command
      ->add_option("--worker-config", flags->worker_config,
                   "Configuration of the workers, an absolute path on the nodes")
      ->required();
  command->add_option("--maximum", flags->maximum, "Most jobs in the queue and running")->required();
  command->add_option("--time-limit", flags->time_limit, "Of each job, in minutes")->required();
  command->add_option("--minimum", flags->minimum, "Jobs that are kept without work, too; default: 0");
  command->add_option("--idle", flags->idle,
                      "Seconds without an attempt after which a job is given back; default: 120");
  command->add_option("--partition", flags->partition, "One, or several with commas between them");
  command->add_option("--account", flags->account, "Account of the jobs");
  command->add_option("--qos", flags->qos, "Quality of service of the jobs");
  command->add_option("--nodes", flags->nodes,
                      "Nodes of each job, all of whose slots its worker has; default: 1");
  command->add_option("--gres", flags->gres, "Generic resources of each job, for example gpu:1");
  command->add_option("--constraint", flags->constraint, "Features of the nodes");
  command->add_option("--set", flags->overrides,
                      "Any other key of `fleet` of the coordinator's configuration, for example "
                      "slurm.cpus=4; may be repeated");
  command->callback([&session, flags] {
    if (const absl::Status filled = FillFleet(*flags); !filled.ok()) return session.Finish(filled);
    v1::SetFleetRequest request;
    *request.mutable_config() = flags->config;
    const auto response = session.CallOnce(&v1::SweepService::Stub::SetFleet, request);
    if (!response.ok()) return session.Finish(response.status());
    ReportFleet(session, *response,
                absl::StrCat("fleet ", response->id(), ": up to ", flags->config.maximum(),
                             " jobs, as there is work for them; inlier fleet status shows them"));
  });
}

void AddFleetScale(CLI::App& fleet, Session& session) {
  auto request = std::make_shared<v1::ScaleFleetRequest>();
  CLI::App* command = fleet.add_subcommand("scale", "Change the minimum and the maximum of the fleet");
  const auto number = [command](const char* name, auto set, const char* help) {
    return command->add_option_function<std::uint32_t>(name, set, help);
  };
  CLI::Option* reset = command->add_flag_callback(
      "--reset", [request] { request->set_reset(true); }, "Back to what its configuration has");
  number(
      "--minimum", [request](std::uint32_t value) { request->set_minimum(value); },
      "Jobs that are kept without work, too")
      ->excludes(reset);
  number(
      "--maximum", [request](std::uint32_t value) { request->set_maximum(value); },
      "Most jobs in the queue and running")
      ->excludes(reset);
  command->callback([&session, request] {
    const auto response = session.CallOnce(&v1::SweepService::Stub::ScaleFleet, *request);
    if (!response.ok()) return session.Finish(response.status());
    ReportFleet(session, *response,
                absl::StrCat("the fleet has ", response->minimum(), " to ", response->maximum(), " jobs"));
  });
}

void AddFleetStop(CLI::App& fleet, Session& session) {
  auto now = std::make_shared<bool>(false);
  auto resume = std::make_shared<bool>(false);
  CLI::App* command = fleet.add_subcommand("stop", "Submit no more jobs, and end those that are there");
  CLI::Option* ends = command->add_flag("--resume", *resume, "End the stop");
  command
      ->add_flag("--now", *now,
                 "Running attempts write a checkpoint and yield; without it they run to their ends")
      ->excludes(ends);
  command->callback([&session, now, resume] {
    v1::StopFleetRequest request;
    if (*now) request.set_now(true);
    if (*resume) request.set_resume(true);
    const auto response = session.CallOnce(&v1::SweepService::Stub::StopFleet, request);
    if (!response.ok()) return session.Finish(response.status());
    const char* done = *resume ? response->changed() ? "the fleet runs again" : "the fleet was not stopped"
                       : response->changed() ? "the fleet is stopped"
                                             : "the fleet was stopped already";
    ReportFleet(session, *response,
                *resume ? std::string(done)
                        : absl::StrCat(done, ": ", response->queued(), " queued jobs are taken back, ",
                                       response->running(), " running ones end"));
  });
}

}  // namespace

void AddFleetCommand(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "fleet", "Workers as jobs of Slurm, as many as there is work for: slurm, status, scale, stop");
  command->require_subcommand(1);
  AddFleetSlurm(*command, session);
  command->add_subcommand("status", "Show the jobs of the fleet, and what keeps it from having more")
      ->callback([&session] { ShowFleet(session); });
  AddFleetScale(*command, session);
  AddFleetStop(*command, session);
}

}  // namespace inlier
