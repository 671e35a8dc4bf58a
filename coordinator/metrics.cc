#include "coordinator/metrics.h"

#include <utility>

#include "base/version.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {
namespace {

using Labels = std::vector<std::vector<std::string>>;

constexpr v1::StageKind kKinds[] = {v1::TRAIN_STAGE, v1::EVALUATE_STAGE};
constexpr v1::TrialState kStates[] = {v1::PENDING,  v1::RUNNING, v1::SUCCEEDED,
                                      v1::DIVERGED, v1::FAILED,  v1::CANCELLED};
constexpr v1::SweepState kSweepStates[] = {v1::ACTIVE, v1::COMPLETE, v1::SWEEP_CANCELLED,
                                           v1::STOPPED_BY_FAILURES};
constexpr v1::FailureClass kFailures[] = {v1::INVALID_SPEC, v1::OUT_OF_MEMORY, v1::CRASHED, v1::TIMED_OUT,
                                          v1::LOST,         v1::PREEMPTED,     v1::STALLED};
constexpr const char* kOutcomes[] = {"SUCCEEDED", "DIVERGED", "FAILED", "CANCELLED"};
constexpr const char* kWorkerStates[] = {"connected", "draining", "lost"};
constexpr const char* kMethods[] = {
    "Session",       "Sync",    "SubmitSweep", "ListSweeps", "GetSweep",    "ListTrials",
    "WatchSweep",    "Cancel",  "Retry",       "PauseSweep", "ResumeSweep", "EditSweep",
    "DrainWorker",   "Explain", "ListWorkers", "Query",      "BuildTable",  "GetLogs",
    "DescribeStore", "Stat",    "Upload",      "Download",   "Collect"};

std::string KindLabel(v1::StageKind kind) { return kind == v1::TRAIN_STAGE ? "train" : "evaluate"; }

Labels KindLabels() { return {{"train"}, {"evaluate"}}; }

Labels KindAndStateLabels() {
  Labels labels;
  for (const v1::StageKind kind : kKinds) {
    for (const v1::TrialState state : kStates)
      labels.push_back({KindLabel(kind), v1::TrialState_Name(state)});
  }
  return labels;
}

Labels KindAndOutcomeLabels() {
  Labels labels;
  for (const v1::StageKind kind : kKinds) {
    for (const char* outcome : kOutcomes) labels.push_back({KindLabel(kind), outcome});
  }
  return labels;
}

template <typename Range, typename Name>
Labels LabelsOf(const Range& range, Name name) {
  Labels labels;
  for (const auto& value : range) labels.push_back({name(value)});
  return labels;
}

std::vector<MetricSpec> MakeTable() {
  const auto counter = MetricKind::kCounter;
  const auto gauge = MetricKind::kGauge;
  const auto histogram = MetricKind::kHistogram;
  const auto text = [](const char* name) { return std::string(name); };
  const Labels states = LabelsOf(kStates, [](v1::TrialState s) { return v1::TrialState_Name(s); });
  const std::vector<double> rows = {1, 3, 10, 30, 100, 300, 1000, 3000, 10000};
  const std::vector<double> waits = {0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000};
  const std::vector<double> rates = {0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000};
  return {
      {"inlier_build_info",
       gauge,
       "Always 1; the labels name the version and the build.",
       {"version", "build"},
       {},
       {{Version(), BuildId()}}},
      {"inlier_sweeps",
       gauge,
       "Sweeps by state.",
       {"state"},
       {},
       LabelsOf(kSweepStates, [](v1::SweepState s) { return v1::SweepState_Name(s); })},
      {"inlier_sweeps_paused", gauge, "ACTIVE sweeps that are paused."},
      {"inlier_trials",
       gauge,
       "Trials by state, without points of lazy grids that are not expanded yet.",
       {"state"},
       {},
       states},
      {"inlier_stages", gauge, "Stages by kind and state.", {"kind", "state"}, {}, KindAndStateLabels()},
      {"inlier_sweeps_submitted_total", counter, "Sweeps accepted."},
      {"inlier_trials_known_total", counter, "Trials that had their result when they were submitted."},
      {"inlier_attempts_started_total", counter, "Attempts leased to a worker.", {"kind"}, {}, KindLabels()},
      {"inlier_attempts_ended_total",
       counter,
       "Attempts that ended, by outcome.",
       {"kind", "outcome"},
       {},
       KindAndOutcomeLabels()},
      {"inlier_attempt_failures_total",
       counter,
       "Attempts that FAILED, by class.",
       {"failure"},
       {},
       LabelsOf(kFailures, [](v1::FailureClass f) { return v1::FailureClass_Name(f); })},
      {"inlier_attempts_adopted_total", counter,
       "Attempts that a worker continued after a restart of the coordinator."},
      {"inlier_stage_retries_total", counter, "Failed attempts whose stage is retried."},
      {"inlier_leases", gauge, "Live attempts."},
      {"inlier_leases_expired_total", counter, "Leases that ended because their worker was silent."},
      {"inlier_lease_wait_seconds", histogram, "Time from a stage being ready to its lease.", {}, waits},
      {"inlier_train_steps_per_second",
       histogram,
       "Mean speed of each train attempt that succeeded.",
       {},
       rates},
      {"inlier_workers", gauge, "Workers by state.", {"state"}, {}, LabelsOf(kWorkerStates, text)},
      {"inlier_slots", gauge, "Slots of connected workers."},
      {"inlier_slots_busy", gauge, "Slots with an attempt."},
      {"inlier_syncs_refused_total", counter,
       "Syncs of workers refused: another version, or an invalid message."},
      {"inlier_events_received_total", counter, "Events of attempts received, each once."},
      {"inlier_doubled_events_total", counter, "Events received again after they had been recorded."},
      {"inlier_stale_events_total", counter,
       "Events refused because their token was no longer live: measurements, checkpoints and outcomes."},
      {"inlier_invalid_events_total", counter, "Events dropped because they are invalid."},
      {"inlier_thinned_events_total", counter, "Measurements that workers dropped under back-pressure."},
      {"inlier_measurements_committed_total", counter, "Measurements stored in the database."},
      {"inlier_commits_total", counter, "Transactions committed."},
      {"inlier_commit_seconds",
       histogram,
       "BEGIN to COMMIT of one transaction, with its fsync.",
       {},
       LatencyBuckets()},
      {"inlier_commit_rows", histogram, "Changes in one transaction.", {}, rows},
      {"inlier_fenced_rows_total", counter,
       "Changes that the database refused because their token was not live."},
      {"inlier_commit_queue_rows", gauge, "Changes waiting for their commit."},
      {"inlier_commit_queue_bytes", gauge, "Estimated memory of the changes waiting for their commit."},
      {"inlier_wal_bytes", gauge, "Size of the write-ahead log."},
      {"inlier_store_available", gauge, "1 while the database accepts commits, 0 while its disk is full."},
      {"inlier_artifact_bytes_total",
       counter,
       "Bytes of artifacts received from workers and sent to them.",
       {"direction"},
       {},
       {{"received"}, {"sent"}}},
      {"inlier_rpcs_total",
       counter,
       "Calls answered, by method and gRPC code.",
       {"method", "code"},
       {},
       LabelsOf(kMethods, text)},
      {"inlier_calls_refused_total",
       counter,
       "Calls refused before they had any effect, by reason.",
       {"reason"},
       {},
       {{"unauthenticated"}, {"forbidden"}, {"version"}, {"rate"}}},
      {"inlier_rpc_seconds",
       histogram,
       "Time to answer a call, its commit included; of a Session, one sync.",
       {"method"},
       LatencyBuckets(),
       LabelsOf(kMethods, text)},
  };
}

}  // namespace

