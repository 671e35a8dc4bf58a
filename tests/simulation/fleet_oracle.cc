#include "tests/simulation/fleet_oracle.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {
namespace {

std::string NameOf(std::uint64_t number) { return absl::StrCat("submission ", number); }

}  // namespace

void FleetOracle::CoordinatorStarts(std::map<Token, std::string> held) {
  if (!world_.plan().fleet) return;
  life_ = {.number = life_.number + 1, .started = world_.now(), .held = std::move(held)};
  ReadFleet();
}

void FleetOracle::ReadFleet() {
  minimum_ = world_.plan().fleet->config.minimum();
  stopped_ = false;
  ++stops_;
  SQLite::Statement row(*connection_, "SELECT stopped, minimum FROM fleet");
  if (row.executeStep()) {
    stopped_ = row.getColumn(0).getInt() != 0;
    if (!row.getColumn(1).isNull()) minimum_ = row.getColumn(1).getUInt();
  }
  SQLite::Statement taken(*connection_, "SELECT number FROM fleet_submission WHERE state = 'TAKEN'");
  while (taken.executeStep()) life_.taken.insert(static_cast<std::uint64_t>(taken.getColumn(0).getInt64()));
}

void FleetOracle::WorkerReports(const std::string& incarnation, const std::string& job) {
  if (job.empty()) return;
  life_.job_of[incarnation] = job;
  life_.worker_of[job] = incarnation;
}

bool FleetOracle::MayBeGivenUp(std::uint64_t number) const {
  if (life_.taken.contains(number)) return true;
  const auto at = submissions_.find(number);
  if (at == submissions_.end()) return true;
  const Submission& submission = at->second;
  if (submission.life == life_.number && !submission.ended) return false;
  const Timestamp since = submission.life == life_.number ? *submission.ended : life_.started;
  return world_.now() - since >= std::chrono::seconds(world_.plan().fleet->config.unclear_seconds());
}

void FleetOracle::LookTaken(const EngineLook& look) {
  if (!look.jobs.ok()) return;
  life_.listed.clear();
  life_.queued.clear();
  std::set<std::uint64_t> submissions;
  for (const EngineJob& job : *look.jobs) {
    submissions.insert(job.submission);
    if (job.phase != EngineJob::Phase::kEnded) life_.listed.insert(job.id);
    if (job.phase == EngineJob::Phase::kQueued) life_.queued.insert(job.id);
  }
  std::erase_if(life_.leaving, [this](const std::string& job) { return !life_.listed.contains(job); });
  for (const SlurmJob& job : cluster_->jobs()) {
    if (job.over) continue;
    if (life_.listed.contains(job.id)) {
      shown_.insert(job.id);
      doubtful_.erase(job.id);
      continue;
    }
    const std::uint64_t number = SubmissionOf(kFleetId, job.request.name);
    if (!shown_.contains(job.id) && !submissions.contains(number) && !MayBeGivenUp(number)) continue;
    doubtful_.insert(job.id);
    misled_ = true;
  }
}

void FleetOracle::StepDecided(const FleetStep& step) {
  for (const std::string& job : step.cancel) CheckGivenBack(job);
  life_.leaving.insert(step.cancel.begin(), step.cancel.end());
  if (step.submit) CheckSubmission(*step.submit, step.config);
}

// Its worker is the one that was heard last: one before it, of a job that was queued again, is gone.
void FleetOracle::CheckGivenBack(const std::string& job) {
  world_.Count("jobs given back");
  const auto worker = life_.worker_of.find(job);
  if (worker == life_.worker_of.end() || life_.queued.contains(job)) return;
  for (const auto& [token, holder] : life_.held) {
    Must(holder != worker->second,
         absl::StrCat("job ", job, " is given back, and its worker has attempt ", token));
  }
}

void FleetOracle::CheckSubmission(const FleetSubmissionRow& row, const v1::FleetConfig& config) {
  Must(!stopped_, absl::StrCat(NameOf(row.number), " is decided, and the fleet is stopped"));
  std::uint32_t there = OnTheWay();
  for (const SlurmJob& job : cluster_->jobs()) {
    if (!job.over && !doubtful_.contains(job.id)) ++there;
  }
  largest_maximum_ = std::max(largest_maximum_, config.maximum());
  Must(there + row.jobs <= config.maximum(),
       absl::StrCat(NameOf(row.number), ": ", row.jobs, " jobs are asked for where there are ", there,
                    ", and the maximum is ", config.maximum()));
}

void FleetOracle::Decided(const Effects& effects) {
  if (!world_.plan().fleet) return;
  for (const Change& change : effects.changes.changes) {
    if (const auto* started = std::get_if<AttemptRow>(&change)) {
      CheckLease(started->token, started->worker);
      life_.held[started->token] = started->worker;
    } else if (const auto* ended = std::get_if<AttemptEnded>(&change)) {
      life_.held.erase(ended->token);
    } else if (const auto* row = std::get_if<FleetSubmissionRow>(&change)) {
      CheckRow(*row);
    }
  }
}

