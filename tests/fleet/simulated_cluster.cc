#include "tests/fleet/simulated_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fleet/config_check.h"
#include "tests/fleet/fleet_config.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kSilence = seconds(16);         // Of a worker that the coordinator takes for gone.
constexpr Duration kKillWait = seconds(30);        // Slurm's: from SIGTERM to SIGKILL.
constexpr Duration kListedAfterEnd = seconds(60);  // Slurm's MinJobAge.

}  // namespace

SimulatedCluster::SimulatedCluster(std::uint64_t seed) : random_(seed), config_(SmallFleet()) {
  const auto below = [this](int n) { return static_cast<std::uint32_t>(random_.Below(n)); };
  const auto some = [this](int most) { return random_.PerMille(350) ? 0 : 1 + random_.Below(most); };
  nodes_ = 2 + random_.Below(4);
  slots_ = 1 + below(2);
  config_.set_minimum(below(4) == 0 ? 1 : 0);
  config_.set_maximum(2 + below(4));
  config_.set_idle_seconds(10 + below(30));
  config_.clear_slots();
  if (random_.PerMille(500)) config_.set_slots(slots_);
  config_.set_look_seconds(4);
  config_.set_call_seconds(5);
  config_.set_unclear_seconds(30);  // Longer than a request takes to arrive after its program was killed.
  v1::SlurmConfig& slurm = *config_.mutable_slurm();
  constexpr std::uint32_t kMinutes[] = {5, 8, 60};
  slurm.set_time_limit_minutes(kMinutes[random_.Below(3)]);
  slurm.set_notice_seconds(10 + below(10));
  slurm.set_array_max(random_.PerMille(200) ? 1 : 100);
  refused_ = some(100);
  unanswered_ = some(300);
  list_fails_ = some(200);
  cancel_fails_ = some(200);
  failed_nodes_ = some(60);
  cuts_ = some(60);
  kills_ = some(60);
  people_ = some(60);
  full_ = some(20);
  if (seed % 4 == 0) lies_ = 20;
}

void SimulatedCluster::Violate(const std::string& what) {
  if (!violation_.empty()) return;
  violation_ = what;
  Note(what);
}
void SimulatedCluster::Note(const std::string& line) {
  absl::StrAppend(&history_, FormatDuration(now_.since_start), " ", line, "\n");
}
void SimulatedCluster::Must(bool holds, const std::string& what) {
  if (!holds) Violate(what);
}

void SimulatedCluster::After(Duration delay, std::function<void()> what) {
  due_.emplace(std::pair(now_ + delay, ++numbers_), std::move(what));
}

void SimulatedCluster::AfterInRun(const std::string& job, Duration delay, std::function<void(Job&)> what) {
  After(delay, [this, job, run = Find(job)->run, what = std::move(what)] {
    Job* const same = Find(job);
    if (same != nullptr && same->run == run) what(*same);
  });
}

void SimulatedCluster::Advance(Duration for_long) {
  const Timestamp until = now_ + for_long;
  while (!due_.empty() && due_.begin()->first.first <= until) {
    auto next = due_.extract(due_.begin());
    now_ = std::max(now_, next.key().first);
    next.mapped()();
    Dispatch();
  }
  now_ = std::max(now_, until);
}

void SimulatedCluster::Calm() {
  calm_ = true;
  away_until_ = stale_until_ = limited_until_ = full_until_ = now_;
  for (Job& job : jobs_) job.hidden = false;
}

void SimulatedCluster::MaybeKill() {
  if (!Chance(kills_)) return;
  ++totals_["kills"];
  ++life_;
  Note("the coordinator is killed");
  throw Killed();
}

// Slurm.

SimulatedCluster::Job* SimulatedCluster::Find(const std::string& id) {
  const auto at =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.listed.id == id; });
  return at == jobs_.end() ? nullptr : &*at;
}

