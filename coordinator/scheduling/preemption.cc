#include "coordinator/scheduling/preemption.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "coordinator/scheduling/gather.h"
#include "coordinator/scheduling/placement.h"

namespace inlier {
namespace {

constexpr Duration kPreemptionPeriod = std::chrono::milliseconds(500);

// An attempt that may be asked to yield; token 0: it is yielding already.
struct Candidate {
  std::int64_t priority;
  Timestamp saved;
  Token token;
};

bool TakesWork(const State& state, const Attempt& attempt) {
  const WorkerEntry* const worker = state.workers.Find(attempt.worker);
  return worker != nullptr && worker->TakesWork();
}

// The lowest priority first, then the latest checkpoint.
std::vector<Candidate> Candidates(const State& state) {
  std::vector<Candidate> candidates;
  for (const auto& [token, attempt] : state.attempts) {
    if (!attempt.yield.why.empty() || attempt.unclaimed || !attempt.final_checkpoint.digest.empty() ||
        !TakesWork(state, attempt))
      continue;
    std::int64_t priority = state.sweeps.at(attempt.sweep).spec.priority();
    for (const Dependent& dependent : state.stages.at(attempt.stage).Dependents())
      priority = std::max<std::int64_t>(priority, state.sweeps.at(dependent.sweep).spec.priority());
    candidates.push_back({priority, attempt.times.saved, token});
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.priority, b.saved, b.token) < std::tie(b.priority, a.saved, a.token);
  });
  return candidates;
}

bool FitsNow(const State& state, const ResourceRequest& request) {
  return std::ranges::any_of(state.workers.all(), [&](const auto& entry) {
    return entry.second.TakesWork() && !SlotsFor(state, entry.second, request).empty();
  });
}

using Leaving = std::map<std::string, std::set<Token>>;  // Attempts that yield, by worker.

// The request fits once the attempts of `gone` have ended.
bool FitsWithout(const WorkerEntry& worker, const ResourceRequest& request, const std::set<Token>& gone) {
  const WorkerResources rest = worker.resources.Without(gone);
  const auto usable = [&](std::uint32_t slot) { return !IsBlocked(worker, slot) && !rest.SlotTaken(slot); };
  return !rest.SlotsFor(request, usable).empty();
}

bool IsOnTheWay(const State& state, const ResourceRequest& request, const Leaving& leaving) {
  return std::ranges::any_of(leaving, [&](const auto& of_worker) {
    const WorkerEntry* const worker = state.workers.Find(of_worker.first);
    return worker != nullptr && FitsWithout(*worker, request, of_worker.second);
  });
}

// Attempts of one worker, of a lower priority each, without which the request fits there: one, for a gang as many as it
// takes. Empty: there are not enough.
std::vector<Candidate*> VictimsFor(const State& state, const ResourceRequest& request, std::int64_t priority,
                                   std::vector<Candidate>& candidates, const Leaving& leaving) {
  std::map<std::string, std::vector<Candidate*>> by_worker;
  for (Candidate& one : candidates) {
    if (one.token == 0 || one.priority >= priority) continue;
    const Attempt& attempt = state.attempts.at(one.token);
    const WorkerEntry& worker = *state.workers.Find(attempt.worker);
    if (IsBlocked(worker, attempt.assignment.slot())) continue;
    std::vector<Candidate*>& victims = by_worker[attempt.worker];
    if (request.processes == 1) victims.clear();
    victims.push_back(&one);
    const auto left = leaving.find(attempt.worker);
    std::set<Token> gone = left == leaving.end() ? std::set<Token>() : left->second;
    for (const Candidate* victim : victims) gone.insert(victim->token);
    if (FitsWithout(worker, request, gone)) return victims;
  }
  return {};
}

// nullopt: no attempt could yield, or to no stage.
std::optional<Timestamp> PreemptionDue(const State& state) {
  if (state.ready.Preempting().empty() || state.attempts.empty()) return std::nullopt;
  return state.deadlines.preemption_checked + kPreemptionPeriod;
}

void PreemptForWaiting(Context& context) {
  State& state = context.state;
  state.deadlines.preemption_checked = context.now.at;

  std::uint64_t yielding = 0;
  Leaving leaving;
  for (const auto& [until, token] : state.deadlines.yields) {
    const Attempt& attempt = state.attempts.at(token);
    if (!TakesWork(state, attempt)) continue;
    leaving[attempt.worker].insert(token);
    ++yielding;
  }
  std::vector<Candidate> candidates = Candidates(state);
  for (const auto& [minus_priority, sweep] : state.ready.Preempting()) {
    std::uint64_t room = state.ready.RoomOf(sweep);
    for (const auto& [request, count] : state.ready.ReadyRequests(sweep)) {
      const std::uint64_t waiting = std::min(count, room);
      room -= waiting;
      if (FitsNow(state, request)) continue;  // Its worker is on the way.
      for (std::uint64_t i = 0; i < waiting; ++i) {
        if (request.processes > 1 && IsOnTheWay(state, request, leaving)) break;
        if (request.processes == 1 && yielding > 0) {
          --yielding;
          continue;
        }
        const std::vector<Candidate*> victims =
            VictimsFor(state, request, -minus_priority, candidates, leaving);
        if (victims.empty()) break;
        if (request.processes > 1)
          GatherWhereAttemptsYield(state, state.attempts.at(victims[0]->token).worker, request);
        for (Candidate* victim : victims) {
          Attempt& attempt = state.attempts.at(victim->token);
          leaving[attempt.worker].insert(victim->token);
          victim->token = 0;
          Yield(context, attempt,
                absl::StrCat("sweep ", sweep.ToString(), " of priority ", -minus_priority,
                             " needs its slot (it preempts)"));
        }
      }
    }
  }
}

}  // namespace

Feature Preemption() { return {.due = PreemptionDue, .act = PreemptForWaiting}; }

bool Yield(Context& context, Attempt& attempt, const std::string& why, bool timed_out) {
  if (!attempt.yield.why.empty()) return false;
  attempt.yield.why = why;
  attempt.yield.timed_out = timed_out;
  attempt.yield.until = context.now.at + kYieldTerm;
  context.state.deadlines.yields.emplace(attempt.yield.until, attempt.token);
  context.out.workers.insert(attempt.worker);
  context.out.stopped.insert(attempt.worker);
  if (!INLIER_BUG("yield_not_stored"))
    context.out.changes.Add(AttemptYields{.token = attempt.token, .reason = why, .timed_out = timed_out});
  context.Log("attempt_yields trial=", attempt.trial.ToString(), " stage=", attempt.stage.ToString(),
              " token=", attempt.token, " reason=\"", why, "\"");
  return true;
}

}  // namespace inlier
