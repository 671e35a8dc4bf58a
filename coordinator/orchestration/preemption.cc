// Orchestrator: preemption. While something of a sweep that preempts is ready and no free slot takes it, an
// attempt of a lower priority is told to write a checkpoint and stop, by the same way as for a pause; its
// stage waits again and nothing is counted against it.
//
// Who makes room: of the attempts of the lowest priority the one whose checkpoint is the latest, so that the
// least is lost; one that makes enough room by itself. An attempt counts with the highest priority of all
// sweeps that need its stage. No more attempts are told than stages wait, those that were told before
// included; it is looked every kPreemptionPeriod, and what was told survives a restart.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/orchestration/orchestrator.h"

namespace inlier {
namespace {

constexpr Duration kPreemptionPeriod = std::chrono::milliseconds(500);

}  // namespace

std::optional<Timestamp> Orchestrator::PreemptionDue() const {
  if (scheduler_.Preempting().empty() || attempts_.empty()) return std::nullopt;
  return preemption_looked_ + kPreemptionPeriod;
}

void Orchestrator::PreemptForWaiting(Context& context) {
  const std::optional<Timestamp> due = PreemptionDue();
  if (!due || context.now.at < *due) return;
  preemption_looked_ = context.now.at;

  std::uint64_t making_room = 0;
  std::map<std::string, std::set<Token>> leaving;  // By worker.
  for (const auto& [until, token] : yields_due_) {
    const std::string& name = attempts_.at(token).worker;
    const WorkerEntry* worker = workers_.Find(name);
    if (worker == nullptr || !worker->connected || !worker->TakesWork()) continue;
    leaving[name].insert(token);
    ++making_room;
  }
  struct Candidate {
    std::int64_t priority;
    Timestamp saved;
    Token token;
  };
  std::vector<Candidate> candidates;
  for (const auto& [token, attempt] : attempts_) {
    const WorkerEntry* worker = workers_.Find(attempt.worker);
    if (!attempt.yields.empty() || attempt.unclaimed || !attempt.final_checkpoint.empty() ||
        worker == nullptr || !worker->connected || !worker->TakesWork())
      continue;
    std::int64_t priority = sweeps_.at(attempt.sweep).spec.priority();
    for (const Needer& needer : stages_.at(attempt.stage).Needers())
      priority = std::max<std::int64_t>(priority, sweeps_.at(needer.sweep).spec.priority());
    candidates.push_back({priority, attempt.saved, token});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.priority, b.saved, b.token) < std::tie(b.priority, a.saved, a.token);
  });

  const auto fits_now = [this](const ResourceRequest& request) {
    return std::any_of(workers_.all().begin(), workers_.all().end(), [&](const auto& entry) {
      const WorkerEntry& worker = entry.second;
      return worker.connected && worker.TakesWork() && SlotFor(worker, request);
    });
  };
  for (const auto& preempting : scheduler_.Preempting()) {
    const std::int64_t minus_priority = preempting.first;
    const SweepId sweep = preempting.second;
    std::uint64_t room = scheduler_.RoomOf(sweep);
    for (const auto& ready : scheduler_.ReadyRequests(sweep)) {
      const ResourceRequest& request = ready.first;
      const std::uint64_t waiting = std::min(ready.second, room);
      room -= waiting;
      if (fits_now(request)) continue;  // Its worker is on the way.
      for (std::uint64_t i = 0; i < waiting; ++i) {
        if (making_room > 0) {
          --making_room;
          continue;
        }
        const auto victim = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& one) {
          if (one.token == 0) return false;
          if (one.priority >= -minus_priority) return false;
          const Attempt& attempt = attempts_.at(one.token);
          std::set<Token> gone = leaving[attempt.worker];
          gone.insert(one.token);
          return workers_.Find(attempt.worker)
              ->resources.FitsWithout(attempt.assignment.slot(), request, gone);
        });
        if (victim == candidates.end()) break;
        Attempt& attempt = attempts_.at(victim->token);
        leaving[attempt.worker].insert(victim->token);
        victim->token = 0;
        Yield(context, attempt,
              absl::StrCat("sweep ", sweep.ToString(), " of priority ", -minus_priority,
                           " needs its slot (it preempts)"));
      }
    }
  }
}

}  // namespace inlier
