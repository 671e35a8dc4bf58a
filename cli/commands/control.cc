// inlier cancel, retry, pause, resume, drain: control of running sweeps and workers.
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"

namespace inlier {
namespace {

// "t-17" is a trial; any other name is a sweep.
bool NamesTrial(const std::string& name) { return absl::StartsWith(name, "t-"); }

template <typename Request>
Request MakeRequest(const std::string& name) {
  Request request;
  if (NamesTrial(name)) {
    request.set_trial(name);
  } else {
    request.set_sweep(name);
  }
  return request;
}

void Report(Session& session, const google::protobuf::Message& response, const std::string& text) {
  if (session.mode() == OutputMode::kJson) {
    PrintExact(ToJson(response));
  } else if (session.people()) {
    Print(text + "\n");
  }
}

void Report(Session& session, const google::protobuf::Message& response, uint64_t count,
            const std::string& done) {
  Report(session, response, absl::StrCat(count, count == 1 ? " trial " : " trials ", done));
}

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

// Asks on the terminal. True: yes.
absl::StatusOr<bool> ConfirmCancel(Session& session, const std::string& name) {
  v1::GetSweepRequest get;
  get.set_sweep(name);
  ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.Call(&v1::SweepService::Stub::GetSweep, get));
  const std::uint64_t open = sweep.trials().pending() + sweep.trials().running();
  if (open == 0) return true;
  Print(absl::StrCat("Cancel ", open, open == 1 ? " trial" : " trials", " of ", sweep.sweep_id(), " (",
                     Shown(sweep.name(), Layout::kCell), "), ", sweep.trials().running(),
                     " of them running? [y/N] "));
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// ": none has failed or was cancelled", after a retry that found nothing.
std::string WhyNoRetry(Session& session, const std::string& name) {
  if (NamesTrial(name)) return absl::StrCat(": ", name, " has not failed and was not cancelled");
  v1::GetSweepRequest get;
  get.set_sweep(name);
  const auto sweep = session.Call(&v1::SweepService::Stub::GetSweep, get);
  if (!sweep.ok()) return "";
  const v1::TrialCounts& trials = sweep->trials();
  if (trials.pruned() > 0 && trials.failed() == 0 && trials.cancelled() == trials.pruned())
    return absl::StrCat(": only pruned ones have no result; inlier retry TRIAL runs one to its end");
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
  command->callback([&session, name, yes] {
    if (!*yes && !NamesTrial(*name) && session.people() && StdinIsTerminal() && StdoutIsTerminal()) {
      const absl::StatusOr<bool> confirmed = ConfirmCancel(session, *name);
      if (!confirmed.ok()) return session.Finish(confirmed.status());
      if (!*confirmed) return session.Finish(absl::CancelledError("nothing was cancelled"));
    }
    const auto response =
        session.CallOnce(&v1::SweepService::Stub::Cancel, MakeRequest<v1::CancelRequest>(*name));
    if (!response.ok()) return session.Finish(response.status());
    Report(session, *response, response->cancelled(), "cancelled");
  });
}

void AddRetryCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("retry", "Run failed or cancelled trials again");
  command->add_option("sweep-or-trial", *name, "Sweep id or name, or trial id (t-17)")->required();
  command->callback([&session, name] {
    const auto response =
        session.CallOnce(&v1::SweepService::Stub::Retry, MakeRequest<v1::RetryRequest>(*name));
    if (!response.ok()) return session.Finish(response.status());
    Report(
        session, *response, response->retried(),
        response->retried() > 0 ? "queued again" : absl::StrCat("queued again", WhyNoRetry(session, *name)));
  });
}

void AddPauseCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  auto now = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("pause", "Start no new attempts of a sweep until it is resumed");
  command->add_option("sweep", *name, "Sweep id or name")->required();
  command->add_flag("--now", *now, "Also stop running attempts; they resume from a checkpoint later");
  command->callback([&session, name, now] {
    v1::PauseSweepRequest request;
    request.set_sweep(*name);
    if (*now) request.set_now(true);
    const auto response = session.CallOnce(&v1::SweepService::Stub::PauseSweep, request);
    if (!response.ok()) return session.Finish(response.status());
    Report(session, *response,
           absl::StrCat(*name, response->changed() ? " is paused" : " was paused already",
                        Running(response->running(), response->stopping())));
  });
}

void AddResumeCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("resume", "Resume a paused sweep");
  command->add_option("sweep", *name, "Sweep id or name")->required();
  command->callback([&session, name] {
    v1::ResumeSweepRequest request;
    request.set_sweep(*name);
    const auto response = session.CallOnce(&v1::SweepService::Stub::ResumeSweep, request);
    if (!response.ok()) return session.Finish(response.status());
    Report(session, *response, absl::StrCat(*name, response->changed() ? " is resumed" : " was not paused"));
  });
}

void AddDrainCommand(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  auto resume = std::make_shared<bool>(false);
  auto now = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("drain", "Stop assigning work to a worker; it finishes its attempts");
  command->add_option("worker", *name, "Name or incarnation, see `inlier workers`")->required();
  CLI::Option* ends = command->add_flag("--resume", *resume, "Assign work to it again");
  command->add_flag("--now", *now, "Also stop its attempts; they resume on other workers from a checkpoint")
      ->excludes(ends);
  command->callback([&session, name, resume, now] {
    v1::DrainWorkerRequest request;
    request.set_worker(*name);
    if (*resume) request.set_resume(true);
    if (*now) request.set_now(true);
    const auto response = session.CallOnce(&v1::SweepService::Stub::DrainWorker, request);
    if (!response.ok()) return session.Finish(response.status());
    const char* done = *resume ? response->changed() ? " is available again" : " was not drained"
                       : response->changed() ? " is draining"
                                             : " was draining already";
    Report(session, *response,
           absl::StrCat(*name, done, *resume ? "" : Running(response->running(), response->stopping())));
  });
}

}  // namespace inlier
