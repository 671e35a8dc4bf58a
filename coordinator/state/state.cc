#include "coordinator/state/state.h"

#include <utility>

#include "base/deliberate_bug.h"

namespace inlier {

State::State(OrchestratorOptions given)
    : options(std::move(given)),
      workers(options.lease_ttl + options.lease_margin),
      leases(INLIER_BUG("margin_forgotten") ? options.lease_ttl : options.lease_ttl + options.lease_margin) {
  for (const auto& [group, max_parallel] : options.quotas) scheduler.SetQuota(group, max_parallel);
}

}  // namespace inlier
