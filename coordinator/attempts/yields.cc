#include "coordinator/attempts/yields.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/state/transitions.h"

namespace inlier {

void Preempted(Context& context, const Attempt& attempt, std::string message) {
  State& state = context.state;
  const Attempt ended = attempt;  // A copy: EndAttempt erases it.
  Stage& stage = state.stages.at(ended.stage);
  EndAttempt(context, ended.token, v1::FAILED, v1::PREEMPTED, message, message);
  SetStageState(state, stage, v1::PENDING);
  stage.SetMessage(absl::StrCat("PREEMPTED: ", message));
  CommitStage(context, stage);
  NoticeOfStage(context, stage, "stage_preempted",
                absl::StrCat("attempt ", ended.assignment.attempt(), " PREEMPTED: ", message, "; resumes ",
                             stage.detail().resume_path.empty()
                                 ? std::string("from its beginning")
                                 : absl::StrCat("from step ", stage.detail().resume_step)),
                ended.token);
  UpdateTrialsOf(context, stage);
  RefreshReadiness(context, stage);
}

void EndForgottenYields(Context& context, const WorkerEntry& worker, const v1::WorkerSync& sync) {
  State& state = context.state;
  if (state.deadlines.yields.empty() || sync.events_size() > 0) return;
  std::set<Token> reported;
  for (const v1::AttemptReport& report : sync.attempts()) reported.insert(report.token());
  for (const Token token : state.leases.HeldBy(worker.incarnation)) {
    const Attempt& attempt = state.attempts.at(token);
    if (!attempt.yields.empty() && !reported.contains(token)) Preempted(context, attempt, attempt.yields);
  }
}

void EndOverdueYields(Context& context) {
  State& state = context.state;
  while (!state.deadlines.yields.empty() && state.deadlines.yields.begin()->first <= context.now.at) {
    const Attempt& attempt = state.attempts.at(state.deadlines.yields.begin()->second);
    Preempted(context, attempt, absl::StrCat(attempt.yields, "; it did not stop in time"));
  }
}

}  // namespace inlier