SimulatedCluster::Job* SimulatedCluster::SomeRunning() {
  std::vector<Job*> running;
  for (Job& job : jobs_) {
    if (job.listed.phase == EngineJob::Phase::kRunning) running.push_back(&job);
  }
  if (running.empty()) return nullptr;
  return running[static_cast<std::size_t>(random_.Below(static_cast<int>(running.size())))];
}

std::string SimulatedCluster::TakeRequest(std::uint64_t number) {
  Submission& submission = made_.at(number);
  if (now_ < limited_until_ && Live() + submission.jobs > jobs_max_) {
    submission.outcome = Outcome::kRefused;
    return "";
  }
  ++totals_["submissions taken"];
  const std::string id = absl::StrCat(++last_job_);
  submission.outcome = Outcome::kTaken;
  submission.job = id;
  for (std::uint32_t i = 0; i < submission.jobs; ++i) {
    Job& job = jobs_.emplace_back();
    job.listed = {.id = submission.jobs == 1 ? id : absl::StrCat(id, "_", i),
                  .submission = number,
                  .state = "PENDING",
                  .reason = "Priority"};
  }
  After(random_.Between(milliseconds(100), seconds(3)), [this] { StartJobs(); });
  return id;
}

void SimulatedCluster::StartJobs() {
  std::erase_if(jobs_, [this](const Job& job) { return job.Over() && now_ - job.ended >= kListedAfterEnd; });
  for (Job& job : jobs_) {
    const auto running = std::count_if(jobs_.begin(), jobs_.end(), [](const Job& other) {
      return other.listed.phase == EngineJob::Phase::kRunning;
    });
    if (running >= nodes_ || job.listed.phase != EngineJob::Phase::kQueued) continue;
    ++job.run;
    job.listed.phase = EngineJob::Phase::kRunning;
    job.listed.state = "RUNNING";
    const std::string id = job.listed.id;
    AfterInRun(id, random_.Between(milliseconds(300), seconds(4)), [this](Job& same) { Connect(same); });
    const Duration length = seconds(JobSeconds(config_));
    AfterInRun(id, length, [this](Job& same) {
      if (same.worker >= 0) workers_[static_cast<std::size_t>(same.worker)].seen.draining = true;
    });
    AfterInRun(id, length + random_.Between(seconds(1), seconds(9)),
               [this](Job& same) { End(same, "TIMEOUT"); });
  }
}

void SimulatedCluster::Connect(Job& job) {
  job.worker = static_cast<int>(workers_.size());
  ClusterView::Worker& seen = workers_.emplace_back().seen;
  seen.incarnation = absl::StrCat("w", workers_.size());
  seen.name = absl::StrCat("on-", job.listed.id);
  seen.job = job.listed.id;
  Note(absl::StrCat("a worker of job ", seen.job, " connects"));
  seen.connected = true;
  seen.last_seen = now_;
  seen.slots.resize(slots_);
  for (std::uint32_t i = 0; i < slots_; ++i) seen.slots[i].set_index(i);
  seen.seconds_left = JobSeconds(config_);
  ++totals_["workers"];
}

// Its worker dies; the coordinator hears of that later.
void SimulatedCluster::EndRun(Job& job) {
  ++job.run;
  if (job.worker < 0) return;
  const auto index = static_cast<std::size_t>(std::exchange(job.worker, -1));
  workers_[index].alive = false;
  workers_[index].seen.last_seen = now_;
  After(workers_[index].seen.draining ? Duration(0) : kSilence, [this, index] {
    Worker& worker = workers_[index];
    ready_ += std::exchange(worker.seen.attempts, 0);
    worker.seen.connected = false;
  });
}

void SimulatedCluster::End(Job& job, const std::string& state) {
  EndRun(job);
  job.listed.phase = EngineJob::Phase::kEnded;
  job.listed.state = state;
  job.ended = now_;
  Note(absl::StrCat("job ", job.listed.id, " has ended, ", state));
  After(random_.Between(milliseconds(100), seconds(3)), [this] { StartJobs(); });
  After(kListedAfterEnd, [this] { StartJobs(); });
}

