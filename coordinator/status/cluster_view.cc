#include "coordinator/status/cluster_view.h"

#include <algorithm>
#include <set>
#include <string>

#include "coordinator/state/state.h"

namespace inlier {
namespace {

constexpr std::uint64_t kCountedMax = 100'000;  // Ready stages of one sweep.

// How many stages wait with each request, each once, within max_parallel of sweeps and the quotas of groups and owners:
// none counts that could not start on a free slot.
std::map<ResourceRequest, std::uint64_t> Backlog(const State& state) {
  std::map<ResourceRequest, std::uint64_t> backlog;
  std::map<std::string, std::uint64_t> by_group, by_owner;
  std::set<StageId> counted;
  for (const SweepId sweep : state.active) {
    const ReadyRules& rules = state.ready.rules(sweep);
    if (rules.paused || state.ready.ready(sweep) == 0) continue;
    std::uint64_t& of_group = by_group[rules.group];
    std::uint64_t& of_owner = by_owner[rules.owner];
    std::uint64_t room = std::min(kCountedMax, state.ready.RoomOf(sweep));
    if (!rules.group.empty()) room = std::min(room, state.ready.GroupUsage(rules.group).Room(of_group));
    room = std::min(room, state.ready.OwnerUsage(rules.owner).Room(of_owner));
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

}  // namespace

ClusterView ViewCluster(const State& state) {
  ClusterView view{.backlog = Backlog(state)};
  const auto& checks = state.data_waits.checks;
  const auto asked = [&checks](const std::string& worker) {
    return std::ranges::any_of(checks, [&](const auto& check) { return check.second.worker == worker; });
  };
  view.data_wait = asked("");
  for (const auto& [incarnation, worker] : state.workers.all()) {
    if (worker.job.empty()) continue;
    view.workers.push_back({.incarnation = incarnation,
                            .name = worker.name,
                            .job = worker.job,
                            .connected = worker.connected,
                            .last_seen = worker.seen.at,
                            .leased = worker.leased,
                            .slots = worker.slots,
                            .memory_mib = worker.resources.memory_mib(),
                            .attempts = static_cast<std::uint32_t>(state.leases.HeldBy(incarnation).size()),
                            .reads_data = asked(incarnation),
                            .draining = worker.unavailable.draining,
                            .refuses = worker.unavailable.held || worker.unavailable.outdated,
                            .seconds_left = worker.resources.seconds_left()});
  }
  return view;
}

}  // namespace inlier
