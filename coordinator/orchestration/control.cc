// Orchestrator: what people say about running things, beside starting and ending them: pause, drain, and
// requests that may come twice.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/deliberate_bug.h"
#include "coordinator/orchestration/orchestrator.h"
#include "proto/spec/did_you_mean.h"

namespace inlier {

absl::Status Orchestrator::CheckRequest(const char* method, const std::string& id,
                                        const google::protobuf::Message& request, std::string& digest) const {
  if (id.size() > kRequestIdBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("request_id may have ", kRequestIdBytesMax, " bytes; a uuid has 36"));
  }
  digest = ContentDigest(request);
  std::string used;
  if (const std::optional<SweepId> sweep = SweepOfRequest(id)) {
    used = absl::StrCat("the submission of sweep ", sweep->ToString());
  } else if (const RequestRow* earlier = requests_.Find(id)) {
    if (earlier->method != method) {
      used = absl::StrCat("another call (", earlier->method, ")");
    } else if (earlier->digest != digest) {
      used = absl::StrCat("a ", method, " with other content");
    }
  }
  if (used.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("request_id ", id, " was used for ", used, "; use a new request_id"));
}

bool Orchestrator::Yield(Context& context, Attempt& attempt, const std::string& why) {
  if (!attempt.yields.empty()) return false;
  attempt.yields = why;
  attempt.yields_until = context.now.at + kYieldTerm;
  yields_due_.emplace(attempt.yields_until, attempt.token);
  context.out.workers.insert(attempt.worker);
  context.out.stopped.insert(attempt.worker);
  if (!INLIER_BUG("yield_not_stored"))
    context.out.changes.Add(AttemptYields{.token = attempt.token, .reason = why});
  context.out.log.push_back(absl::StrCat("attempt_yields trial=", attempt.trial.ToString(),
                                         " stage=", attempt.stage.ToString(), " token=", attempt.token,
                                         " reason=\"", why, "\""));
  return true;
}

void Orchestrator::Preempted(Context& context, const Attempt& attempt, std::string message) {
  const Attempt ended = attempt;  // EndAttempt forgets it, and what it was told.
  Stage& stage = stages_.at(ended.stage);
  if (INLIER_BUG("reason_of_a_yield_forgotten")) message.clear();
  EndAttempt(context, ended.token, v1::FAILED, v1::PREEMPTED, message, message);
  SetStageState(stage, v1::PENDING);
  stage.SetMessage(absl::StrCat("PREEMPTED: ", message));
  if (INLIER_BUG("yield_counted_as_a_loss")) ++stage.edit().failures.losses;
  CommitStage(context, stage);
  NoticeOfStage(context, stage, "stage_preempted",
                absl::StrCat("attempt ", ended.assignment.attempt(), " PREEMPTED: ", message, "; goes on ",
                             stage.detail().resume_path.empty()
                                 ? std::string("from its beginning")
                                 : absl::StrCat("from step ", stage.detail().resume_step)),
                ended.token);
  UpdateTrialsOf(context, stage);
  RefreshReadiness(context, stage);
}

void Orchestrator::EndForgottenYields(Context& context, const WorkerEntry& worker,
                                      const v1::WorkerSync& sync) {
  if (yields_due_.empty() || sync.events_size() > 0) return;
  std::set<Token> reported;
  for (const v1::AttemptReport& report : sync.attempts()) reported.insert(report.token());
  for (const Token token : leases_.HeldBy(worker.incarnation)) {
    const Attempt& attempt = attempts_.at(token);
    if (!attempt.yields.empty() && !reported.contains(token)) Preempted(context, attempt, attempt.yields);
  }
}

void Orchestrator::EndOverdueYields(Context& context) {
  while (!yields_due_.empty() && yields_due_.begin()->first <= context.now.at) {
    const Attempt& attempt = attempts_.at(yields_due_.begin()->second);
    Preempted(context, attempt, absl::StrCat(attempt.yields, "; it did not stop in time"));
  }
}

void Orchestrator::SetPaused(Context& context, Sweep& sweep, bool paused) {
  sweep.paused = paused;
  if (sweep.state == v1::ACTIVE) paused_sweeps_ += paused ? 1 : -1;
  scheduler_.SetRules(sweep.id, RulesOf(sweep));
  if (!INLIER_BUG("pause_not_stored"))
    context.out.changes.Add(SweepChange{.id = sweep.id,
                                        .state = std::nullopt,
                                        .next_point = std::nullopt,
                                        .at = context.now.wall,
                                        .paused = paused});
  context.out.log.push_back(
      absl::StrCat("sweep_", paused ? "paused" : "resumed", " sweep=", sweep.id.ToString()));
  Notice(context, sweep, paused ? "sweep_paused" : "sweep_resumed",
         paused ? "the sweep is paused: nothing new of it is started" : "the sweep goes on");
}

