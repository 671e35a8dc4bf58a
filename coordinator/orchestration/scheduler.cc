#include "coordinator/orchestration/scheduler.h"

#include <algorithm>
#include <cmath>

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

Scheduler::SweepKey Scheduler::KeyOf(SweepId sweep, const Queue& queue) {
  return {-static_cast<std::int64_t>(queue.rules.priority), queue.virtual_time, sweep};
}

bool Scheduler::MayStart(const Queue& queue) {
  return !queue.ready.empty() && !queue.rules.paused &&
         (!queue.rules.max_parallel ||
          queue.running < *queue.rules.max_parallel + (INLIER_BUG("max_parallel_off_by_one") ? 1 : 0));
}

bool Scheduler::IsFull(const Group& group) {
  return group.usage.max_parallel && group.usage.running >= *group.usage.max_parallel;
}

Scheduler::Group* Scheduler::GroupOf(const Rules& rules) {
  return rules.group.empty() ? nullptr : &groups_[rules.group];
}

void Scheduler::List(const Group* group) {
  if (group != nullptr && !group->eligible.empty() && !IsFull(*group))
    eligible_.insert(*group->eligible.begin());
}

void Scheduler::Unlist(const Group* group) {
  if (group != nullptr && !group->eligible.empty()) eligible_.erase(*group->eligible.begin());
}

template <typename Change>
void Scheduler::Update(SweepId sweep, Change change) {
  const auto at = sweeps_.find(sweep);
  INLIER_CHECK(at != sweeps_.end());
  Queue& queue = at->second;
  std::set<SweepKey>& keys = queue.group == nullptr ? eligible_ : queue.group->eligible;
  Unlist(queue.group);
  const bool was_eligible = queue.eligible;
  if (was_eligible) keys.erase(KeyOf(sweep, queue));
  change(queue);
  queue.eligible = MayStart(queue);
  if (queue.eligible) {
    if (!was_eligible) queue.virtual_time = std::max(queue.virtual_time, clocks_[queue.rules.priority]);
    keys.insert(KeyOf(sweep, queue));
  }
  List(queue.group);
}

void Scheduler::SetQuota(const std::string& group, std::uint32_t max_parallel) {
  groups_[group].usage.max_parallel = max_parallel;
}

void Scheduler::AddSweep(SweepId sweep, const Rules& rules) {
  Queue queue;
  queue.rules = rules;
  queue.group = GroupOf(rules);
  INLIER_CHECK(sweeps_.emplace(sweep, std::move(queue)).second);
}

void Scheduler::SetRules(SweepId sweep, const Rules& rules) {
  // Out of every set, into the other group, and in again.
  Update(sweep, [](Queue& queue) { queue.rules.paused = true; });
  Queue& queue = sweeps_.at(sweep);
  for (const bool comes : {false, true}) {
    if (comes) queue.group = GroupOf(rules);
    if (queue.group == nullptr) continue;
    Unlist(queue.group);
    queue.group->usage.running += comes ? queue.running : -queue.running;
    List(queue.group);
  }
  if (queue.rules.priority != rules.priority) queue.virtual_time = 0;
  Update(sweep, [&](Queue& changed) { changed.rules = rules; });
}

void Scheduler::AddReady(SweepId sweep, StageId stage, v1::StageKind kind, TrialId first_trial) {
  Update(sweep, [&](Queue& queue) {
    const StageKey key{kind == v1::EVALUATE_STAGE ? 0 : 1, first_trial, stage};
    if (queue.keys.emplace(stage, key).second) queue.ready.insert(key);
  });
}

void Scheduler::RemoveReady(SweepId sweep, StageId stage) {
  Update(sweep, [&](Queue& queue) {
    const auto key = queue.keys.find(stage);
    if (key == queue.keys.end()) return;
    if (INLIER_BUG("leased_stage_stays_ready")) return;
    queue.ready.erase(key->second);
    queue.keys.erase(key);
  });
}

void Scheduler::Started(SweepId sweep) {
  Update(sweep, [this](Queue& queue) {
    ++queue.running;
    if (queue.group != nullptr) ++queue.group->usage.running;
    std::uint64_t& clock = clocks_[queue.rules.priority];
    clock = std::max(clock, queue.virtual_time);
    queue.virtual_time += CostOf(queue.rules.weight);
  });
}

void Scheduler::Ended(SweepId sweep) {
  Update(sweep, [](Queue& queue) {
    INLIER_CHECK(queue.running > 0);
    --queue.running;
    if (queue.group != nullptr) --queue.group->usage.running;
  });
}

std::optional<Scheduler::Pick> Scheduler::Next() const {
  if (eligible_.empty()) return std::nullopt;
  const SweepId sweep = std::get<2>(*eligible_.begin());
  return Pick{sweep, std::get<2>(*sweeps_.at(sweep).ready.begin())};
}

bool Scheduler::HasRoom(SweepId sweep) const {
  const Queue& queue = sweeps_.at(sweep);
  if (queue.rules.max_parallel && queue.running >= *queue.rules.max_parallel) return false;
  return queue.group == nullptr || !IsFull(*queue.group);
}

Scheduler::Usage Scheduler::GroupUsage(const std::string& group) const {
  const auto at = groups_.find(group);
  return at == groups_.end() ? Usage() : at->second.usage;
}

std::uint64_t Scheduler::ReadyAbove(std::int32_t priority) const {
  std::uint64_t count = 0;
  for (const auto& [id, queue] : sweeps_) {
    if (queue.rules.priority > priority && MayStart(queue) &&
        (queue.group == nullptr || !IsFull(*queue.group)))
      count += queue.ready.size();
  }
  return count;
}

}  // namespace inlier
