#include "coordinator/scheduling/backlog.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

namespace inlier {
namespace {

// How many more attempts a group or an owner may start; `counted`: of the backlog so far.
std::uint64_t RoomLeft(const ReadyQueue::Usage& usage, std::uint64_t counted) {
  if (usage.spent) return 0;
  if (!usage.max_parallel) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t taken = usage.running + counted;
  return *usage.max_parallel - std::min<std::uint64_t>(*usage.max_parallel, taken);
}

}  // namespace

std::map<ResourceRequest, std::uint64_t> Backlog(const State& state, std::uint64_t most) {
  std::map<ResourceRequest, std::uint64_t> backlog;
  std::map<std::string, std::uint64_t> by_group, by_owner;
  std::set<StageId> counted;
  for (const SweepId sweep : state.active) {
    const ReadyQueue::Rules& rules = state.ready.rules(sweep);
    if (rules.paused || state.ready.ready(sweep) == 0) continue;
    std::uint64_t& of_group = by_group[rules.group];
    std::uint64_t& of_owner = by_owner[rules.owner];
    std::uint64_t room = std::min(most, state.ready.RoomOf(sweep));
    if (!rules.group.empty()) room = std::min(room, RoomLeft(state.ready.GroupUsage(rules.group), of_group));
    room = std::min(room, RoomLeft(state.ready.OwnerUsage(rules.owner), of_owner));
    for (const auto& [request, stages] : state.ready.ReadyRequests(sweep)) {
      for (const StageId stage : state.ready.ReadyWith(sweep, request)) {
        if (room == 0) break;
        if (!counted.insert(stage).second) continue;
        ++backlog[request];
        ++of_group;
        ++of_owner;
        --room;
      }
    }
  }
  return backlog;
}

}  // namespace inlier
