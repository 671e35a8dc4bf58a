#include "coordinator/attempts/drain.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/preemption.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"

namespace inlier {

absl::StatusOr<v1::DrainWorkerResponse> DrainWorker(Context& context, const v1::DrainWorkerRequest& request) {
  State& state = context.state;
  if (request.resume() && request.now()) {
    return absl::InvalidArgumentError("DrainWorker: resume and now exclude each other; give one of the two");
  }
  const absl::StatusOr<std::string> incarnation = FindWorker(state, request.worker());
  if (!incarnation.ok()) return incarnation.status();
  WorkerEntry& worker = *state.workers.Find(*incarnation);
  const bool held = !request.resume();
  v1::DrainWorkerResponse response;
  response.set_incarnation(*incarnation);
  response.set_changed(worker.held != held);
  if (worker.held != held) {
    worker.held = held;
    RefreshOffer(state, worker);
    CommitWorker(context, worker);
    context.out.log.push_back(absl::StrCat("worker_", held ? "drained" : "resumed", " worker=", worker.name,
                                           " incarnation=", worker.incarnation));
  }
  for (const Token token : state.leases.HeldBy(*incarnation)) {
    if (request.now()) {
      Yield(context, state.attempts.at(token), absl::StrCat("worker ", worker.name, " is drained"));
      response.set_stopping(response.stopping() + 1);
    } else {
      response.set_running(response.running() + 1);
    }
  }
  return response;
}

}  // namespace inlier
