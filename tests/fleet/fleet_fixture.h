// A fleet on a coordinator and a Slurm that the test plays.
#ifndef INLIER_TESTS_FLEET_FLEET_FIXTURE_H_
#define INLIER_TESTS_FLEET_FLEET_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fleet/fleet.h"
#include "fleet/status.h"
#include "fleet/store.h"
#include "tests/fleet/fleet_config.h"

namespace inlier {

// The test sets what waits and which workers there are (view_), what the queue lists (queue_) and how sbatch ends.
class FleetTest : public testing::Test {
 protected:
  using Phase = EngineJob::Phase;
  using Kind = Submitted::Kind;
  using Worker = ClusterView::Worker;

  explicit FleetTest(std::optional<v1::FleetConfig> config = SmallFleet())
      : options_{.config = std::move(config), .new_id = "3fa9c1d2"} {
    Restart();
  }

  FleetContext Context() {
    return {.fleet = fleet_, .view = view_, .now = now_, .wall = WallTime{1'700'000'000'000}};
  }
  void Store(const FleetContext& context) {
    for (const FleetChange& change : context.changes) {
      if (const auto* row = std::get_if<FleetRow>(&change)) row_ = *row;
      if (const auto* row = std::get_if<FleetSubmissionRow>(&change)) rows_[row->number] = *row;
    }
  }
  // Another process starts from the store.
  void Restart(const std::string& home = "/here", bool copied = false) {
    StoredFleet stored{.home = home, .row = row_, .copied = copied};
    for (const auto& [number, row] : rows_) {
      if (!row.ended_at) stored.submissions.push_back(row);
      stored.next_submission = number + 1;
    }
    fleet_ = {};
    FleetContext context = Context();
    ASSERT_TRUE(RecoverFleet(context, options_, stored).ok());
    Store(context);
  }
  template <typename Response, typename Request, typename... More>
  absl::StatusOr<Response> Ask(absl::StatusOr<Response> (*decide)(FleetContext&, const Request&, More...),
                               const Request& request, std::decay_t<More>... more) {
    FleetContext context = Context();
    absl::StatusOr<Response> response = decide(context, request, more...);
    Store(context);
    return response;
  }
  void Stop(bool resume = false) {
    v1::StopFleetRequest request;
    request.set_resume(resume);
    ASSERT_TRUE(Ask(&StopFleet, request).ok());
  }

  FleetStep Look(absl::StatusOr<std::vector<EngineJob>> jobs) {
    now_ += std::chrono::seconds(10);
    FleetContext context = Context();
    FleetStep step = TakeLook(context, {.began = now_ - std::chrono::seconds(1), .jobs = std::move(jobs)});
    ConfirmGivenBack(context, step);
    Store(context);
    return step;
  }
  FleetStep Look() { return Look(queue_); }
  // Looks until something is cancelled.
  std::vector<std::string> LookUntilCancelled(int most) {
    std::vector<std::string> cancelled;
    for (int look = 0; look < most && cancelled.empty(); ++look) cancelled = Look().cancel;
    return cancelled;
  }
  void Answer(const Submitted& submitted) {
    FleetContext context = Context();
    TakeSubmitted(context, submitted);
    Store(context);
  }
  // A look with a submission, which Slurm takes as `job`; its jobs are then queued.
  void Take(const std::string& job) {
    const FleetStep step = Look();
    ASSERT_TRUE(step.submit.has_value());
    Answer({.number = step.submit->number, .kind = Kind::kTaken, .job = job});
    for (std::uint32_t i = 0; i < step.submit->jobs; ++i)
      Queue(step.submit->jobs == 1 ? job : absl::StrCat(job, "_", i), step.submit->number);
  }
  void Queue(const std::string& id, std::uint64_t submission) {
    queue_.push_back({.id = id, .submission = submission, .state = "PENDING", .reason = "Priority"});
  }
  void Set(Phase phase, const std::string& state, const std::string& reason = "") {
    for (EngineJob& job : queue_) {
      job.phase = phase;
      job.state = state;
      job.reason = reason;
    }
  }
  // Of `stages` that request nothing in particular.
  void Wait(std::uint64_t stages) { view_.backlog = {{ResourceRequest(), stages}}; }
  // A worker of the job, connected, with two slots and as many attempts as are given, which no longer wait.
  Worker& Connect(const std::string& job, std::uint32_t attempts = 0) {
    Worker& worker = view_.workers.emplace_back();
    worker.incarnation = absl::StrCat("w", view_.workers.size());
    worker.name = absl::StrCat("worker-", job);
    worker.job = job;
    worker.connected = true;
    worker.last_seen = now_;
    worker.slots.resize(2);
    worker.slots[1].set_index(1);
    worker.attempts = attempts;
    worker.seconds_left = 3000;
    return worker;
  }
  // A job of one more submission, running, and its worker with an attempt, which the fleet has seen.
  Worker& RunJob(const std::string& job) {
    Wait(1);
    Take(job);
    Wait(0);
    Set(Phase::kRunning, "RUNNING");
    Connect(job, 1);
    Look();
    return view_.workers.back();
  }
  std::string Rows() const {
    static constexpr const char* kStates[] = {"ASKED", "TAKEN", "REFUSED", "ENDED", "LOST"};
    std::string text;
    for (const auto& [number, row] : rows_)
      absl::StrAppend(&text, number, "|", row.jobs, "|", kStates[static_cast<int>(row.state)], "|", row.job,
                      "\n");
    return text;
  }
  std::vector<std::string> Reasons() { return FleetReasons(fleet_, now_); }

  FleetOptions options_;
  Timestamp now_{std::chrono::hours(1)};
  ClusterView view_;
  std::optional<FleetRow> row_;
  std::map<std::uint64_t, FleetSubmissionRow> rows_;
  Fleet fleet_;
  std::vector<EngineJob> queue_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_FLEET_FLEET_FIXTURE_H_
