#include "coordinator/protocol/answer.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/deliberate_bug.h"
#include "coordinator/data/data_check.h"

namespace inlier {
namespace {

void AddDesired(const State& state, const Attempt& attempt, bool with_spec, v1::CoordinatorSync& answer) {
  v1::Assignment& assignment = *answer.add_desired();
  assignment = attempt.assignment;
  if (!with_spec) return;
  const Stage& stage = state.stages.at(attempt.stage);
  std::string spec =
      stage.kind == v1::EVALUATE_STAGE ? PackedSpec(state.stages.at(stage.train).detail().spec) : "";
  assignment.set_spec(spec += PackedSpec(stage.detail().spec));
}

}  // namespace

void FillAnswer(const State& state, const WorkerEntry& worker, const v1::WorkerSync* sync,
                v1::CoordinatorSync& answer) {
  std::map<Token, std::string> stops;
  std::set<Token> reported;
  if (sync != nullptr) {
    for (const v1::AttemptReport& report : sync->attempts()) {
      reported.insert(report.token());
      stops[report.token()] = "fenced: another attempt or none has the right to run";
    }
  }
  for (const auto& [token, reason] : worker.stop_reasons)
    if (sync == nullptr || reported.contains(token)) stops[token] = reason;
  for (const Token token : state.leases.HeldBy(worker.incarnation)) {
    const Attempt& attempt = state.attempts.at(token);
    if (attempt.yield.why.empty() || INLIER_BUG("yielding_attempt_wanted_again")) {
      AddDesired(state, attempt, !reported.contains(token), answer);
      stops.erase(token);
    } else if (sync == nullptr || reported.contains(token)) {
      stops[token] = attempt.yield.why;
    }
  }
  FillDataChecks(state, worker, answer);
  if (worker.keeps_artifacts) {
    for (const auto& [sha256, lost] : state.models.lost) answer.add_wanted_artifacts(sha256);
  }
  for (auto& [token, reason] : stops) {
    v1::Stop& stop = *answer.add_stop();
    stop.set_token(token);
    stop.set_reason(std::move(reason));
  }
}

}  // namespace inlier
