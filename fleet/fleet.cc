#include "fleet/fleet.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/deliberate_bug.h"

namespace inlier {
namespace {

constexpr char kNamePrefix[] = "inlier-";
// Larger than any fleet's numbers, and small enough for the database.
constexpr std::uint64_t kSubmissionMax = 1'000'000'000'000;
// After a single job was refused.
constexpr Backoff kRefusalBackoff{.first = std::chrono::seconds(15), .longest = std::chrono::minutes(5)};
// A job that was asked to end and is still there is asked again after this long.
constexpr Duration kCancelAgain = std::chrono::seconds(60);

}  // namespace

std::string FleetJobName(const std::string& fleet_id, std::uint64_t submission) {
  return absl::StrCat(kNamePrefix, fleet_id, "-", submission);
}

std::uint64_t SubmissionOf(const std::string& fleet_id, const std::string& job_name) {
  const std::string prefix = absl::StrCat(kNamePrefix, fleet_id, "-");
  std::uint64_t number = 0;
  if (!job_name.starts_with(prefix) || !absl::SimpleAtoi(job_name.substr(prefix.size()), &number) ||
      number > kSubmissionMax || FleetJobName(fleet_id, number) != job_name)
    return 0;
  return number;
}

JobDrain DrainOf(const Fleet& fleet) {
  JobDrain drain{.workers_come = fleet.row && !fleet.row->stopped};
  if (INLIER_BUG("job_given_back_takes_work")) return drain;
  for (const auto& [id, since] : fleet.leaving) drain.jobs.insert(id);
  for (const auto& [id, job] : fleet.jobs) {
    if (!drain.workers_come) drain.jobs.insert(id);
  }
  return drain;
}

FleetStep TakeLook(FleetContext& context, const EngineLook& look) {
  Fleet& fleet = context.fleet;
  FleetStep step{.id = fleet.row->id, .config = fleet.config};
  Reconcile(context, look);
  const FleetPlan plan = PlanFleet(context);
  if (fleet.problem.empty()) {
    for (const std::string& id : plan.give_back) {
      if (fleet.leaving.emplace(id, context.now).second) step.cancel.push_back(id);
    }
  }
  if (plan.submit > 0) {
    FleetSubmission& submission = fleet.submissions[fleet.next_submission];
    submission.row = {.number = fleet.next_submission++, .jobs = plan.submit, .at = context.wall};
    submission.since = context.now;
    submission.calling = true;
    if (!INLIER_BUG("submission_not_stored")) context.changes.emplace_back(submission.row);
    context.Log("fleet_submits name=", FleetJobName(step.id, submission.row.number), " jobs=", plan.submit,
                " wanted=", fleet.wanted);
    step.submit = {.number = submission.row.number, .jobs = plan.submit};
  }
  return step;
}

bool ConfirmGivenBack(FleetContext& context, FleetStep& step) {
  Fleet& fleet = context.fleet;
  const WorkerOfJob workers = WorkersByJob(context.view);
  const std::size_t kept = std::erase_if(step.cancel, [&](const std::string& id) {
    const auto worker = workers.find(id);
    if (worker == workers.end() || !worker->second->IsBusy() || INLIER_BUG("got_work_and_given_back"))
      return false;
    fleet.leaving.erase(id);
    return true;
  });
  fleet.stats.jobs_cancelled += step.cancel.size();
  for (const std::string& id : step.cancel) context.Log("fleet_job_given_back job=", id);
  if (!fleet.problem.empty()) return true;
  for (auto& [id, since] : fleet.leaving) {
    if (context.now - since < kCancelAgain) continue;
    since = context.now;
    step.cancel.push_back(id);
  }
  return kept == 0;
}

void TakeSubmitted(FleetContext& context, const Submitted& submitted) {
  Fleet& fleet = context.fleet;
  const auto at = fleet.submissions.find(submitted.number);
  if (at == fleet.submissions.end()) return;
  FleetSubmission& submission = at->second;
  const bool unclear = submitted.kind == Submitted::Kind::kUnclear;
  submission.calling = unclear && INLIER_BUG("unanswered_submission_waited_for");
  submission.since = context.now;
  FleetPatience& patience = fleet.patience;
  const std::uint32_t array_max = fleet.config.slurm().array_max();
  std::string how;
  if (submitted.kind == Submitted::Kind::kTaken) {
    how = absl::StrCat("job=", submitted.job);
    patience.refusal.clear();
    patience.refusals = 0;
    patience.batch_max = patience.batch_max * 2 >= array_max ? 0 : patience.batch_max * 2;
    MarkTaken(context, submission, submitted.job);
  } else if (!unclear || INLIER_BUG("lost_answer_taken_as_refused")) {
    how = absl::StrCat("refused=\"", submitted.message, "\"");
    ++fleet.stats.submissions_refused;
    patience.refusal = submitted.message;
    patience.jobs_then = static_cast<std::uint32_t>(fleet.jobs.size());
    if (submission.row.jobs > 1) {
      patience.batch_max = submission.row.jobs / 2;  // At once: fewer may be allowed.
    } else {
      ++patience.refusals;
      patience.not_before =
          context.now + kRefusalBackoff.Wait(static_cast<int>(patience.refusals), /*random=*/0.5);
    }
    EndSubmission(context, submitted.number, FleetSubmissionRow::State::kRefused, submitted.message);
  } else {
    how = absl::StrCat("unclear=\"", submitted.message, "\"");
    ++fleet.stats.submissions_unclear;
    submission.row.message = submitted.message;
    context.changes.emplace_back(submission.row);
  }
  context.Log("fleet_submitted name=", FleetJobName(fleet.row->id, submitted.number), " ", how);
}

void TakeCancelled(FleetContext& context, const std::vector<std::string>& jobs, const absl::Status& status) {
  if (status.ok()) return;
  for (const std::string& id : jobs) context.fleet.leaving.erase(id);
  context.Log("fleet_jobs_not_given_back jobs=", jobs.size(), " reason=\"", std::string(status.message()),
              "\"");
}

}  // namespace inlier
