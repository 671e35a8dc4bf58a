// Ready stages that no slot takes now: what more workers would run.
#ifndef INLIER_COORDINATOR_SCHEDULING_BACKLOG_H_
#define INLIER_COORDINATOR_SCHEDULING_BACKLOG_H_

#include <cstdint>
#include <map>

#include "coordinator/state/state.h"

namespace inlier {

// How many stages wait with each request, each once, within max_parallel of sweeps and the quotas of groups and owners:
// none counts that could not start on a free slot. Counts up to `most` of each sweep.
std::map<ResourceRequest, std::uint64_t> Backlog(const State& state, std::uint64_t most);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_BACKLOG_H_