absl::StatusOr<v1::PauseSweepResponse> Orchestrator::Pause(const v1::PauseSweepRequest& request, Moment now,
                                                           Effects& effects) {
  absl::StatusOr<SweepId> id = FindSweep(request.sweep());
  if (!id.ok()) return id.status();
  Context context{now, effects};
  Sweep& sweep = sweeps_.at(*id);
  if (sweep.state != v1::ACTIVE) {
    return absl::FailedPreconditionError(absl::StrCat("sweep ", id->ToString(), " has ended (",
                                                      v1::SweepState_Name(sweep.state),
                                                      "): there is nothing to pause"));
  }
  v1::PauseSweepResponse response;
  response.set_changed(!sweep.paused);
  if (!sweep.paused) SetPaused(context, sweep, true);
  for (auto& [token, attempt] : attempts_) {
    const Stage& stage = stages_.at(attempt.stage);
    if (!stage.IsNeededBy(*id)) continue;
    const auto needers = stage.Needers();
    const bool needed_elsewhere = std::any_of(needers.begin(), needers.end(), [this](const Needer& needer) {
      return !sweeps_.at(needer.sweep).paused;
    });
    if (request.now() && !needed_elsewhere) {
      Yield(context, attempt, absl::StrCat("sweep ", id->ToString(), " is paused"));
      response.set_stopping(response.stopping() + 1);
    } else {
      response.set_running(response.running() + 1);
    }
  }
  Finish(context);
  return response;
}

absl::StatusOr<v1::ResumeSweepResponse> Orchestrator::Resume(const v1::ResumeSweepRequest& request,
                                                             Moment now, Effects& effects) {
  absl::StatusOr<SweepId> id = FindSweep(request.sweep());
  if (!id.ok()) return id.status();
  Context context{now, effects};
  Sweep& sweep = sweeps_.at(*id);
  v1::ResumeSweepResponse response;
  response.set_changed(sweep.paused);
  if (sweep.paused) SetPaused(context, sweep, false);
  Finish(context);
  return response;
}

absl::StatusOr<std::string> Orchestrator::FindWorker(const std::string& name) const {
  if (workers_.Find(name) != nullptr) return name;
  std::vector<std::string> connected, lost, names;
  for (const auto& [incarnation, worker] : workers_.all()) {
    names.push_back(worker.name);
    if (worker.name == name) (worker.connected ? connected : lost).push_back(incarnation);
  }
  const std::vector<std::string>& found = connected.empty() ? lost : connected;
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no worker \"", name, "\"", DidYouMean(name, names),
                                            "; ListWorkers (inlier workers) shows all"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(found.size(), " workers are called ", name,
                   "; name one by its incarnation: ", absl::StrJoin(found, ", ")));
}

absl::StatusOr<v1::DrainWorkerResponse> Orchestrator::Drain(const v1::DrainWorkerRequest& request, Moment now,
                                                            Effects& effects) {
  if (request.resume() && request.now()) {
    return absl::InvalidArgumentError("DrainWorker: resume and now exclude each other; give one of the two");
  }
  const absl::StatusOr<std::string> incarnation = FindWorker(request.worker());
  if (!incarnation.ok()) return incarnation.status();
  Context context{now, effects};
  WorkerEntry& worker = *workers_.Find(*incarnation);
  const bool held = !request.resume();
  v1::DrainWorkerResponse response;
  response.set_incarnation(*incarnation);
  response.set_changed(worker.held != held);
  if (worker.held != held) {
    worker.held = held;
    RefreshOffer(worker);
    CommitWorker(context, worker);
    context.out.log.push_back(absl::StrCat("worker_", held ? "drained" : "resumed", " worker=", worker.name,
                                           " incarnation=", worker.incarnation));
  }
  for (const Token token : leases_.HeldBy(*incarnation)) {
    if (request.now()) {
      Yield(context, attempts_.at(token), absl::StrCat("worker ", worker.name, " is drained"));
      response.set_stopping(response.stopping() + 1);
    } else {
      response.set_running(response.running() + 1);
    }
  }
  Finish(context);
  return response;
}

absl::StatusOr<v1::PauseSweepResponse> Orchestrator::OnPause(const v1::PauseSweepRequest& request, Moment now,
                                                             Effects& effects) {
  return Once<v1::PauseSweepResponse>("PauseSweep", request, now, effects,
                                      [&] { return Pause(request, now, effects); });
}

absl::StatusOr<v1::ResumeSweepResponse> Orchestrator::OnResume(const v1::ResumeSweepRequest& request,
                                                               Moment now, Effects& effects) {
  return Once<v1::ResumeSweepResponse>("ResumeSweep", request, now, effects,
                                       [&] { return Resume(request, now, effects); });
}

absl::StatusOr<v1::DrainWorkerResponse> Orchestrator::OnDrain(const v1::DrainWorkerRequest& request,
                                                              Moment now, Effects& effects) {
  return Once<v1::DrainWorkerResponse>("DrainWorker", request, now, effects,
                                       [&] { return Drain(request, now, effects); });
}

}  // namespace inlier