const std::vector<MetricSpec>& CoordinatorMetricTable() {
  static const std::vector<MetricSpec>* const table = [] {
    auto* made = new std::vector<MetricSpec>(MakeTable());
    for (MetricSpec& spec : *made) {
      if (spec.name != "inlier_rpcs_total") continue;
      for (auto& labels : spec.known_labels) labels.push_back("OK");
    }
    return made;
  }();
  return *table;
}

CoordinatorMetrics::CoordinatorMetrics() : registry_(CoordinatorMetricTable()) {
  registry_.GaugeOf("inlier_build_info", {Version(), BuildId()}).Set(1);
  registry_.GaugeOf("inlier_store_available").Set(1);
}

void CoordinatorMetrics::ObserveCommit(const CommitStats& stats) {
  registry_.CounterOf("inlier_commits_total").Increment();
  registry_.HistogramOf("inlier_commit_seconds").Observe(ToSeconds(stats.duration));
  registry_.HistogramOf("inlier_commit_rows").Observe(static_cast<double>(stats.rows));
  if (stats.fenced > 0)
    registry_.CounterOf("inlier_fenced_rows_total").Increment(static_cast<double>(stats.fenced));
}

void CoordinatorMetrics::ObserveRpc(const std::string& method, const std::string& code, Duration duration) {
  registry_.CounterOf("inlier_rpcs_total", {method, code}).Increment();
  registry_.HistogramOf("inlier_rpc_seconds", {method}).Observe(ToSeconds(duration));
}