void SimulatedCluster::CancelJob(const std::string& id) {
  Job* const job = Find(id);
  if (job == nullptr || job->Over() || std::exchange(job->cancelled, true)) return;
  if (job->listed.phase == EngineJob::Phase::kQueued) return End(*job, "CANCELLED");
  if (job->worker >= 0) workers_[static_cast<std::size_t>(job->worker)].seen.draining = true;
  AfterInRun(id, random_.Between(seconds(1), kKillWait), [this](Job& same) { End(same, "CANCELLED"); });
}

std::vector<EngineJob> SimulatedCluster::Listing() const {
  std::vector<EngineJob> jobs;
  for (const Job& job : jobs_) {
    if (!job.hidden) jobs.push_back(job.listed);
  }
  return jobs;
}

std::uint32_t SimulatedCluster::Live() const {
  return static_cast<std::uint32_t>(
      std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return !job.Over(); }));
}

// The coordinator.

std::uint64_t SimulatedCluster::WorkLeft() const {
  std::uint64_t left = ready_;
  for (const Worker& worker : workers_) left += worker.seen.attempts;
  return left;
}

std::string SimulatedCluster::WorkText() const {
  std::string text = absl::StrCat(": ", ready_, " stages are ready");
  for (const Worker& worker : workers_) {
    if (worker.seen.attempts > 0)
      absl::StrAppend(&text, "; ", worker.seen.incarnation, worker.alive ? "" : ", which is gone,", " has ",
                      worker.seen.attempts, " attempts");
  }
  return text;
}

std::uint32_t SimulatedCluster::minimum() const { return row_->minimum.value_or(config_.minimum()); }

void SimulatedCluster::Dispatch() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    ClusterView::Worker& seen = workers_[i].seen;
    while (ready_ > 0 && workers_[i].alive && seen.connected && !seen.draining && seen.attempts < slots_ &&
           !drained_.contains(seen.job)) {
      CheckLease(seen.job);
      --ready_;
      ++seen.attempts;
      seen.leased = now_;
      ++totals_["attempts"];
      After(random_.Between(seconds(1), seconds(90)), [this, i] {
        if (!workers_[i].alive || workers_[i].seen.attempts == 0) return;
        --workers_[i].seen.attempts;
        ++totals_["attempts that ended"];
      });
    }
  }
}

ClusterView SimulatedCluster::View() const {
  ClusterView view{.can_store = now_ >= full_until_};
  if (ready_ > 0) view.backlog[ResourceRequest()] = ready_;
  for (const Worker& worker : workers_) {
    view.workers.push_back(worker.seen);
    if (worker.alive && worker.seen.connected) view.workers.back().last_seen = now_;
  }
  return view;
}

ClusterView SimulatedCluster::TakeDrain(const JobDrain& drain) {
  // Something became ready just before.
  if (Chance(100)) ++ready_;
  Dispatch();
  if (drained_ != drain.jobs) Note(absl::StrCat("drained are ", absl::StrJoin(drain.jobs, " ")));
  drained_ = drain.jobs;
  for (Worker& worker : workers_) {
    if (drain.yield.empty() || !drained_.contains(worker.seen.job)) continue;
    if (worker.alive) ready_ += std::exchange(worker.seen.attempts, 0);
  }
  Dispatch();
  return View();
}

void SimulatedCluster::Store(const std::vector<FleetChange>& changes) {
  MaybeKill();
  for (const FleetChange& change : changes) {
    if (const auto* row = std::get_if<FleetRow>(&change)) row_ = *row;
    if (const auto* row = std::get_if<FleetSubmissionRow>(&change)) {
      SubmissionStored(*row);
      rows_[row->number] = *row;
    }
  }
  MaybeKill();
}

