// The Prometheus series of what runs now: of ACTIVE sweeps and of live attempts. They come and go with what
// they describe, and are bounded: the latest sweeps, and their latest attempts.
#ifndef INLIER_COORDINATOR_METRICS_LIVE_METRICS_H_
#define INLIER_COORDINATOR_METRICS_LIVE_METRICS_H_

#include <map>
#include <string>
#include <vector>

#include "coordinator/state/state.h"
#include "rpc/metrics_registry.h"

namespace inlier {

inline constexpr std::size_t kAttemptsWithMetricsMax = 1000;

// The families, in the order of the reference.
std::vector<MetricSpec> LiveMetricTable();

// The latest `most` ACTIVE sweeps, oldest first.
std::vector<SweepId> LatestSweeps(const State& state, std::size_t most);

// The series of these sweeps, by family of the table. One pass over the live attempts, none over trials.
// `stored`: the best results in the database. On the coordinator's thread.
std::map<std::string, std::vector<GaugeSample>> LiveSeries(
    const State& state, const std::vector<SweepId>& sweeps,
    const std::map<SweepId, std::vector<SweepValue>>& stored = {});

// TRAIN, EVALUATE.
std::string KindLabel(v1::StageKind kind);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_METRICS_LIVE_METRICS_H_
