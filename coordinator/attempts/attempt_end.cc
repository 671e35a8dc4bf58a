#include "coordinator/attempts/attempt_end.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/time.h"
#include "coordinator/attempts/retry_policy.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/scheduling/live_attempts.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/state/transitions.h"

namespace inlier {
namespace {

int OutcomeIndex(v1::TrialState outcome, std::optional<v1::FailureClass> failure) {
  if (failure == v1::PREEMPTED) return 4;
  return outcome == v1::SUCCEEDED ? 0 : outcome == v1::DIVERGED ? 1 : outcome == v1::FAILED ? 2 : 3;
}

// The most patient of all sweeps that need the stage.
v1::RetrySpec PolicyOf(const State& state, const Stage& stage) {
  INLIER_CHECK(!stage.Dependents().empty());
  std::uint32_t crashes = 0, out_of_memory = 0, losses = 0;
  for (const Dependent& dependent : stage.Dependents()) {
    const v1::RetrySpec& retry = state.sweeps.at(dependent.sweep).spec.retry();
    crashes = std::max(crashes, retry.max_crashes());
    out_of_memory = std::max(out_of_memory, retry.max_out_of_memory());
    losses = std::max(losses, retry.max_losses());
  }
  v1::RetrySpec policy;
  policy.set_max_crashes(crashes);
  policy.set_max_out_of_memory(out_of_memory);
  policy.set_max_losses(losses);
  return policy;
}

}  // namespace

void EndAttempt(Context& context, Token token, v1::TrialState outcome,
                std::optional<v1::FailureClass> failure, const std::string& message,
                const std::string& stop_reason) {
  State& state = context.state;
  const auto at = state.attempts.find(token);
  INLIER_CHECK(at != state.attempts.end());
  const Attempt& attempt = at->second;
  const Stage& stage = state.stages.at(attempt.stage);
  Touch(state, stage);
  context.out.workers.insert(attempt.worker);
  if (WorkerEntry* worker = state.workers.Find(attempt.worker)) {
    worker->stop_reasons[token] = stop_reason;
    if (worker->listening) context.out.stopped.insert(attempt.worker);
  }
  // The clock on the wall may have been set in between.
  const auto ran =
      std::chrono::duration_cast<std::chrono::milliseconds>(RunningTime(attempt, context.now.at));
  context.out.changes.Add(AttemptEnded{.token = token,
                                       .outcome = outcome,
                                       .failure = failure,
                                       .message = message,
                                       .at = {attempt.times.leased.unix_ms + ran.count()}});
  ++state.stats.attempts_ended[KindIndex(stage.kind)][OutcomeIndex(outcome, failure)];
  if (failure) ++state.stats.failures[*failure];
  const bool preempted = failure == v1::PREEMPTED;
  context.Log("attempt_ended trial=", attempt.trial.ToString(), " stage=", stage.id.ToString(),
              " token=", token,
              " outcome=", preempted ? v1::FailureClass_Name(*failure) : v1::TrialState_Name(outcome),
              failure && !preempted ? absl::StrCat(" failure=", v1::FailureClass_Name(*failure)) : "",
              message.empty() ? "" : absl::StrCat(" message=\"", message, "\""));
  ForgetAttempt(context, token, {outcome, failure});
}

void AttemptFailed(Context& context, Stage& stage, const Attempt& attempt, v1::FailureClass failure,
                   const std::string& message) {
  State& state = context.state;
  const StageFailures before = stage.detail().failures;
  const RetryDecision decision = CountFailure(failure, PolicyOf(state, stage), stage.edit().failures);
  if (INLIER_BUG("failure_not_counted")) stage.edit().failures = before;  // The next one counts from it.
  const std::string what =
      absl::StrCat(v1::FailureClass_Name(failure), message.empty() ? "" : absl::StrCat(": ", message));
  const std::string no_more =
      decision.again && failure == v1::OUT_OF_MEMORY ? RaiseMemory(context, stage, attempt) : std::string();
  if (!decision.again || !no_more.empty()) {
    FailStage(context, stage, absl::StrCat(what, "; ", decision.again ? no_more : decision.why_not));
    return;
  }
  ++state.stats.retries;
  SetStageState(state, stage, v1::PENDING);
  stage.edit().holder = 0;  // Nothing is better there.
  stage.SetMessage(what);
  if (decision.wait > Duration::zero()) {
    stage.edit().not_before = context.now.at + decision.wait;
    state.deadlines.retries.emplace(*stage.detail().not_before, stage.id);
  }
  CommitStage(context, stage);
  std::string next = decision.wait > Duration::zero()
                         ? absl::StrCat("tried again in ", FormatDuration(decision.wait))
                         : std::string("tried again");
  if (!stage.detail().resume_points.empty()) absl::StrAppend(&next, ", ", stage.detail().ResumeText(""));
  if (const auto raised = state.raised_memory.find(stage.id);
      failure == v1::OUT_OF_MEMORY && raised != state.raised_memory.end()) {
    absl::StrAppend(&next, ", with ",
                    RequestText({.memory_mib = raised->second.memory_mib,
                                 .gpu_memory_mib = raised->second.gpu_memory_mib}));
  }
  NoticeOfStage(context, stage, "stage_retried",
                absl::StrCat("attempt ", attempt.assignment.attempt(), " ", what, "; ", next), attempt.token);
  UpdateTrialsOf(context, stage);
  RefreshReadiness(context, stage);
  ForEachFeature(&Feature::stage_waits, context, stage);
}

void Yielded(Context& context, const Attempt& attempt, std::string message) {
  State& state = context.state;
  const Attempt ended = attempt;  // A copy: EndAttempt erases it.
  Stage& stage = state.stages.at(ended.stage);
  if (ended.yield.timed_out) {
    EndAttempt(context, ended.token, v1::FAILED, v1::TIMED_OUT, message, message);
    AttemptFailed(context, stage, ended, v1::TIMED_OUT, message);
    return;
  }
  EndAttempt(context, ended.token, v1::FAILED, v1::PREEMPTED, message, message);
  SetStageState(state, stage, v1::PENDING);
  stage.SetMessage(absl::StrCat("PREEMPTED: ", message));
  CommitStage(context, stage);
  NoticeOfStage(context, stage, "stage_preempted",
                absl::StrCat("attempt ", ended.assignment.attempt(), " PREEMPTED: ", message, "; resumes ",
                             stage.detail().ResumeText("from its beginning")),
                ended.token);
  UpdateTrialsOf(context, stage);
  RefreshReadiness(context, stage);
  ForEachFeature(&Feature::stage_waits, context, stage);
}

void EndForgottenYields(Context& context, const WorkerEntry& worker, const v1::WorkerSync& sync) {
  State& state = context.state;
  if (state.deadlines.yields.empty() || sync.events_size() > 0) return;
  std::set<Token> reported;
  for (const v1::AttemptReport& report : sync.attempts()) reported.insert(report.token());
  for (const Token token : state.leases.HeldBy(worker.incarnation)) {
    const Attempt& attempt = state.attempts.at(token);
    if (!attempt.yield.why.empty() && !reported.contains(token)) Yielded(context, attempt, attempt.yield.why);
  }
}

}  // namespace inlier
