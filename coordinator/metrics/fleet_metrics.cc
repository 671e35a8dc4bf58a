#include "coordinator/metrics/fleet_metrics.h"

namespace inlier {

std::vector<MetricSpec> FleetMetricTable() {
  const auto gauge = [](const char* name, const char* help, std::vector<std::string> labels = {},
                        std::vector<std::vector<std::string>> known = {}) {
    return MetricSpec{name, MetricKind::kGauge, help, std::move(labels), {}, std::move(known)};
  };
  const auto counter = [](const char* name, const char* help) {
    return MetricSpec{name, MetricKind::kCounter, help, {}, {}, {}};
  };
  return {
      gauge("inlier_fleet_jobs", "Jobs of the fleet, by state: UNCLEAR ones may be there.", {"state"},
            {{"QUEUED"}, {"RUNNING"}, {"LEAVING"}, {"UNCLEAR"}}),
      gauge("inlier_fleet_jobs_wanted", "Jobs that there is work for, within minimum and maximum."),
      gauge("inlier_fleet_stages_waiting", "Ready stages that no slot takes now and that a job could run."),
      gauge("inlier_fleet_engine_available", "1 while the engine's queue can be read."),
      counter("inlier_fleet_jobs_submitted_total", "Jobs that the engine took."),
      counter("inlier_fleet_jobs_given_back_total", "Jobs that were asked to end because there was no work."),
      counter("inlier_fleet_submissions_refused_total", "Submissions that the engine refused."),
      counter("inlier_fleet_submissions_unclear_total",
              "Submissions of which it was not known at once whether the engine took them."),
      counter("inlier_fleet_submissions_lost_total", "Submissions that never showed in the engine's queue."),
      counter("inlier_fleet_looks_failed_total", "Times that the engine's queue could not be read."),
  };
}

std::vector<std::pair<std::string, GaugeSample>> FleetGauges(const Fleet& fleet) {
  double queued = 0, running = 0, leaving = 0, unclear = 0;
  for (const auto& [id, job] : fleet.jobs) {
    ++(fleet.leaving.contains(id) ? leaving : job.phase == EngineJob::Phase::kQueued ? queued : running);
  }
  for (const auto& [number, submission] : fleet.submissions) {
    if (submission.row.state == FleetSubmissionRow::State::kAsked) unclear += submission.row.jobs;
  }
  return {{"inlier_fleet_jobs", {{"QUEUED"}, queued}},
          {"inlier_fleet_jobs", {{"RUNNING"}, running}},
          {"inlier_fleet_jobs", {{"LEAVING"}, leaving}},
          {"inlier_fleet_jobs", {{"UNCLEAR"}, unclear}},
          {"inlier_fleet_jobs_wanted", {{}, static_cast<double>(fleet.wanted)}},
          {"inlier_fleet_stages_waiting", {{}, static_cast<double>(fleet.waiting)}},
          {"inlier_fleet_engine_available", {{}, fleet.looked && fleet.problem.empty() ? 1.0 : 0.0}}};
}

std::vector<std::pair<std::string, std::uint64_t>> FleetCounters(const Fleet& fleet) {
  const FleetStats& stats = fleet.stats;
  return {{"inlier_fleet_jobs_submitted_total", stats.jobs_submitted},
          {"inlier_fleet_jobs_given_back_total", stats.jobs_cancelled},
          {"inlier_fleet_submissions_refused_total", stats.submissions_refused},
          {"inlier_fleet_submissions_unclear_total", stats.submissions_unclear},
          {"inlier_fleet_submissions_lost_total", stats.submissions_lost},
          {"inlier_fleet_looks_failed_total", stats.engine_failures}};
}

}  // namespace inlier