StoredFleet SimulatedCluster::CoordinatorStarts() {
  drained_.clear();
  leaving_.clear();
  listed_.clear();
  latest_.clear();
  stopped_ = row_ && row_->stopped;
  // Workers come back one after the other.
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!workers_[i].alive || !workers_[i].seen.connected) continue;
    workers_[i].seen.connected = false;
    After(random_.Between(Duration(0), seconds(5)),
          [this, i] { workers_[i].seen.connected = workers_[i].alive; });
  }
  StoredFleet stored{.home = "/here", .row = row_};
  for (const auto& [number, row] : rows_) {
    if (!row.ended_at) stored.submissions.push_back(row);
    stored.next_submission = number + 1;
  }
  return stored;
}

FleetPorts SimulatedCluster::Ports() {
  return {.drain = [this](const JobDrain& drain) { return TakeDrain(drain); },
          .store =
              [this](const std::vector<FleetChange>& changes, const std::function<void(absl::Status)>& done) {
                Store(changes);
                done(absl::OkStatus());
              },
          .observe = [](const Fleet&) {},
          .now = [this] { return now_; }};
}

void SimulatedCluster::Trouble(FleetService& fleet) {
  // Shorter and longer than the time after which a submission is given up.
  const auto a_while = [this] {
    return random_.PerMille(300) ? random_.Between(seconds(30), seconds(90))
                                 : random_.Between(seconds(1), seconds(20));
  };
  if (ready_ < 20 && Chance(150)) ready_ += static_cast<std::uint64_t>(random_.Below(12));
  if (Chance(list_fails_ / 8)) away_until_ = now_ + a_while();
  if (Chance(refused_ / 4)) {
    limited_until_ = now_ + a_while();
    jobs_max_ = static_cast<std::uint32_t>(random_.Below(4));
  }
  if (Chance(full_)) full_until_ = now_ + a_while();
  if (Chance(lies_)) {
    misled_ = true;
    stale_ = Listing();
    stale_until_ = now_ + a_while();
  }
  if (Job* const job = SomeRunning(); job != nullptr && Chance(lies_)) {
    misled_ = job->hidden = true;
    After(a_while(), [this, id = job->listed.id] {
      if (Job* const same = Find(id)) same->hidden = false;
    });
  }
  if (Job* const job = SomeRunning(); job != nullptr && Chance(failed_nodes_)) {
    ++totals_["failed nodes"];
    if (job->cancelled || random_.PerMille(500)) {
      End(*job, "NODE_FAIL");
    } else {  // It is queued again.
      EndRun(*job);
      job->listed.phase = EngineJob::Phase::kQueued;
      job->listed.state = "PENDING";
      After(random_.Between(seconds(1), seconds(30)), [this] { StartJobs(); });
    }
  }
  if (!workers_.empty() && Chance(cuts_)) {
    const auto i = static_cast<std::size_t>(random_.Below(static_cast<int>(workers_.size())));
    if (workers_[i].alive) workers_[i].seen.connected = false;
    After(a_while(), [this, i] { workers_[i].seen.connected = workers_[i].alive; });
  }
  // At any time, also while a program of Slurm runs.
  if (Chance(people_))
    After(random_.Between(Duration(0), seconds(5)), [this, &fleet, life = life_] {
      if (life == life_) People(fleet);
    });
}

void SimulatedCluster::People(FleetService& fleet) {
  if (calm_) return;
  ++totals_["requests"];
  Note("a request");
  if (random_.PerMille(400)) {
    v1::ScaleFleetRequest scale;
    scale.set_maximum(1 + static_cast<std::uint32_t>(random_.Below(6)));
    scale.set_minimum(0);
    Must(fleet.Scale(scale).ok(), "a scale is refused");
    return;
  }
  v1::StopFleetRequest stop;
  stop.set_resume(stopped_);
  stop.set_now(!stopped_ && random_.PerMille(500));
  const bool stops = !stopped_;
  stopped_ = false;  // Of a resume from here on.
  Must(fleet.StopFleet(stop).ok(), "a stop is refused");
  stopped_ = stops;
  Must(row_->stopped == stops, "a stop was answered, and its row does not record it");
}

