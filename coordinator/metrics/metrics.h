// Every Prometheus family of the coordinator, in one table, and the calls that update them.
//
// Conventions: prefix inlier_, base units, counters end in _total, one gauge with a `state` label in place of
// many. Label values of a fixed set (states, kinds, outcomes, reasons) are in upper case, as in the messages.
// Ids of sweeps and trials are labels only in live_metrics.h, which bounds them. Series whose labels are
// known exist from the start, with value 0. docs/reference/metrics.md is written from the table.
//
// Thread safety: Observe* and Count* may be called from any thread; Update only from the coordinator's
// thread.
#ifndef INLIER_COORDINATOR_METRICS_METRICS_H_
#define INLIER_COORDINATOR_METRICS_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "coordinator/decisions/orchestrator.h"
#include "coordinator/metrics/sweep_results.h"
#include "coordinator/store/committer.h"
#include "fleet/state.h"
#include "notify/try_outcome.h"
#include "rpc/metrics_registry.h"

namespace inlier {

// The families, in the order of the reference.
const std::vector<MetricSpec>& CoordinatorMetricTable();

class CoordinatorMetrics {
 public:
  // `sweeps_max` sweeps have series of their own.
  explicit CoordinatorMetrics(std::uint32_t sweeps_max);

  void ObserveCommit(const CommitStats& stats);
  void ObserveRpc(const std::string& method, const std::string& code, Duration duration);
  // `direction`: RECEIVED or SENT.
  void ObserveArtifactBytes(const std::string& direction, std::uint64_t bytes);
  // Reasons: unauthenticated, forbidden, version, database, rate, at_once.
  void CountRefusedCall(const char* reason);
  // How a try to notify `hook` ended; if `tried` is absent, how many notifications wait.
  void ObserveDelivery(const std::string& hook, std::optional<TryOutcome::Kind> tried, std::uint64_t waiting);
  void ObserveFleet(const Fleet& fleet);
  // Waiting times and speeds that a call of the orchestrator measured.
  void ObserveEffects(const Effects& effects);

  // Sets gauges and counters to the current state of the orchestrator and the committer.
  void Update(const Orchestrator& orchestrator, const CommitterHealth& store, SweepResults& results);

  MetricsRegistry& registry() { return registry_; }

 private:
  // Raises the counter to `total`.
  void Raise(const std::string& name, const std::vector<std::string>& labels, double total);

  const std::uint32_t sweeps_max_;
  MetricsRegistry registry_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_METRICS_METRICS_H_
