#include "coordinator/state/worker_registry.h"

namespace inlier {

WorkerEntry& WorkerRegistry::FindOrAdd(const std::string& incarnation) {
  WorkerEntry& worker = workers_[incarnation];
  if (worker.number == 0) {
    worker.number = ++last_number_;
    by_number_.emplace(worker.number, incarnation);
    silent_.insert(incarnation);
  }
  worker.incarnation = incarnation;
  return worker;
}

WorkerEntry* WorkerRegistry::Find(const std::string& incarnation) {
  const auto at = workers_.find(incarnation);
  return at == workers_.end() ? nullptr : &at->second;
}

const WorkerEntry* WorkerRegistry::Find(const std::string& incarnation) const {
  const auto at = workers_.find(incarnation);
  return at == workers_.end() ? nullptr : &at->second;
}

WorkerEntry* WorkerRegistry::FindByNumber(std::uint32_t number) {
  const auto at = by_number_.find(number);
  return at == by_number_.end() ? nullptr : Find(at->second);
}

void WorkerRegistry::Count(const WorkerEntry& worker, bool add) {
  Share& share = shares_[worker.owner];
  const std::uint64_t slots = worker.slots.size();
  slots_ = add ? slots_ + slots : slots_ - slots;
  share.slots = add ? share.slots + slots : share.slots - slots;
  share.workers = add ? share.workers + 1 : share.workers - 1;
  if (share.workers == 0) shares_.erase(worker.owner);
}

void WorkerRegistry::SetOwner(WorkerEntry& worker, const std::string& owner) {
  if (worker.connected) Count(worker, false);
  worker.owner = owner;
  if (worker.connected) Count(worker, true);
}

void WorkerRegistry::SetSlots(WorkerEntry& worker, std::vector<v1::Slot> slots, std::uint64_t memory_mib) {
  if (worker.connected) Count(worker, false);
  worker.slots = std::move(slots);
  if (worker.connected) Count(worker, true);
  worker.resources.SetCapacity(worker.slots, memory_mib);
}

void WorkerRegistry::Seen(WorkerEntry& worker, Timestamp now, WallTime wall) {
  if (worker.connected) {
    by_silence_.erase({worker.seen.at, worker.incarnation});
  } else {
    silent_.erase(worker.incarnation);
    Count(worker, true);
  }
  worker.connected = true;
  worker.seen.at = now;
  worker.seen.wall = wall;
  by_silence_.emplace(now, worker.incarnation);
}

void WorkerRegistry::NoteSilent(const WorkerEntry& worker) {
  const bool few = static_cast<int>(silent_.size()) <= kForgottenAfterCount;
  if (!forget_at_) forget_at_ = few ? worker.seen.at + kForgottenAfter : worker.seen.at;
}

std::vector<WorkerEntry*> WorkerRegistry::Expire(Timestamp now) {
  std::vector<WorkerEntry*> gone;
  while (!by_silence_.empty() && by_silence_.begin()->first + term_ <= now) {
    WorkerEntry& worker = workers_.at(by_silence_.begin()->second);
    by_silence_.erase(by_silence_.begin());
    worker.connected = false;
    silent_.insert(worker.incarnation);
    NoteSilent(worker);
    Count(worker, false);
    gone.push_back(&worker);
  }
  return gone;
}

std::optional<Timestamp> WorkerRegistry::NextDeadline() const {
  std::optional<Timestamp> next = forget_at_;
  if (!by_silence_.empty() && (!next || by_silence_.begin()->first + term_ < *next))
    next = by_silence_.begin()->first + term_;
  return next;
}

}  // namespace inlier
