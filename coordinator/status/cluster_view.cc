#include "coordinator/status/cluster_view.h"

#include <algorithm>

#include "coordinator/scheduling/backlog.h"
#include "coordinator/state/state.h"

namespace inlier {
namespace {

// Ready stages of one sweep that are counted.
constexpr std::uint64_t kCountedMax = 100'000;

}  // namespace

ClusterView ViewCluster(const State& state) {
  ClusterView view{.backlog = Backlog(state, kCountedMax)};
  const auto& checks = state.data_waits.checks;
  const auto asked = [&checks](const std::string& worker) {
    return std::any_of(checks.begin(), checks.end(),
                       [&](const auto& check) { return check.second.worker == worker; });
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
