#include "coordinator/scheduling/live_attempts.h"

#include <utility>

#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/scheduling/placement.h"

namespace inlier {

Attempt& BeginAttempt(Context& context, Attempt made, const std::vector<std::uint32_t>& slots,
                      Timestamp leased) {
  State& state = context.state;
  Stage& stage = state.stages.at(made.stage);
  INLIER_CHECK(stage.live() == 0 && !slots.empty());
  stage.edit().live = made.token;
  Attempt& attempt = state.attempts[made.token] = std::move(made);
  if (WorkerEntry* worker = state.workers.Find(attempt.worker))
    worker->resources.Take(attempt.token, slots, attempt.request);
  state.leases.Grant(attempt.token, attempt.worker, slots[0], leased);
  state.ready.Started(attempt.sweep);
  ForEachFeature(&Feature::attempt_began, context, attempt);
  return attempt;
}

void ForgetAttempt(Context& context, Token token, const AttemptEnd& end) {
  State& state = context.state;
  const Attempt& attempt = state.attempts.at(token);
  Stage& stage = state.stages.at(attempt.stage);
  INLIER_CHECK(stage.live() == token);
  stage.edit().live = 0;
  if (state.leases.Find(token) != nullptr) state.leases.End(token);  // An expired lease is gone already.
  state.ready.Ended(attempt.sweep);
  if (INLIER_BUG("capacity_freed_twice")) state.ready.Ended(attempt.sweep);
  WorkerEntry* const worker = state.workers.Find(attempt.worker);
  if (worker != nullptr) ReleaseResources(state, attempt, *worker);
  ForEachFeature(&Feature::attempt_ended, context, attempt, end);
  if (worker != nullptr) RefreshOffer(state, *worker);
  state.attempts.erase(token);
}

}  // namespace inlier
