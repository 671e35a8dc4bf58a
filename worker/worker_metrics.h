// Every Prometheus family of the worker, in one table. docs/reference/worker_metrics.md is written from it.
#ifndef INLIER_WORKER_WORKER_METRICS_H_
#define INLIER_WORKER_WORKER_METRICS_H_

#include <span>
#include <string>
#include <vector>

#include "inlier/v1/attempt.pb.h"
#include "rpc/metrics_registry.h"

namespace inlier {

std::vector<MetricSpec> WorkerMetricsTable();

// The label `outcome` of inlier_worker_attempts_ended_total: SUCCEEDED, DIVERGED, or the failure class.
std::string OutcomeLabel(const v1::Outcome& outcome);

// References into the registry, so that a name is written once. Thread-safe as the registry is.
class WorkerMetrics {
 public:
  WorkerMetrics();

  MetricsRegistry registry{WorkerMetricsTable()};
  prometheus::Gauge& slots = registry.GaugeOf("inlier_worker_slots");
  prometheus::Gauge& slots_busy = registry.GaugeOf("inlier_worker_slots_busy");
  prometheus::Counter& attempts_started = registry.CounterOf("inlier_worker_attempts_started_total");
  prometheus::Gauge& outbox_events = registry.GaugeOf("inlier_worker_outbox_events");
  prometheus::Counter& events_thinned = registry.CounterOf("inlier_worker_events_thinned_total");
  prometheus::Counter& garbage_lines = registry.CounterOf("inlier_worker_garbage_lines_total");
  prometheus::Counter& syncs_failed = registry.CounterOf("inlier_worker_syncs_failed_total");
  prometheus::Counter& reconnects = registry.CounterOf("inlier_worker_reconnects_total");
  prometheus::Counter& leases_lost = registry.CounterOf("inlier_worker_leases_lost_total");
  prometheus::Histogram& sync_seconds = registry.HistogramOf("inlier_worker_sync_seconds");
  prometheus::Gauge& connected = registry.GaugeOf("inlier_worker_connected");
  prometheus::Counter& train_steps = registry.CounterOf("inlier_worker_train_steps_total");
  prometheus::Counter& child_cpu_seconds = registry.CounterOf("inlier_worker_child_cpu_seconds_total");
  prometheus::Gauge& child_resident_bytes = registry.GaugeOf("inlier_worker_child_resident_bytes");
  struct Artifacts {
    prometheus::Counter &fetched, &sent, &bytes_fetched, &bytes_sent, &failures;
  } artifacts{.fetched = registry.CounterOf("inlier_worker_artifacts_total", {"FETCHED"}),
              .sent = registry.CounterOf("inlier_worker_artifacts_total", {"SENT"}),
              .bytes_fetched = registry.CounterOf("inlier_worker_artifact_bytes_total", {"FETCHED"}),
              .bytes_sent = registry.CounterOf("inlier_worker_artifact_bytes_total", {"SENT"}),
              .failures = registry.CounterOf("inlier_worker_artifact_failures_total")};

  // Absent numbers have no series.
  void SetGpus(std::span<const v1::DeviceReading> readings);

  void AttemptEnded(const v1::Outcome& outcome) {
    registry.CounterOf("inlier_worker_attempts_ended_total", {OutcomeLabel(outcome)}).Increment();
  }
};

}  // namespace inlier

#endif  // INLIER_WORKER_WORKER_METRICS_H_
