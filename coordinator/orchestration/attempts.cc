// Orchestrator: leases, and how attempts end.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/orchestration/orchestrator.h"
#include "coordinator/orchestration/retry_policy.h"

namespace inlier {
namespace {

int KindIndex(v1::StageKind kind) { return kind == v1::TRAIN_STAGE ? 0 : 1; }

int OutcomeIndex(v1::TrialState outcome) {
  switch (outcome) {
    case v1::SUCCEEDED:
      return 0;
    case v1::DIVERGED:
      return 1;
    case v1::FAILED:
      return 2;
    default:
      return 3;
  }
}

const char* KindName(v1::StageKind kind) { return kind == v1::TRAIN_STAGE ? "train" : "evaluate"; }

}  // namespace

void Orchestrator::SetResume(const Stage& stage, v1::Assignment& assignment) {
  const StageDetail& detail = stage.detail();
  if (detail.resume_path.empty()) return;
  assignment.set_resume_path(detail.resume_path);
  assignment.set_resume_step(detail.resume_step);
  if (!detail.resume_sha256.empty()) assignment.set_resume_sha256(detail.resume_sha256);
}

void Orchestrator::Grant(Context& context, WorkerEntry& worker, std::uint32_t slot, Scheduler::Pick pick) {
  Stage& stage = stages_.at(pick.stage);
  INLIER_CHECK(stage.live() == 0 && IsReady(stage));
  const bool has_room = scheduler_.HasRoom(pick.sweep) || INLIER_BUG("max_parallel_off_by_one");
  INLIER_CHECK(has_room);
  INLIER_CHECK(!sweeps_.at(pick.sweep).paused);
  const Token token = INLIER_BUG("token_does_not_grow") && next_token_ > 1 ? next_token_ - 1 : next_token_++;
  if (!INLIER_BUG("attempt_not_counted")) ++stage.attempts;
  stage.edit().live = token;
  context.out.lease_wait_seconds.push_back(
      ToSeconds(context.now.at - scheduler_.ReadySince(pick.sweep, pick.stage)));

  Attempt& attempt = attempts_[token];
  attempt.token = token;
  attempt.stage = stage.id;
  attempt.sweep = pick.sweep;
  attempt.trial = stage.FirstNeederOf(pick.sweep).value();
  attempt.worker = worker.incarnation;
  attempt.request = RequestFor(sweeps_.at(pick.sweep), stage);
  const bool fits = worker.resources.Fits(slot, attempt.request) || INLIER_BUG("resources_ignored");
  INLIER_CHECK(fits);
  worker.resources.Take(token, slot, attempt.request);
  attempt.started = context.now.at;
  attempt.progressed = context.now.at;
  attempt.saved = context.now.at;
  by_progress_.emplace(attempt.progressed, token);

  v1::Assignment& assignment = attempt.assignment;
  assignment.set_token(token);
  assignment.set_stage_id(stage.id.ToString());
  assignment.set_kind(stage.kind);
  assignment.set_slot(slot);
  assignment.set_attempt(stage.attempts);
  if (stage.kind == v1::EVALUATE_STAGE) {
    const Trained* trained = trained_.Find(stage.train());
    INLIER_CHECK(trained != nullptr);
    assignment.set_checkpoint_sha256(HexOf(trained->checkpoint));
  } else {
    SetResume(stage, assignment);
  }

  leases_.Grant(token, worker.incarnation, slot, context.now.at);
  if (!INLIER_BUG("capacity_not_taken")) scheduler_.Started(pick.sweep);
  context.out.workers.insert(worker.incarnation);
  if (!INLIER_BUG("lease_not_stored"))
    context.out.changes.Add(AttemptStarted{.token = token,
                                           .stage = stage.id,
                                           .number = stage.attempts,
                                           .worker = worker.incarnation,
                                           .slot = slot,
                                           .resume_step = assignment.resume_step(),
                                           .at = context.now.wall,
                                           .sweep = pick.sweep});
  if (attempt.request != ResourceRequest() && !INLIER_BUG("request_not_stored"))
    context.out.changes.Add(AttemptRequest{.token = token, .request = attempt.request});
  SetStageState(stage, v1::RUNNING);
  RefreshReadiness(context, stage);
  UpdateTrialsOf(context, stage);
  Touch(stage);
  ++stats_.attempts_started[KindIndex(stage.kind)];
  context.out.log.push_back(
      absl::StrCat("lease_granted trial=", attempt.trial.ToString(), " stage=", stage.id.ToString(),
                   " kind=", KindName(stage.kind), " attempt=", stage.attempts, " token=", token,
                   " worker=", worker.name, " slot=", slot, " resume_step=", assignment.resume_step()));
}

void Orchestrator::EndAttempt(Context& context, Token token, v1::TrialState outcome,
                              std::optional<v1::FailureClass> failure, const std::string& message,
                              const std::string& stop_reason) {
  const auto at = attempts_.find(token);
  INLIER_CHECK(at != attempts_.end());
  const Attempt& attempt = at->second;
  Stage& stage = stages_.at(attempt.stage);
  INLIER_CHECK(stage.live() == token);
  Touch(stage);
  stage.edit().live = 0;
  if (leases_.Find(token) != nullptr && !INLIER_BUG("lease_outlives_attempt"))
    leases_.End(token);  // An expired lease is gone already.
  if (!INLIER_BUG("capacity_never_freed")) scheduler_.Ended(attempt.sweep);
  if (INLIER_BUG("capacity_freed_twice")) scheduler_.Ended(attempt.sweep);
  by_progress_.erase({attempt.progressed, token});
  yields_due_.erase({attempt.yields_until, token});
  context.out.workers.insert(attempt.worker);
  if (WorkerEntry* worker = workers_.Find(attempt.worker)) {
    worker->stop_reasons[token] = stop_reason;
    if (worker->listening) context.out.stopped.insert(attempt.worker);
    if (!INLIER_BUG("resources_never_freed")) ReleaseResources(attempt, *worker);
    RefreshOffer(*worker);
  }
  context.out.changes.Add(AttemptEnded{
      .token = token, .outcome = outcome, .failure = failure, .message = message, .at = context.now.wall});
  if (outcome == v1::SUCCEEDED || outcome == v1::DIVERGED) raised_.erase(stage.id);
  ++stats_.attempts_ended[KindIndex(stage.kind)][OutcomeIndex(outcome)];
  if (failure) ++stats_.failures[*failure];
  context.out.log.push_back(
      absl::StrCat("attempt_ended trial=", attempt.trial.ToString(), " stage=", stage.id.ToString(),
                   " token=", token, " outcome=", v1::TrialState_Name(outcome),
                   failure ? absl::StrCat(" failure=", v1::FailureClass_Name(*failure)) : "",
                   message.empty() ? "" : absl::StrCat(" message=\"", message, "\"")));
  attempts_.erase(at);
}

v1::RetrySpec Orchestrator::PolicyOf(const Stage& stage) const {
  v1::RetrySpec policy;
  bool first = true;
  for (const Needer& needer : stage.Needers()) {
    const SweepView sweep = sweeps_.View(needer.sweep);
    const v1::RetrySpec& retry = sweep->spec.retry();
    policy.set_max_crashes(first ? retry.max_crashes() : std::max(policy.max_crashes(), retry.max_crashes()));
    policy.set_max_out_of_memory(first ? retry.max_out_of_memory()
                                       : std::max(policy.max_out_of_memory(), retry.max_out_of_memory()));
    policy.set_max_losses(first ? retry.max_losses() : std::max(policy.max_losses(), retry.max_losses()));
    first = false;
  }
  return policy;
}

void Orchestrator::AttemptFailed(Context& context, Stage& stage, const Attempt& attempt,
                                 v1::FailureClass failure, const std::string& message) {
  if (!INLIER_BUG("failure_not_counted")) CountFailure(failure, stage.edit().failures);
  const RetryDecision decision = DecideRetry(failure, stage.detail().failures, PolicyOf(stage));
  const std::string what =
      absl::StrCat(v1::FailureClass_Name(failure), message.empty() ? "" : absl::StrCat(": ", message));
  const std::string no_more =
      decision.again && failure == v1::OUT_OF_MEMORY ? RaiseMemory(context, stage, attempt) : std::string();
  if (!decision.again || !no_more.empty()) {
    FailStage(context, stage, absl::StrCat(what, "; ", decision.again ? no_more : decision.why_not));
    return;
  }
  ++stats_.retries;
  SetStageState(stage, v1::PENDING);
  stage.edit().holder = 0;  // Nothing is better there.
  stage.SetMessage(what);
  if (decision.wait > Duration::zero()) {
    stage.edit().not_before = context.now.at + decision.wait;
    retries_due_.emplace(*stage.detail().not_before, stage.id);
  }
  if (!INLIER_BUG("retry_counts_not_stored")) CommitStage(context, stage);
  std::string next = decision.wait > Duration::zero()
                         ? absl::StrCat("tried again in ", FormatDuration(decision.wait))
                         : std::string("tried again");
  if (!stage.detail().resume_path.empty()) absl::StrAppend(&next, ", from step ", stage.detail().resume_step);
  if (const auto raised = raised_.find(stage.id); failure == v1::OUT_OF_MEMORY && raised != raised_.end()) {
    absl::StrAppend(&next, ", with ",
                    RequestText({.memory_mib = raised->second.memory_mib,
                                 .gpu_memory_mib = raised->second.gpu_memory_mib}));
  }
  NoticeOfStage(context, stage, "stage_retried",
                absl::StrCat("attempt ", attempt.assignment.attempt(), " ", what, "; ", next), attempt.token);
  UpdateTrialsOf(context, stage);
  RefreshReadiness(context, stage);
}

void Orchestrator::NoteProgress(Context& context, Attempt& attempt) {
  by_progress_.erase({attempt.progressed, attempt.token});
  attempt.progressed = context.now.at;
  by_progress_.emplace(attempt.progressed, attempt.token);
}

void Orchestrator::Tick(Moment now, Effects& effects) {
  Context context{now, effects};
  for (const Lease& lease : leases_.Expire(now.at)) {
    const auto at = attempts_.find(lease.token);
    if (at == attempts_.end()) continue;  // Ended as a consequence of one before it.
    const Attempt attempt = at->second;
    Stage& stage = stages_.at(attempt.stage);
    const WorkerEntry* worker = workers_.Find(lease.worker);
    const std::string message =
        absl::StrCat("worker ", worker ? worker->name : lease.worker, " has been silent for ",
                     FormatDuration(options_.lease_ttl + options_.lease_margin));
    ++stats_.leases_expired;
    EndAttempt(context, lease.token, v1::FAILED, v1::LOST, message, "fenced: the lease ran out");
    if (!INLIER_BUG("lost_stage_never_ready")) AttemptFailed(context, stage, attempt, v1::LOST, message);
  }
  for (WorkerEntry* worker : workers_.Expire(now.at)) {
    worker->listening = false;
    RefreshOffer(*worker);
    ReleaseGone(*worker, nullptr);
    effects.log.push_back(
        absl::StrCat("worker_lost worker=", worker->name, " incarnation=", worker->incarnation));
    CommitWorker(context, *worker);
  }
  workers_.Forget(now.at,
                  [this](const std::string& incarnation) { return !leases_.HeldBy(incarnation).empty(); });
  while (!by_progress_.empty() && by_progress_.begin()->first + options_.stall <= now.at) {
    const Attempt attempt = attempts_.at(by_progress_.begin()->second);
    const std::string message = absl::StrCat("no progress for ", FormatDuration(options_.stall),
                                             " (stall_seconds) though its worker answers");
    EndAttempt(context, attempt.token, v1::FAILED, v1::STALLED, message, "stalled");
    AttemptFailed(context, stages_.at(attempt.stage), attempt, v1::STALLED, message);
  }
  EndOverdueYields(context);
  EndHolderWaits(context);
  while (!retries_due_.empty() && retries_due_.begin()->first <= now.at) {
    Stage& stage = stages_.at(retries_due_.begin()->second);
    ForgetRetry(stage);
    RefreshReadiness(context, stage);
  }
  PreemptForWaiting(context);
  Finish(context);
  std::uint64_t budget = options_.expand_per_tick;
  for (auto at = expanding_.begin(); at != expanding_.end() && budget > 0;) {
    Sweep& sweep = sweeps_.at(*at++);  // Expand may erase it.
    if (!WantsTrials(sweep)) continue;
    const std::uint64_t before = sweep.trials.size();
    // At most as many as it has: the answer to who submitted it is still on its way when the first are made.
    Expand(context, sweep, std::min(budget, std::max<std::uint64_t>(options_.expand_first, before)));
    budget -= std::min<std::uint64_t>(budget, sweep.trials.size() - before);
  }
  Finish(context);
}

std::optional<Timestamp> Orchestrator::NextDeadline() const {
  std::optional<Timestamp> next = leases_.NextDeadline();
  const auto consider = [&next](std::optional<Timestamp> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  consider(workers_.NextDeadline());
  if (!by_progress_.empty()) consider(by_progress_.begin()->first + options_.stall);
  if (!retries_due_.empty()) consider(retries_due_.begin()->first);
  if (!yields_due_.empty()) consider(yields_due_.begin()->first);
  if (!holder_waits_due_.empty()) consider(holder_waits_due_.begin()->first);
  consider(PreemptionDue());
  for (const SweepId sweep : expanding_) {
    if (WantsTrials(*sweeps_.View(sweep))) {
      consider(Timestamp{});
      break;
    }
  }
  return next;
}

}  // namespace inlier
