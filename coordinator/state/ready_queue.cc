#include "coordinator/state/ready_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/deliberate_bug.h"

namespace inlier {
namespace {

// Virtual time of one attempt at weight 1. At the smallest weight 9 * 10^9 attempts fit.
constexpr double kAttempt = 1e6;

std::uint64_t CostOf(double weight) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(kAttempt / weight)));
}

}  // namespace

ReadyQueue::SweepKey ReadyQueue::KeyOf(SweepId sweep, const Queue& queue) {
  return {-static_cast<std::int64_t>(queue.rules.priority), queue.virtual_time, sweep};
}

bool ReadyQueue::MayStart(const Queue& queue) {
  return !queue.ready.empty() && !queue.rules.paused && RoomIn(queue) > 0;
}

std::uint64_t ReadyQueue::RoomIn(const Queue& queue) {
  return QuotaUsage{.running = queue.running, .max_parallel = queue.rules.max_parallel}.Room();
}

std::uint64_t ReadyQueue::RoomIn(const Pool* pool) {
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  if (pool == nullptr) return room;
  for (const Quota* quota : {pool->group, pool->owner}) {
    if (quota == nullptr || (quota == pool->owner && INLIER_BUG("quota_of_an_owner_ignored"))) continue;
    room = std::min(room, quota->usage.Room());
  }
  return room;
}

QuotaUsage ReadyQueue::UsageIn(const Quotas& quotas, const std::string& name) {
  const auto at = quotas.find(name);
  return at == quotas.end() ? QuotaUsage() : at->second.usage;
}

ReadyQueue::Pool* ReadyQueue::PoolOf(const ReadyRules& rules) {
  Quota* const group = rules.group.empty() ? nullptr : &groups_[rules.group];
  const bool limited = rules.owner_max_parallel || rules.owner_has_budget;
  Quota* const owner = limited ? &owners_[rules.owner] : nullptr;
  if (group == nullptr && owner == nullptr) return nullptr;
  const auto [at, added] = pools_.try_emplace(std::pair(group, owner), Pool{.group = group, .owner = owner});
  Pool* const pool = &at->second;
  if (owner != nullptr) owner->usage.max_parallel = rules.owner_max_parallel;
  if (added && group != nullptr) group->pools.push_back(pool);
  if (added && owner != nullptr) owner->pools.push_back(pool);
  return pool;
}

void ReadyQueue::Erase(Lanes& lanes, const ReadyShape& shape, const SweepKey& key) {
  const auto lane = lanes.find(shape);
  if (lane == lanes.end()) return;
  lane->second.erase(key);
  if (lane->second.empty() && shape != ReadyShape()) lanes.erase(lane);
}

void ReadyQueue::List(Pool* pool) {
  if (pool == nullptr || pool->listed || RoomIn(pool) == 0) return;
  pool->listed = true;
  for (const auto& [shape, keys] : pool->eligible) {
    if (!keys.empty()) eligible_[shape].insert(*keys.begin());
  }
}

void ReadyQueue::Unlist(Pool* pool) {
  if (pool == nullptr || !pool->listed) return;
  pool->listed = false;
  for (const auto& [shape, keys] : pool->eligible) {
    if (!keys.empty()) Erase(eligible_, shape, *keys.begin());
  }
}

void ReadyQueue::Charge(Pool* pool, std::int64_t attempts) {
  if (pool == nullptr) return;
  INLIER_CHECK(!pool->listed);
  for (Quota* quota : {pool->group, pool->owner}) {
    if (quota == nullptr) continue;
    const bool was_full = quota->usage.Room() == 0;
    quota->usage.running = static_cast<std::uint32_t>(quota->usage.running + attempts);
    const bool is_full = quota->usage.Room() == 0;
    if (is_full == was_full) continue;
    for (Pool* other : quota->pools) {
      if (other == pool) continue;
      Unlist(other);
      List(other);
    }
  }
}

template <typename Change>
void ReadyQueue::Update(SweepId sweep, Change change) {
  const auto at = sweeps_.find(sweep);
  INLIER_CHECK(at != sweeps_.end());
  Queue& queue = at->second;
  Lanes& lanes = queue.pool == nullptr ? eligible_ : queue.pool->eligible;
  Unlist(queue.pool);
  const bool was_eligible = queue.eligible;
  if (was_eligible) {
    if (queue.rules.preempts) preempting_.erase({-std::int64_t{queue.rules.priority}, sweep});
    for (const auto& [shape, lane] : queue.ready) Erase(lanes, shape, KeyOf(sweep, queue));
  }
  change(queue);
  queue.eligible = MayStart(queue);
  if (queue.eligible) {
    if (!was_eligible) queue.virtual_time = std::max(queue.virtual_time, clocks_[queue.rules.priority]);
    if (queue.rules.preempts) preempting_.emplace(-std::int64_t{queue.rules.priority}, sweep);
    for (const auto& [shape, lane] : queue.ready) lanes[shape].insert(KeyOf(sweep, queue));
  }
  List(queue.pool);
}

void ReadyQueue::SetQuota(const std::string& group, std::uint32_t max_parallel) {
  groups_[group].usage.max_parallel = max_parallel;
}

void ReadyQueue::SetSpent(const std::string& owner) {
  Quota& quota = owners_[owner];
  for (Pool* pool : quota.pools) Unlist(pool);
  quota.usage.spent = true;
}

void ReadyQueue::AddSweep(SweepId sweep, const ReadyRules& rules) {
  Queue queue;
  queue.rules = rules;
  queue.pool = PoolOf(rules);
  INLIER_CHECK(sweeps_.emplace(sweep, std::move(queue)).second);
}