void CoordinatorMetrics::ObserveArtifactBytes(const std::string& direction, std::uint64_t bytes) {
  registry_.CounterOf("inlier_artifact_bytes_total", {direction}).Increment(static_cast<double>(bytes));
}

void CoordinatorMetrics::CountRefusedCall(const char* reason) {
  registry_.CounterOf("inlier_calls_refused_total", {reason}).Increment();
}

void CoordinatorMetrics::ObserveEffects(const Effects& effects) {
  for (const double seconds : effects.lease_wait_seconds)
    registry_.HistogramOf("inlier_lease_wait_seconds").Observe(seconds);
  for (const double rate : effects.train_steps_per_second) {
    registry_.HistogramOf("inlier_train_steps_per_second").Observe(rate);
  }
}

void CoordinatorMetrics::Raise(const std::string& name, const std::vector<std::string>& labels,
                               std::uint64_t total) {
  std::string key = name;
  for (const std::string& label : labels) key += "\n" + label;
  std::uint64_t& raised = raised_[key];
  if (total <= raised) return;
  registry_.CounterOf(name, labels).Increment(static_cast<double>(total - raised));
  raised = total;
}

void CoordinatorMetrics::Update(const Orchestrator& orchestrator, const CommitterHealth& store) {
  const auto set = [this](const std::string& name, const std::vector<std::string>& labels, double value) {
    registry_.GaugeOf(name, labels).Set(value);
  };
  for (const auto& [state, count] : orchestrator.state().counts.sweeps) {
    set("inlier_sweeps", {v1::SweepState_Name(state)}, static_cast<double>(count));
  }
  set("inlier_sweeps_paused", {}, static_cast<double>(orchestrator.state().counts.paused_sweeps));
  for (const auto& [state, count] : orchestrator.state().counts.trials) {
    set("inlier_trials", {v1::TrialState_Name(state)}, static_cast<double>(count));
  }
  for (const auto& [key, count] : orchestrator.state().counts.stages) {
    set("inlier_stages", {KindLabel(key.first), v1::TrialState_Name(key.second)}, static_cast<double>(count));
  }
  std::map<std::string, int> workers;
  for (const auto& [incarnation, worker] : orchestrator.state().workers.all()) {
    ++workers[!worker.connected ? "lost" : worker.draining || worker.held ? "draining" : "connected"];
  }
  for (const char* state : kWorkerStates) set("inlier_workers", {state}, workers[state]);
  set("inlier_leases", {}, static_cast<double>(orchestrator.state().leases.size()));
  set("inlier_slots", {}, static_cast<double>(orchestrator.state().workers.slots()));
  set("inlier_slots_busy", {}, static_cast<double>(orchestrator.state().leases.size()));
  set("inlier_commit_queue_rows", {}, static_cast<double>(store.queued_rows));
  set("inlier_commit_queue_bytes", {}, static_cast<double>(store.queued_bytes));
  set("inlier_wal_bytes", {}, static_cast<double>(store.wal_bytes));
  set("inlier_store_available", {}, store.status.ok() ? 1 : 0);

  const OrchestratorStats& stats = orchestrator.state().stats;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    const std::string label = KindLabel(kKinds[kind]);
    Raise("inlier_attempts_started_total", {label}, stats.attempts_started[kind]);
    for (std::size_t outcome = 0; outcome < 4; ++outcome) {
      Raise("inlier_attempts_ended_total", {label, kOutcomes[outcome]}, stats.attempts_ended[kind][outcome]);
    }
  }
  for (const auto& [failure, count] : stats.failures) {
    Raise("inlier_attempt_failures_total", {v1::FailureClass_Name(failure)}, count);
  }
  const std::pair<const char*, std::uint64_t> plain[] = {
      {"inlier_sweeps_submitted_total", stats.sweeps_submitted},
      {"inlier_trials_known_total", stats.trials_known},
      {"inlier_attempts_adopted_total", stats.attempts_adopted},
      {"inlier_stage_retries_total", stats.retries},
      {"inlier_leases_expired_total", stats.leases_expired},
      {"inlier_syncs_refused_total", stats.syncs_refused},
      {"inlier_events_received_total", stats.events_received},
      {"inlier_doubled_events_total", stats.events_doubled},
      {"inlier_stale_events_total", stats.events_stale},
      {"inlier_invalid_events_total", stats.events_invalid},
      {"inlier_thinned_events_total", stats.events_thinned},
      {"inlier_measurements_committed_total", stats.measurements},
  };
  for (const auto& [name, total] : plain) Raise(name, {}, total);
}

}  // namespace inlier
