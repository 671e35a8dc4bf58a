// inlier cancel, retry, pause, resume, drain: control of running sweeps and workers.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace inlier {
namespace {

std::string Trials(uint64_t count) { return absl::StrCat(count, count == 1 ? " trial" : " trials"); }

// ", 2 attempts run to completion, 1 stops after a checkpoint"
std::string Running(uint64_t running, uint64_t stopping) {
  std::string text;
  if (running > 0)
    absl::StrAppend(&text, ", ", running,
                    running == 1 ? " attempt runs to completion" : " attempts run to completion");
  if (stopping > 0)
    absl::StrAppend(
        &text, ", ", stopping,
        stopping == 1 ? " attempt stops after a checkpoint" : " attempts stop after a checkpoint");
  return text;
}

// Asks on the terminal; Cancelled unless the user agrees.
absl::Status ConfirmCancel(Session& session, const std::string& name) {
  ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.GetSweep(name));
  const std::uint64_t open = sweep.trials().pending() + sweep.trials().running();
  if (open == 0) return absl::OkStatus();
  const bool agrees = Agrees(absl::StrCat("Cancel ", Trials(open), " of ", sweep.sweep_id(), " (",
                                          Shown(sweep.name(), Layout::kCell), "), ", sweep.trials().running(),
                                          " of them running?"));
  return agrees ? absl::OkStatus() : absl::CancelledError("nothing was cancelled");
}

// ": none has failed or was cancelled", after a retry that found nothing.
std::string WhyNoRetry(Session& session, const std::string& name) {
  if (NamesTrial(name)) return absl::StrCat(": ", name, " has not failed and was not cancelled");
  const auto sweep = session.GetSweep(name);
  if (!sweep.ok()) return "";
  const v1::TrialCounts& trials = sweep->trials();
  if (trials.pruned() > 0 && trials.failed() == 0 && trials.cancelled() == trials.pruned())
    return ": only pruned ones have no result; inlier retry TRIAL runs one to its end";
  return absl::StrCat(": none has failed or was cancelled (", trials.succeeded() + trials.diverged(),
                      " with a result, ", trials.pending() + trials.running(), " waiting or running)");
}

}  // namespace

void AddCancelCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  auto yes = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("cancel", "Cancel a sweep or one trial; running attempts are stopped");
  command->add_option("sweep-or-trial", *name, "Sweep id or name, or trial id (t-17)")->required();
  command->add_flag("--yes,-y", *yes, "Do not ask; on a terminal, cancelling a whole sweep asks first");
  OnUse(*command, session, [&session, name, yes]() -> absl::Status {
    if (!*yes && !NamesTrial(*name) && session.people() && StdinIsTerminal() && StdoutIsTerminal())
      RETURN_IF_ERROR(ConfirmCancel(session, *name));
    ASSIGN_OR_RETURN(const v1::CancelResponse response,
                     session.CallOnce(&SweepStub::Cancel, RequestAbout<v1::CancelRequest>(*name)));
    session.Report(response, absl::StrCat(Trials(response.cancelled()), " cancelled"));
    return absl::OkStatus();
  });
}

void AddRetryCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("retry", "Run failed or cancelled trials again");
  command->add_option("sweep-or-trial", *name, "Sweep id or name, or trial id (t-17)")->required();
  OnUse(*command, session, [&session, name]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::RetryResponse response,
                     session.CallOnce(&SweepStub::Retry, RequestAbout<v1::RetryRequest>(*name)));
    session.Report(response, absl::StrCat(Trials(response.retried()), " queued again",
                                          response.retried() > 0 ? "" : WhyNoRetry(session, *name)));
    return absl::OkStatus();
  });
}

void AddPauseCommand(CLI::App& app, Session& session) {
  auto request = std::make_shared<v1::PauseSweepRequest>();
  CLI::App* command = app.add_subcommand("pause", "Start no new attempts of a sweep until it is resumed");
  AddField(*command, "sweep", *request, "Sweep id or name")->required();
  AddField(*command, "--now", *request, "Also stop running attempts; they resume from a checkpoint later");
  OnUse(*command, session, [&session, request]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::PauseSweepResponse response,
                     session.CallOnce(&SweepStub::PauseSweep, *request));
    session.Report(response,
                   absl::StrCat(request->sweep(), response.changed() ? " is paused" : " was paused already",
                                Running(response.running(), response.stopping())));
    return absl::OkStatus();
  });
}

void AddResumeCommand(CLI::App& app, Session& session) {
  auto request = std::make_shared<v1::ResumeSweepRequest>();
  CLI::App* command = app.add_subcommand("resume", "Resume a paused sweep");
  AddField(*command, "sweep", *request, "Sweep id or name")->required();
  OnUse(*command, session, [&session, request]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::ResumeSweepResponse response,
                     session.CallOnce(&SweepStub::ResumeSweep, *request));
    session.Report(response, request->sweep() + (response.changed() ? " is resumed" : " was not paused"));
    return absl::OkStatus();
  });
}

void AddDrainCommand(CLI::App& app, Session& session) {
  auto request = std::make_shared<v1::DrainWorkerRequest>();
  CLI::App* command =
      app.add_subcommand("drain", "Stop assigning work to a worker; it finishes its attempts");
  AddField(*command, "worker", *request, "Name or incarnation, see `inlier workers`")->required();
  CLI::Option* ends = AddField(*command, "--resume", *request, "Assign work to it again");
  AddField(*command, "--now", *request,
           "Also stop its attempts; they resume on other workers from a checkpoint")
      ->excludes(ends);
  OnUse(*command, session, [&session, request]() -> absl::Status {
    ASSIGN_OR_RETURN(const v1::DrainWorkerResponse response,
                     session.CallOnce(&SweepStub::DrainWorker, *request));
    const bool resume = request->resume(), changed = response.changed();
    const char* done = resume    ? changed ? " is available again" : " was not drained"
                       : changed ? " is draining"
                                 : " was draining already";
    session.Report(response, absl::StrCat(request->worker(), done,
                                          resume ? "" : Running(response.running(), response.stopping())));
    return absl::OkStatus();
  });
}

}  // namespace inlier
