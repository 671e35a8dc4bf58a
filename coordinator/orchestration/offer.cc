// Orchestrator: work for workers that wait. A worker whose stream is open and has nothing unanswered is
// *listening*: what becomes ready is leased to it and pushed, so that nothing waits for a heartbeat.
#include <optional>
#include <set>
#include <string>

#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/orchestration/orchestrator.h"

namespace inlier {

void Orchestrator::Desire(const Attempt& attempt, bool known, v1::Assignment& told) const {
  told = attempt.assignment;
  if (!known) told.set_spec(specs_.Get(stages_.at(attempt.stage).spec));
}

bool Orchestrator::IsFree(const WorkerEntry& worker, std::uint32_t slot) const {
  return (!worker.occupied.contains(slot) || INLIER_BUG("occupied_slot_leased")) &&
         (!leases_.SlotTaken(worker.incarnation, slot) || INLIER_BUG("slot_leased_twice"));
}

std::optional<std::uint32_t> Orchestrator::FreeSlot(const WorkerEntry& worker) const {
  for (const v1::Slot& slot : worker.slots) {
    if (IsFree(worker, slot.index())) return slot.index();
  }
  return std::nullopt;
}

void Orchestrator::RefreshOffer(WorkerEntry& worker) {
  const bool wants = worker.listening && worker.connected &&
                     (worker.TakesWork() || INLIER_BUG("pushed_to_who_drains")) &&
                     FreeSlot(worker).has_value();
  if (wants == (worker.waits_as != 0)) return;
  if (wants) {
    worker.waits_as = ++waited_;
    waiting_.emplace(worker.waits_as, worker.incarnation);
  } else {
    waiting_.erase(worker.waits_as);
    worker.waits_as = 0;
  }
}

void Orchestrator::SetListening(const std::string& incarnation, bool listening) {
  WorkerEntry* worker = workers_.Find(incarnation);
  if (worker == nullptr) return;
  worker->listening = listening;
  RefreshOffer(*worker);
}

void Orchestrator::Offer(Moment now, bool grant_leases, Effects& effects) {
  Context context{now, effects};
  std::set<std::string> told = std::move(effects.stopped);
  effects.stopped.clear();
  std::erase_if(told, [this](const std::string& worker) {
    const WorkerEntry* entry = workers_.Find(worker);
    return entry == nullptr || !entry->listening;
  });
  const bool may_grant = grant_leases || INLIER_BUG("pushed_while_the_disk_is_full");
  if (may_grant && !waiting_.empty()) {
    for (const std::uint32_t number : scheduler_.AwaitedWorkers()) {
      WorkerEntry* worker = workers_.FindByNumber(number);
      if (worker == nullptr || worker->waits_as == 0) continue;
      const int leased = leases_.size();
      FillSlots(context, *worker);
      if (leases_.size() != leased) told.insert(worker->incarnation);
      RefreshOffer(*worker);
    }
  }
  while (may_grant && !waiting_.empty()) {
    const std::optional<Scheduler::Pick> pick =
        scheduler_.Next(0, [this](const ResourceRequest& request) { return WaitingFor(request) != nullptr; });
    if (!pick) break;
    const ResourceRequest request = RequestFor(sweeps_.at(pick->sweep), stages_.at(pick->stage));
    WorkerEntry& worker = *WaitingFor(request);
    const std::optional<std::uint32_t> slot = SlotFor(worker, request);
    INLIER_CHECK(slot.has_value());
    Grant(context, worker, *slot, *pick);
    told.insert(worker.incarnation);
    // The longest waiting first, one slot at a time: work spreads over the machines.
    waiting_.erase(worker.waits_as);
    worker.waits_as = 0;
    RefreshOffer(worker);
  }
  for (const std::string& incarnation : told) {
    const WorkerEntry& worker = *workers_.Find(incarnation);
    v1::CoordinatorSync& push = effects.pushes[incarnation];
    push.set_pushed(true);
    push.set_sync_id(worker.sync_id);
    for (const Token token : leases_.HeldBy(incarnation)) {
      const Attempt& attempt = attempts_.at(token);
      if (attempt.yields.empty() || INLIER_BUG("yielding_attempt_wanted_again")) {
        Desire(attempt, /*known=*/false, *push.add_desired());
      } else {
        v1::Stop& stop = *push.add_stop();
        stop.set_token(token);
        stop.set_reason(attempt.yields);
      }
    }
    for (const auto& [token, reason] : worker.stop_reasons) {
      v1::Stop& stop = *push.add_stop();
      stop.set_token(token);
      stop.set_reason(reason);
    }
  }
  Finish(context);
  if (!told.empty()) effects.changes.lane = Lane::kControl;
}

}  // namespace inlier
