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

  MetricsRegistry registry;
  prometheus::Gauge& slots;
  prometheus::Gauge& slots_busy;
  prometheus::Counter& attempts_started;
  prometheus::Gauge& outbox_events;
  prometheus::Counter& events_thinned;
  prometheus::Counter& garbage_lines;
  prometheus::Counter& syncs_failed;
  prometheus::Counter& reconnects;
  prometheus::Counter& leases_lost;
  prometheus::Histogram& sync_seconds;
  prometheus::Gauge& connected;
  prometheus::Counter& train_steps;
  prometheus::Counter& child_cpu_seconds;
  prometheus::Gauge& child_resident_bytes;
  struct Artifacts {
    prometheus::Counter& fetched;
    prometheus::Counter& sent;
    prometheus::Counter& bytes_fetched;
    prometheus::Counter& bytes_sent;
    prometheus::Counter& failures;
  } artifacts;

  // Absent numbers have no series.
  void SetGpus(std::span<const v1::GpuReading> readings);

  void AttemptEnded(const v1::Outcome& outcome) {
    registry.CounterOf("inlier_worker_attempts_ended_total", {OutcomeLabel(outcome)}).Increment();
  }
};

}  // namespace inlier

#endif  // INLIER_WORKER_WORKER_METRICS_H_
