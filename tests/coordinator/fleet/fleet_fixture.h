// A coordinator with a fleet, on a Slurm that the test plays.
#ifndef INLIER_TESTS_COORDINATOR_FLEET_FLEET_FIXTURE_H_
#define INLIER_TESTS_COORDINATOR_FLEET_FLEET_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/status/fleet_status.h"
#include "tests/coordinator/fleet/fleet_config.h"
#include "tests/coordinator/fleet/fleet_options.h"
#include "tests/coordinator/harness.h"

namespace inlier {

// Slurm as the driver sees it: the test says what its queue lists and how its programs end.
class FleetTest : public testing::Test {
 protected:
  explicit FleetTest(const v1::FleetConfig& config = SmallFleet()) : harness_(WithFleet(config)) {}

  FleetStep Look(absl::StatusOr<std::vector<EngineJob>> jobs) {
    harness_.Advance(std::chrono::seconds(10));
    Effects effects;
    FleetStep step = harness_.orchestrator().OnFleetLook(
        EngineLook{.began = harness_.now().at - std::chrono::seconds(1), .jobs = std::move(jobs)},
        harness_.now(), true, effects);
    harness_.Commit(std::move(effects));
    return step;
  }
  FleetStep Look() { return Look(queue_); }
  void Answer(const Submitted& submitted) {
    Effects effects;
    harness_.orchestrator().OnFleetSubmitted(submitted, harness_.now(), effects);
    harness_.Commit(std::move(effects));
  }
  // A look with a submission, which Slurm takes as `job`; its jobs are then queued.
  void Take(const std::string& job) {
    const FleetStep step = Look();
    ASSERT_TRUE(step.submit.has_value());
    Answer({.number = step.submit->number, .kind = Submitted::Kind::kTaken, .job = job});
    for (std::uint32_t i = 0; i < step.submit->jobs; ++i)
      Queue(step.submit->jobs == 1 ? job : absl::StrCat(job, "_", i), step.submit->number);
  }
  void Queue(const std::string& id, std::uint64_t submission) {
    queue_.push_back({.id = id,
                      .submission = submission,
                      .phase = EngineJob::Phase::kQueued,
                      .state = "PENDING",
                      .reason = "Priority"});
  }
  void Set(EngineJob::Phase phase, const std::string& state, const std::string& reason = "") {
    for (EngineJob& job : queue_) {
      job.phase = phase;
      job.state = state;
      job.reason = reason;
    }
  }
  // The worker of a job, connected.
  HandWorker Connect(const std::string& job, std::uint32_t seconds_left = 3000) {
    HandWorker worker("w-" + job, 2);
    worker.fields().set_job(job);
    worker.fields().set_job_seconds_left(seconds_left);
    harness_.Sync(worker);
    return worker;
  }
  // A job of one more submission, running, and its worker, which the fleet has seen.
  HandWorker RunJob(const std::string& job) {
    Take(job);
    Set(EngineJob::Phase::kRunning, "RUNNING");
    HandWorker worker = Connect(job);
    Look();
    return worker;
  }
  // The worker answers what it is asked about data, so that the trials of a sweep that was submitted since are ready.
  void Settle(HandWorker& worker) {
    for (int round = 0; round < 4; ++round) {
      harness_.Tick();
      harness_.Sync(worker);
    }
  }
  std::string Rows() {
    return harness_.Query("SELECT number, jobs, state, job FROM fleet_submission ORDER BY number");
  }
  std::vector<std::string> Reasons() {
    return FleetReasons(harness_.orchestrator().state(), harness_.now().at);
  }
  const Fleet& fleet() { return harness_.orchestrator().state().fleet; }

  Harness harness_;
  std::vector<EngineJob> queue_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_FLEET_FLEET_FIXTURE_H_
