#include "worker/worker_metrics.h"

#include "base/version.h"

namespace inlier {

std::vector<MetricSpec> WorkerMetricsTable() {
  std::vector<std::vector<std::string>> outcomes = {{"SUCCEEDED"}, {"DIVERGED"}};
  for (int i = v1::FailureClass_MIN; i <= v1::FailureClass_MAX; ++i) {
    if (v1::FailureClass_IsValid(i))
      outcomes.push_back({v1::FailureClass_Name(static_cast<v1::FailureClass>(i))});
  }
  using enum MetricKind;
  const std::vector<std::string> gpu = {"device", "model"}, outcome = {"outcome"}, direction = {"direction"};
  const std::vector<std::vector<std::string>> directions = {{"FETCHED"}, {"SENT"}};
  const std::vector<double> none;
  return {
      {"inlier_build_info", kGauge, "Always 1; the labels name the build.", {"version", "build"}},
      {"inlier_worker_slots", kGauge, "Places to run an attempt."},
      {"inlier_worker_slots_busy", kGauge, "Slots with a live attempt."},
      {"inlier_worker_attempts_started_total", kCounter,
       "Attempts whose child was started, or failed to start."},
      {"inlier_worker_attempts_ended_total", kCounter, "Attempts that ended, by outcome.", outcome, none,
       outcomes},
      {"inlier_worker_outbox_events", kGauge, "Events the coordinator has not committed yet."},
      {"inlier_worker_events_thinned_total", kCounter,
       "Curve points and log lines dropped because the outbox was full."},
      {"inlier_worker_garbage_lines_total", kCounter,
       "Lines of children on the event descriptor that were no events."},
      {"inlier_worker_syncs_failed_total", kCounter, "Syncs and sessions that ended with an error."},
      {"inlier_worker_reconnects_total", kCounter,
       "Times the connection to the coordinator came back after it was lost."},
      {"inlier_worker_leases_lost_total", kCounter,
       "Times the lease ran out while attempts were running. They run on for hold_seconds."},
      {"inlier_worker_sync_seconds", kHistogram, "From sending a sync to its answer.", {}, LatencyBuckets()},
      {"inlier_worker_connected", kGauge, "1 while the coordinator answers, else 0."},
      {"inlier_worker_train_steps_total", kCounter, "Optimizer updates done by children."},
      {"inlier_worker_child_cpu_seconds_total", kCounter, "CPU time of children, live and ended."},
      {"inlier_worker_child_resident_bytes", kGauge, "Resident memory of live children."},
      {"inlier_worker_artifacts_total", kCounter, "Checkpoints moved whole, from the coordinator or to it.",
       direction, none, directions},
      {"inlier_worker_artifact_bytes_total", kCounter, "Bytes of checkpoints moved, repeated bytes included.",
       direction, none, directions},
      {"inlier_worker_artifact_failures_total", kCounter, "Times a transfer of a checkpoint broke."},
      {"inlier_worker_gpu_utilization_ratio", kGauge, "Share of time in which a kernel ran, 0 to 1.", gpu},
      {"inlier_worker_gpu_memory_used_bytes", kGauge, "Memory of the GPU in use, by any program.", gpu},
      {"inlier_worker_gpu_memory_total_bytes", kGauge, "Memory of the GPU.", gpu},
      {"inlier_worker_gpu_temperature_celsius", kGauge, "Temperature of the GPU.", gpu},
      {"inlier_worker_gpu_power_watts", kGauge, "Power that the GPU draws.", gpu},
      {"inlier_worker_gpu_memory_errors", kGauge,
       "Uncorrected errors of the GPU's memory since its driver was loaded.", gpu},
  };
}

std::string OutcomeLabel(const v1::Outcome& outcome) {
  return outcome.kind() == v1::Outcome::FAILED ? v1::FailureClass_Name(outcome.failure())
                                               : v1::Outcome::Kind_Name(outcome.kind());
}

WorkerMetrics::WorkerMetrics() { registry.GaugeOf("inlier_build_info", {Version(), BuildId()}).Set(1); }

void WorkerMetrics::SetGpus(std::span<const v1::DeviceReading> readings) {
  using Reading = v1::DeviceReading;
  const auto replace = [&](const std::string& name, auto has, auto value, double scale = 1) {
    std::vector<GaugeSample> samples;
    for (const Reading& gpu : readings) {
      if ((gpu.*has)())
        samples.push_back({{gpu.device(), gpu.name()}, scale * static_cast<double>((gpu.*value)())});
    }
    registry.ReplaceGauge("inlier_worker_gpu_" + name, samples);
  };
  constexpr double kMib = 1 << 20;
  replace("utilization_ratio", &Reading::has_utilization, &Reading::utilization);
  replace("memory_used_bytes", &Reading::has_memory_used_mib, &Reading::memory_used_mib, kMib);
  replace("memory_total_bytes", &Reading::has_memory_total_mib, &Reading::memory_total_mib, kMib);
  replace("temperature_celsius", &Reading::has_temperature_celsius, &Reading::temperature_celsius);
  replace("power_watts", &Reading::has_power_watts, &Reading::power_watts);
  replace("memory_errors", &Reading::has_memory_errors, &Reading::memory_errors);
}

}  // namespace inlier
