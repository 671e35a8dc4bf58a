#include "coordinator/metrics/metrics.h"

#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/version.h"
#include "coordinator/metrics/live_metrics.h"
#include "fleet/status.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "rpc/methods.h"

namespace inlier {
namespace {

using Labels = std::vector<std::vector<std::string>>;

constexpr v1::StageKind kKinds[] = {v1::TRAIN_STAGE, v1::EVALUATE_STAGE};
constexpr const char* kOutcomes[] = {"SUCCEEDED", "DIVERGED", "FAILED", "CANCELLED", "PREEMPTED"};
constexpr const char* kWorkerStates[] = {"CONNECTED", "DRAINING", "LOST"};

template <typename Range, typename Name>
Labels LabelsOf(const Range& range, Name name) {
  Labels labels;
  for (const auto& value : range) labels.push_back({name(value)});
  return labels;
}

Labels NamesOf(const google::protobuf::EnumDescriptor* type) {
  Labels labels;
  for (int i = 0; i < type->value_count(); ++i) labels.push_back({type->value(i)->name()});
  return labels;
}

// Every pair of a label of `first` and one of `second`.
Labels Pairs(const Labels& first, const Labels& second) {
  Labels labels;
  for (const auto& a : first) {
    for (const auto& b : second) labels.push_back({a.front(), b.front()});
  }
  return labels;
}

MetricSpec Counter(std::string name, std::string help, std::vector<std::string> labels = {},
                   Labels known = {}) {
  return {std::move(name), MetricKind::kCounter, std::move(help), std::move(labels), {}, std::move(known)};
}
MetricSpec Gauge(std::string name, std::string help, std::vector<std::string> labels = {},
                 Labels known = {}) {
  return {std::move(name), MetricKind::kGauge, std::move(help), std::move(labels), {}, std::move(known)};
}
MetricSpec Histogram(std::string name, std::string help, std::vector<double> buckets,
                     std::vector<std::string> labels = {}, Labels known = {}) {
  return {std::move(name),   MetricKind::kHistogram, std::move(help),
          std::move(labels), std::move(buckets),     std::move(known)};
}

std::vector<MetricSpec> MakeTable() {
  const auto text = [](const char* name) { return std::string(name); };
  const Labels kinds = LabelsOf(kKinds, KindLabel);
  const Labels methods = LabelsOf(Methods(), [](const Method& method) { return method.name; });
  const Labels states = NamesOf(v1::TrialState_descriptor());
  const std::vector<double> rows = {1, 3, 10, 30, 100, 300, 1000, 3000, 10000};
  const std::vector<double> waits = {0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000};
  const std::vector<double> rates = {0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000};
  std::vector<MetricSpec> table = {
      Gauge("inlier_build_info", "Always 1; the labels name the version and the build.", {"version", "build"},
            {{Version(), BuildId()}}),
      Gauge("inlier_sweeps", "Sweeps by state.", {"state"}, NamesOf(v1::SweepState_descriptor())),
      Gauge("inlier_sweeps_paused", "ACTIVE sweeps that are paused."),
      Gauge("inlier_trials", "Trials by state, without points of lazy grids that are not expanded yet.",
            {"state"}, states),
      Gauge("inlier_stages", "Stages by kind and state.", {"kind", "state"}, Pairs(kinds, states)),
      Counter("inlier_sweeps_submitted_total", "Sweeps accepted."),
      Counter("inlier_trials_known_total", "Trials that had their result when they were submitted."),
      Counter("inlier_attempts_started_total", "Attempts leased to a worker.", {"kind"}, kinds),
      Counter("inlier_attempts_ended_total", "Attempts that ended, by outcome.", {"kind", "outcome"},
              Pairs(kinds, LabelsOf(kOutcomes, text))),
      Counter("inlier_attempt_failures_total", "Attempts that ended without a result, by reason.",
              {"failure"}, NamesOf(v1::FailureClass_descriptor())),
      Counter("inlier_attempt_seconds_total", "Time of attempts that ended, from their leases.", {"kind"},
              kinds),
      Counter("inlier_gpu_seconds_total",
              "Time of attempts that ended, multiplied by the share of a GPU that each had."),
      Counter("inlier_attempts_adopted_total",
              "Attempts that a worker continued after a restart of the coordinator."),
      Counter("inlier_stage_retries_total", "Failed attempts whose stage is retried."),
      Gauge("inlier_gpus_leased", "Sum of the shares of GPUs of live attempts."),
      Gauge("inlier_leases", "Live attempts."),
      Counter("inlier_leases_expired_total", "Leases that ended because their worker was silent."),
      Histogram("inlier_lease_wait_seconds", "Time from a stage being ready to its lease.", waits),
      Histogram("inlier_train_steps_per_second", "Mean speed of each train attempt that succeeded.", rates),
      Gauge("inlier_workers", "Workers by state.", {"state"}, LabelsOf(kWorkerStates, text)),
      Gauge("inlier_devices_quarantined", "Devices of connected workers that get no attempts but probes."),
      Counter("inlier_quarantines_total",
              "Devices put in quarantine because attempts on them failed in a row."),
      Gauge("inlier_slots", "Slots of connected workers."),
      Gauge("inlier_slots_busy", "Slots with an attempt."),
      Counter("inlier_syncs_refused_total",
              "Syncs of workers refused: another version, or an invalid message."),
      Counter("inlier_events_received_total", "Events of attempts received, each once."),
      Counter("inlier_doubled_events_total", "Events received again after they had been recorded."),
      Counter(
          "inlier_stale_events_total",
          "Events refused because their token was no longer live: measurements, checkpoints and outcomes."),
      Counter("inlier_invalid_events_total", "Events dropped because they are invalid."),
      Counter("inlier_thinned_events_total", "Measurements that workers dropped under back-pressure."),
      Counter("inlier_measurements_committed_total", "Measurements stored in the database."),
      Counter("inlier_commits_total", "Transactions committed."),
      Histogram("inlier_commit_seconds", "BEGIN to COMMIT of one transaction, with its fsync.",
                LatencyBuckets()),
      Histogram("inlier_commit_rows", "Changes in one transaction.", rows),
      Counter("inlier_fenced_rows_total",
              "Changes that the database refused because their token was not live."),
      Gauge("inlier_commit_queue_rows", "Changes waiting for their commit."),
      Gauge("inlier_commit_queue_bytes", "Estimated memory of the changes waiting for their commit."),
      Gauge("inlier_wal_bytes", "Size of the write-ahead log."),
      Counter("inlier_notifications_delivered_total", "Notifications that their hook has taken.", {"hook"}),
      Counter("inlier_notification_failed_tries_total", "Tries to deliver a notification that failed.",
              {"hook"}),
      Counter("inlier_notifications_given_up_total",
              "Notifications whose last try failed give_up_hours after the event.", {"hook"}),
      Gauge("inlier_notifications_waiting", "Notifications that are not delivered yet.", {"hook"}),
      Gauge("inlier_store_available", "1 while the database accepts commits, 0 while its disk is full."),
      Gauge("inlier_standby", "1 while this coordinator waits for another one to end, 0 while it works."),
      Counter("inlier_artifact_bytes_total", "Bytes of artifacts received from workers and sent to them.",
              {"direction"}, {{"RECEIVED"}, {"SENT"}}),
      Counter("inlier_rpcs_total", "Calls answered, by method and gRPC code.", {"method", "code"},
              Pairs(methods, {{"OK"}})),
      Counter("inlier_calls_refused_total", "Calls refused before they had any effect, by reason.",
              {"reason"}, {{"UNAUTHENTICATED"}, {"FORBIDDEN"}, {"VERSION"}, {"RATE"}, {"AT_ONCE"}}),
      Histogram("inlier_rpc_seconds", "Time to answer a call, its commit included; of a Session, one sync.",
                LatencyBuckets(), {"method"}, methods),
  };
  for (MetricSpec& spec : FleetMetricTable()) table.push_back(std::move(spec));
  for (MetricSpec& spec : LiveMetricTable()) table.push_back(std::move(spec));
  return table;
}

}  // namespace

const std::vector<MetricSpec>& CoordinatorMetricTable() {
  static const auto* const table = new std::vector<MetricSpec>(MakeTable());
  return *table;
}

CoordinatorMetrics::CoordinatorMetrics(std::uint32_t sweeps_max)
    : sweeps_max_(sweeps_max), registry_(CoordinatorMetricTable()) {
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
  registry_.CounterOf("inlier_calls_refused_total", {absl::AsciiStrToUpper(reason)}).Increment();
}

void CoordinatorMetrics::ObserveDelivery(const std::string& hook, std::optional<TryOutcome::Kind> tried,
                                         std::uint64_t waiting) {
  // Each series exists from the first call on.
  prometheus::Counter& delivered = registry_.CounterOf("inlier_notifications_delivered_total", {hook});
  prometheus::Counter& failed = registry_.CounterOf("inlier_notification_failed_tries_total", {hook});
  prometheus::Counter& given_up = registry_.CounterOf("inlier_notifications_given_up_total", {hook});
  if (!tried)
    return registry_.GaugeOf("inlier_notifications_waiting", {hook}).Set(static_cast<double>(waiting));
  (*tried == TryOutcome::Kind::kTaken     ? delivered
   : *tried == TryOutcome::Kind::kGivenUp ? given_up
                                          : failed)
      .Increment();
}

void CoordinatorMetrics::ObserveEffects(const Effects& effects) {
  for (const double seconds : effects.lease_wait_seconds)
    registry_.HistogramOf("inlier_lease_wait_seconds").Observe(seconds);
  for (const double rate : effects.train_steps_per_second)
    registry_.HistogramOf("inlier_train_steps_per_second").Observe(rate);
}

void CoordinatorMetrics::Raise(const std::string& name, const std::vector<std::string>& labels,
                               double total) {
  prometheus::Counter& counter = registry_.CounterOf(name, labels);
  const double more = total - counter.Value();
  if (more > 0) counter.Increment(more);
}

void CoordinatorMetrics::Update(const Orchestrator& orchestrator, const CommitterHealth& store,
                                SweepResults& results) {
  const State& state = orchestrator.state();
  const auto set = [this](const char* name, const std::vector<std::string>& labels, auto value) {
    registry_.GaugeOf(name, labels).Set(static_cast<double>(value));
  };
  for (const auto& [value, count] : state.counts.sweeps)
    set("inlier_sweeps", {v1::SweepState_Name(value)}, count);
  set("inlier_sweeps_paused", {}, state.counts.paused_sweeps);
  for (const auto& [value, count] : state.counts.trials)
    set("inlier_trials", {v1::TrialState_Name(value)}, count);
  for (const auto& [key, count] : state.counts.stages)
    set("inlier_stages", {KindLabel(key.first), v1::TrialState_Name(key.second)}, count);
  std::map<std::string, int> workers;
  int quarantined = 0;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    const bool draining = worker.unavailable.draining || worker.unavailable.held;
    ++workers[!worker.connected ? "LOST" : draining ? "DRAINING" : "CONNECTED"];
    for (const auto& [device, health] : worker.devices)
      quarantined += worker.connected && health.InQuarantine();
  }
  for (const char* value : kWorkerStates) set("inlier_workers", {value}, workers[value]);
  set("inlier_devices_quarantined", {}, quarantined);
  set("inlier_leases", {}, state.leases.size());
  std::uint64_t gpu_thousandths = 0, slots = 0;
  for (const auto& [token, attempt] : state.attempts) {
    gpu_thousandths += attempt.gpu_thousandths;
    slots += attempt.request.processes;
  }
  set("inlier_gpus_leased", {}, static_cast<double>(gpu_thousandths) / 1000);
  set("inlier_slots", {}, state.workers.slots());
  set("inlier_slots_busy", {}, slots);
  set("inlier_commit_queue_rows", {}, store.queued_rows);
  set("inlier_commit_queue_bytes", {}, store.queued_bytes);
  set("inlier_wal_bytes", {}, store.wal_bytes);
  set("inlier_store_available", {}, store.status.ok() ? 1 : 0);