void FleetOracle::CheckLease(Token token, const std::string& worker) {
  const auto job = life_.job_of.find(worker);
  if (job == life_.job_of.end()) return;
  world_.Count("leases of workers in jobs");
  Must(!life_.leaving.contains(job->second),
       absl::StrCat("lease ", token, " for a worker whose job ", job->second, " is given back"));
  Must(!stopped_ || !life_.listed.contains(job->second),
       absl::StrCat("lease ", token, " for the worker of job ", job->second, " of a fleet that is stopped"));
}

const SlurmJob* FleetOracle::KnownJobOf(std::uint64_t number) const {
  const std::string name = FleetJobName(kFleetId, number);
  const auto& jobs = cluster_->jobs();
  const auto at = std::find_if(jobs.begin(), jobs.end(), [&](const SlurmJob& job) {
    return job.request.name == name && !job.over && !doubtful_.contains(job.id);
  });
  return at == jobs.end() ? nullptr : &*at;
}

void FleetOracle::CheckRow(const FleetSubmissionRow& row) {
  using State = FleetSubmissionRow::State;
  const std::string name = NameOf(row.number);
  if (row.state == State::kAsked) return;
  const auto at = submissions_.find(row.number);
  const Submission* made = at == submissions_.end() ? nullptr : &at->second;
  if (row.state == State::kTaken) {
    return Must(made != nullptr && made->outcome == Outcome::kTaken && made->job == row.job,
                absl::StrCat(name, " counts as taken as job ", row.job, ", and Slurm has taken it as ",
                             made == nullptr || made->job.empty() ? "none" : made->job));
  }
  if (row.state == State::kRefused) {
    return Must(made != nullptr && made->outcome == Outcome::kRefused,
                absl::StrCat(name, " counts as refused, and Slurm has not refused it"));
  }
  const char* const how = row.state == State::kLost ? " counts as lost" : " counts as ended";
  if (row.state == State::kLost) world_.Count("submissions given up");
  Must(made == nullptr || made->outcome != Outcome::kOnTheWay,
       absl::StrCat(name, how, ", and its request is on its way"));
  const SlurmJob* const known = KnownJobOf(row.number);
  Must(known == nullptr,
       absl::StrCat(name, how, ", and its job ", known == nullptr ? "" : known->id, " is there"));
}

void FleetOracle::CancelFailed(const std::vector<std::string>& jobs) {
  for (const std::string& job : jobs) life_.leaving.erase(job);
}

std::uint64_t FleetOracle::StopDecided(bool stopped) {
  world_.Count(stopped ? "stops of the fleet" : "stops of the fleet ended");
  stopped_ = stopped;
  return ++stops_;
}

void FleetOracle::StopAnswered(bool stopped, std::uint64_t decision) {
  if (decision != stops_) return;  // Another decision has come since, or the coordinator has started again.
  SQLite::Statement row(*connection_, "SELECT stopped FROM fleet");
  Must(row.executeStep() && (row.getColumn(0).getInt() != 0) == stopped,
       absl::StrCat("the fleet was ", stopped ? "stopped" : "resumed", ", and its row does not record it"));
}

FleetOracle::Submission& FleetOracle::Of(const std::string& name) {
  const auto at = submissions_.find(SubmissionOf(kFleetId, name));
  INLIER_CHECK(at != submissions_.end());
  return at->second;
}

void FleetOracle::SbatchStarts(const std::string& name, std::uint32_t jobs) {
  const std::uint64_t number = SubmissionOf(kFleetId, name);
  Must(number != 0, absl::StrCat("sbatch is run for ", name, ", which is no name of the fleet"));
  Must(!submissions_.contains(number), absl::StrCat(NameOf(number), " is made twice"));
  Must(submissions_.empty() || submissions_.rbegin()->first < number,
       absl::StrCat(NameOf(number), " is made after a later one"));
  SQLite::Statement row(*connection_, "SELECT state, jobs FROM fleet_submission WHERE number = ?");
  row.bind(1, static_cast<std::int64_t>(number));
  Must(row.executeStep() && row.getColumn(0).getString() == "ASKED" && row.getColumn(1).getUInt() == jobs,
       absl::StrCat(NameOf(number), " is made, and is not stored"));
  submissions_[number] = {.jobs = jobs, .life = life_.number};
}

void FleetOracle::SbatchRefused(const std::string& name) { Of(name).outcome = Outcome::kRefused; }
void FleetOracle::SbatchLost(const std::string& name) { Of(name).outcome = Outcome::kLost; }
void FleetOracle::SbatchEnds(const std::string& name) { Of(name).ended = world_.now(); }

void FleetOracle::SbatchTaken(const std::string& name, const std::string& job) {
  Submission& submission = Of(name);
  submission.outcome = Outcome::kTaken;
  submission.job = job;
  Must(misled_ || cluster_->Live() <= largest_maximum_,
       absl::StrCat("Slurm has ", cluster_->Live(), " jobs of the fleet, whose maximum is ",
                    largest_maximum_));
}

std::uint32_t FleetOracle::OnTheWay() const {
  std::uint32_t jobs = 0;
  for (const auto& [number, submission] : submissions_) {
    if (submission.outcome == Outcome::kOnTheWay) jobs += submission.jobs;
  }
  return jobs;
}

}  // namespace inlier