void ReadyQueue::SetRules(SweepId sweep, const ReadyRules& rules) {
  // Out of every set, into the other pool, and in again.
  Update(sweep, [](Queue& queue) { queue.rules.paused = true; });
  Queue& queue = sweeps_.at(sweep);
  for (const bool comes : {false, true}) {
    if (comes) queue.pool = PoolOf(rules);
    Unlist(queue.pool);
    Charge(queue.pool, comes ? std::int64_t{queue.running} : -std::int64_t{queue.running});
    List(queue.pool);
  }
  if (queue.rules.priority != rules.priority) queue.virtual_time = 0;
  Update(sweep, [&](Queue& changed) { changed.rules = rules; });
}

void ReadyQueue::TakeOut(Queue& queue, Keys::iterator ready) {
  ReadyLane& lane = *ready->second.lane;
  const ReadyLane::StageKey key{ready->second.first_trial, ready->first};
  if (lane.evaluations.erase(key) == 0) lane.trainings.erase(key);
  if (lane.empty()) queue.ready.erase(ReadyShape(lane.shape));
  queue.keys.erase(ready);
}

void ReadyQueue::AddReady(SweepId sweep, StageId stage, v1::StageKind kind, TrialId first_trial,
                          const ReadyShape& shape, Timestamp now) {
  const Queue& known = sweeps_.at(sweep);
  Ready ready{nullptr, now, first_trial};
  if (const auto at = known.keys.find(stage); at != known.keys.end()) {
    if (at->second.lane->shape == shape) return;
    ready = at->second;
  }
  Update(sweep, [&](Queue& queue) {
    if (const auto at = queue.keys.find(stage); at != queue.keys.end()) TakeOut(queue, at);
    ReadyLane& lane = queue.ready[shape];
    lane.shape = shape;
    ready.lane = &lane;
    (kind == v1::EVALUATE_STAGE ? lane.evaluations : lane.trainings).emplace(ready.first_trial, stage);
    queue.keys.emplace(stage, ready);
  });
}

void ReadyQueue::RemoveReady(SweepId sweep, StageId stage) {
  Update(sweep, [&](Queue& queue) {
    if (const auto key = queue.keys.find(stage); key != queue.keys.end()) TakeOut(queue, key);
  });
}

void ReadyQueue::Started(SweepId sweep) {
  Update(sweep, [this](Queue& queue) {
    ++queue.running;
    Charge(queue.pool, 1);
    std::uint64_t& clock = clocks_[queue.rules.priority];
    clock = std::max(clock, queue.virtual_time);
    queue.virtual_time += CostOf(queue.rules.weight);
  });
}

void ReadyQueue::Ended(SweepId sweep) {
  Update(sweep, [this](Queue& queue) {
    INLIER_CHECK(queue.running > 0);
    --queue.running;
    Charge(queue.pool, -1);
  });
}

std::optional<ReadyQueue::Pick> ReadyQueue::Next(std::uint32_t worker, Fits fits) const {
  const SweepKey* best = nullptr;
  for (const std::uint32_t where : {0u, worker}) {
    for (auto lane = eligible_.lower_bound(ReadyShape{where, {}});
         lane != eligible_.end() && lane->first.worker == where; ++lane) {
      if (lane->second.empty() || (best != nullptr && *best < *lane->second.begin())) continue;
      if (fits(lane->first.request)) best = &*lane->second.begin();
    }
    if (worker == 0) break;
  }
  if (best == nullptr) return std::nullopt;
  const SweepId sweep = std::get<2>(*best);
  std::optional<std::pair<bool, ReadyLane::StageKey>> first;
  for (const auto& [shape, lane] : sweeps_.at(sweep).ready) {
    if (shape.worker != 0 && shape.worker != worker) continue;
    if (first && *first < lane.First()) continue;
    if (fits(shape.request)) first = lane.First();
  }
  INLIER_CHECK(first.has_value());
  return Pick{sweep, first->second.second};
}

bool ReadyQueue::HasGang() const {
  return std::ranges::any_of(
      eligible_, [](const auto& lane) { return lane.first.request.processes > 1 && !lane.second.empty(); });
}

std::vector<std::uint32_t> ReadyQueue::AwaitedWorkers() const {
  std::vector<std::uint32_t> workers;
  for (auto lane = eligible_.lower_bound(ReadyShape{1, {}}); lane != eligible_.end(); ++lane) {
    if (workers.empty() || workers.back() != lane->first.worker) workers.push_back(lane->first.worker);
  }
  return workers;
}

std::map<ResourceRequest, std::uint64_t> ReadyQueue::ReadyRequests(SweepId sweep) const {
  std::map<ResourceRequest, std::uint64_t> requests;
  for (const auto& [shape, lane] : sweeps_.at(sweep).ready) requests[shape.request] += lane.size();
  return requests;
}

std::vector<StageId> ReadyQueue::ReadyWith(SweepId sweep, const ResourceRequest& request) const {
  std::vector<StageId> stages;
  for (const auto& [shape, lane] : sweeps_.at(sweep).ready) {
    if (shape.request != request) continue;
    for (const auto& [trial, stage] : lane.evaluations) stages.push_back(stage);
    for (const auto& [trial, stage] : lane.trainings) stages.push_back(stage);
  }
  return stages;
}

std::uint64_t ReadyQueue::RoomOf(SweepId sweep) const {
  const Queue& queue = sweeps_.at(sweep);
  return std::min(RoomIn(queue), RoomIn(queue.pool));
}

std::uint64_t ReadyQueue::ReadyAbove(std::int32_t priority) const {
  std::uint64_t count = 0;
  for (const auto& [id, queue] : sweeps_) {
    if (queue.rules.priority > priority && MayStart(queue) && RoomIn(queue.pool) > 0)
      count += queue.keys.size();
  }
  return count;
}

}  // namespace inlier