  const std::vector<SweepId> sweeps = LatestSweeps(state, sweeps_max_);
  for (const auto& [family, series] : LiveSeries(state, sweeps, results.Of(sweeps)))
    registry_.ReplaceGauge(family, series);

  const OrchestratorStats& stats = state.stats;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    const std::string label = KindLabel(kKinds[kind]);
    Raise("inlier_attempts_started_total", {label}, stats.attempts_started[kind]);
    Raise("inlier_attempt_seconds_total", {label}, stats.attempt_seconds[kind]);
    for (std::size_t outcome = 0; outcome < std::size(kOutcomes); ++outcome)
      Raise("inlier_attempts_ended_total", {label, kOutcomes[outcome]}, stats.attempts_ended[kind][outcome]);
  }
  for (const auto& [failure, count] : stats.failures)
    Raise("inlier_attempt_failures_total", {v1::FailureClass_Name(failure)}, count);
  Raise("inlier_gpu_seconds_total", {}, stats.gpu_seconds);
  const std::pair<const char*, std::uint64_t> plain[] = {
      {"inlier_sweeps_submitted_total", stats.sweeps_submitted},
      {"inlier_trials_known_total", stats.trials_known},
      {"inlier_attempts_adopted_total", stats.attempts_adopted},
      {"inlier_stage_retries_total", stats.retries},
      {"inlier_quarantines_total", stats.quarantines},
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

void CoordinatorMetrics::ObserveFleet(const Fleet& fleet) {
  for (const auto& [family, sample] : FleetGauges(fleet))
    registry_.GaugeOf(family, sample.labels).Set(sample.value);
  for (const auto& [name, total] : FleetCounters(fleet)) Raise(name, {}, total);
}

}  // namespace inlier
