#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/deliberate_bug.h"
#include "coordinator/data/data_check.h"
#include "coordinator/protocol/sync.h"
#include "coordinator/scheduling/gather.h"
#include "coordinator/scheduling/grant.h"
#include "coordinator/scheduling/placement.h"

namespace inlier {

void Offer(Context& context, bool grant_leases) {
  State& state = context.state;
  if (grant_leases) AskForData(context);
  std::set<std::string> changed = std::move(context.out.stopped);
  context.out.stopped.clear();
  std::erase_if(changed, [&](const std::string& worker) {
    const WorkerEntry* entry = state.workers.Find(worker);
    return entry == nullptr || !entry->listening;
  });
  const bool may_grant = grant_leases || INLIER_BUG("pushed_while_the_disk_is_full");
  if (may_grant && !state.idle.by_ticket.empty()) {
    for (const std::uint32_t number : state.ready.AwaitedWorkers()) {
      WorkerEntry* worker = state.workers.FindByNumber(number);
      if (worker == nullptr || worker->idle_ticket == 0) continue;
      const int leased = state.leases.size();
      FillSlots(context, *worker);
      if (state.leases.size() != leased) changed.insert(worker->incarnation);
      RefreshOffer(state, *worker);
    }
  }
  while (may_grant && !state.idle.by_ticket.empty()) {
    GatherForGang(state);
    const std::optional<ReadyQueue::Pick> pick = state.ready.Next(
        0, [&](const ResourceRequest& request) { return WaitingFor(state, request) != nullptr; });
    if (!pick) break;
    const ResourceRequest request =
        RequestFor(state, state.sweeps.at(pick->sweep), state.stages.at(pick->stage));
    WorkerEntry& worker = *WaitingFor(state, request);
    Grant(context, worker, *pick);
    changed.insert(worker.incarnation);
    // The longest waiting first, one slot at a time: work spreads over the machines.
    state.idle.by_ticket.erase(worker.idle_ticket);
    worker.idle_ticket = 0;
    RefreshOffer(state, worker);
  }
  for (const std::string& incarnation : changed) {
    const WorkerEntry& worker = *state.workers.Find(incarnation);
    v1::CoordinatorSync& push = context.out.pushes[incarnation];
    push.set_pushed(true);
    push.set_sync_id(worker.sync.id);
    FillAnswer(state, worker, nullptr, push);
  }
  if (!changed.empty()) context.out.changes.lane = Lane::kControl;
}

}  // namespace inlier