void SimulatedCluster::Resume(FleetService& fleet) {
  v1::StopFleetRequest resume;
  resume.set_resume(true);
  stopped_ = false;
  Must(fleet.StopFleet(resume).ok(), "a resume is refused");
}

// The oracle.

void SimulatedCluster::SubmissionStored(const FleetSubmissionRow& row) {
  using State = FleetSubmissionRow::State;
  const std::string name = absl::StrCat("submission ", row.number);
  if (row.state == State::kAsked) {
    if (rows_.contains(row.number)) return;  // Only its message is new.
    Must(!stopped_, absl::StrCat(name, " is decided, and the fleet is stopped"));
    std::uint32_t there = Live();
    for (const auto& [number, made] : made_) there += made.outcome == Outcome::kOnTheWay ? made.jobs : 0;
    const std::uint32_t maximum = row_->maximum.value_or(config_.maximum());
    Must(misled_ || there + row.jobs <= maximum,
         absl::StrCat(name, ": ", row.jobs, " jobs are asked for where there are ", there,
                      ", and the maximum is ", maximum));
    return;
  }
  const auto at = made_.find(row.number);
  const Outcome outcome = at == made_.end() ? Outcome::kLost : at->second.outcome;
  if (row.state == State::kTaken)
    Must(outcome == Outcome::kTaken && at->second.job == row.job,
         absl::StrCat(name, " counts as taken as job ", row.job, ", and is not"));
  if (row.state == State::kRefused)
    Must(outcome == Outcome::kRefused,
         absl::StrCat(name, " counts as refused, and Slurm has not refused it"));
  if (row.state != State::kEnded && row.state != State::kLost) return;
  ++totals_[row.state == State::kLost ? "submissions given up" : "submissions ended"];
  const bool there = std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    return job.listed.submission == row.number && !job.Over();
  });
  Must(misled_ || (!there && outcome != Outcome::kOnTheWay),
       absl::StrCat(name, " counts as over, and its jobs are there or on their way"));
}

void SimulatedCluster::SubmissionMade(const FleetStep& step) {
  const std::uint64_t number = step.submit->number;
  const std::string name = absl::StrCat("submission ", number);
  Must(made_.empty() || made_.rbegin()->first < number,
       absl::StrCat(name, " is made twice, or after a later one"));
  const auto row = rows_.find(number);
  Must(row != rows_.end() && row->second.state == FleetSubmissionRow::State::kAsked &&
           row->second.jobs == step.submit->jobs,
       absl::StrCat(name, " is made, and is not stored"));
  Note(absl::StrCat("sbatch of ", step.submit->jobs, " jobs, ", name));
  made_[number] = {.jobs = step.submit->jobs};
}

void SimulatedCluster::JobsCancelled(const std::vector<std::string>& jobs) {
  for (const std::string& id : jobs) {
    ++totals_["jobs given back"];
    Note(absl::StrCat("scancel ", id));
    leaving_.insert(id);
    const Job* const job = Find(id);
    if (job == nullptr || job->worker < 0) continue;
    const ClusterView::Worker& seen = workers_[static_cast<std::size_t>(job->worker)].seen;
    Must(!seen.connected || seen.attempts == 0 || seen.draining,
         absl::StrCat("job ", id, " is given back, and its worker has ", seen.attempts, " attempts"));
  }
}

void SimulatedCluster::CheckLease(const std::string& job) {
  Must(misled_ || !leaving_.contains(job),
       absl::StrCat("a lease for the worker of job ", job, ", which is given back"));
  Must(!stopped_ || !listed_.contains(job),
       absl::StrCat("a lease for the worker of job ", job, " of a fleet that is stopped"));
}

}  // namespace inlier
