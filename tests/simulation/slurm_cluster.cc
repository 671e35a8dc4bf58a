#include "tests/simulation/slurm_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Slurm's KillWait: between SIGTERM and SIGKILL of a job that is cancelled.
constexpr Duration kKillWait = seconds(30);
// Slurm's MinJobAge: how long a job that has ended is listed.
constexpr Duration kListedAfterEnd = seconds(60);

}  // namespace

SlurmCluster::SlurmCluster(World& world, int nodes, Programs programs)
    : world_(world), nodes_(nodes), programs_(std::move(programs)) {}

std::string SlurmCluster::Submit(const SlurmRequest& request) {
  const std::string id = absl::StrCat(++last_id_);
  world_.Note(absl::StrCat("Slurm takes ", request.name, " as job ", id, ", jobs ", request.jobs));
  for (std::uint32_t i = 0; i < request.jobs; ++i) {
    SlurmJob& job = jobs_.emplace_back();
    job.id = request.jobs == 1 ? id : absl::StrCat(id, "_", i);
    job.request = request;
    job.since = world_.now();
  }
  StartSoon();
  return id;
}

bool SlurmCluster::Cancel(const std::string& id) {
  SlurmJob* const job = Find(id);
  if (job == nullptr || job->over) return false;
  world_.Note(absl::StrCat("Slurm cancels job ", id));
  if (std::exchange(job->cancelled, true)) return true;
  if (!job->program) {
    End(*job, "CANCELLED");
    return true;
  }
  job->state = "COMPLETING";
  Ask(*job);
  world_.After(kKillWait, [this, id, run = job->run] {
    if (SlurmJob* const same = FindRun(id, run)) End(*same, "CANCELLED");
  });
  return true;
}

void SlurmCluster::Exited(const std::string& id) {
  SlurmJob* const job = Find(id);
  if (job == nullptr || !job->program) return;
  job->program = false;
  End(*job, job->cancelled ? "CANCELLED" : "COMPLETED");
}

void SlurmCluster::FailSome(bool queue_again) {
  SlurmJob* const job = SomeRunning();
  if (job == nullptr) return;
  world_.Count(queue_again ? "jobs queued again" : "jobs killed with their nodes");
  if (!queue_again || job->cancelled) return End(*job, "NODE_FAIL");
  world_.Note(absl::StrCat("Slurm queues job ", job->id, " again"));
  Stop(*job);
  job->state = "PENDING";
  job->since = world_.now();
  job->not_before = world_.now() + world_.random().Between(seconds(1), seconds(30));
  world_.At(job->not_before, [this] { StartJobs(); });
  StartSoon();
}

void SlurmCluster::HideSome(Duration for_long) {
  SlurmJob* const job = SomeRunning();
  if (job == nullptr || job->hidden) return;
  world_.Note(absl::StrCat("Slurm does not list job ", job->id, " any more"));
  world_.Count("jobs lost from the queue");
  job->hidden = true;
  world_.After(for_long, [this, id = job->id] {
    if (SlurmJob* const same = Find(id)) same->hidden = false;
  });
}

void SlurmCluster::Calm() {
  for (SlurmJob& job : jobs_) job.hidden = false;
}

std::uint32_t SlurmCluster::Live() const {
  return static_cast<std::uint32_t>(
      std::count_if(jobs_.begin(), jobs_.end(), [](const SlurmJob& job) { return !job.over; }));
}

std::string SlurmCluster::SomeNode() { return absl::StrCat("n", world_.random().Below(nodes_)); }

std::string SlurmCluster::Listing() const {
  std::string text = "4+0|RUNNING|None|n0|another job of this user\n";
  for (const SlurmJob& job : jobs_) {
    if (job.hidden) continue;
    absl::StrAppend(&text, job.id, "|", job.state, "|", job.state == "PENDING" ? "Priority" : "None", "|",
                    job.node, "|", job.request.name, "\n");
  }
  return text;
}

SlurmJob* SlurmCluster::Find(const std::string& id) {
  const auto at = std::find_if(jobs_.begin(), jobs_.end(), [&](const SlurmJob& job) { return job.id == id; });
  return at == jobs_.end() ? nullptr : &*at;
}

SlurmJob* SlurmCluster::FindRun(const std::string& id, std::uint64_t run) {
  SlurmJob* const job = Find(id);
  return job != nullptr && job->run == run && job->on_a_node ? job : nullptr;
}

SlurmJob* SlurmCluster::SomeRunning() {
  std::vector<SlurmJob*> running;
  for (SlurmJob& job : jobs_) {
    if (job.on_a_node) running.push_back(&job);
  }
  if (running.empty()) return nullptr;
  return running[static_cast<std::size_t>(world_.random().Below(static_cast<int>(running.size())))];
}

std::string SlurmCluster::FreeNode() const {
  for (int node = 0; node < nodes_; ++node) {
    const std::string name = absl::StrCat("n", node);
    const bool taken = std::any_of(jobs_.begin(), jobs_.end(),
                                   [&](const SlurmJob& job) { return job.on_a_node && job.node == name; });
    if (!taken) return name;
  }
  return "";
}

void SlurmCluster::StartSoon() {
  world_.After(world_.random().Between(milliseconds(100), seconds(3)), [this] { StartJobs(); });
}

void SlurmCluster::StartJobs() {
  std::erase_if(
      jobs_, [this](const SlurmJob& job) { return job.over && world_.now() - job.since >= kListedAfterEnd; });
  for (SlurmJob& job : jobs_) {
    if (job.over || job.on_a_node || job.not_before > world_.now()) continue;
    const std::string node = FreeNode();
    if (node.empty()) return;
    StartOn(job, node);
  }
}

void SlurmCluster::StartOn(SlurmJob& job, const std::string& node) {
  ++job.run;
  job.state = "RUNNING";
  job.since = world_.now();
  job.node = node;
  job.on_a_node = true;
  world_.Count("jobs started");
  const auto after = [&](Duration delay, std::function<void(SlurmJob&)> what) {
    world_.After(delay, [this, id = job.id, run = job.run, what = std::move(what)] {
      if (SlurmJob* const same = FindRun(id, run)) what(*same);
    });
  };
  after(world_.random().Between(milliseconds(300), seconds(4)), [this](SlurmJob& same) {
    same.program = true;
    programs_.start(same);
  });
  after(job.request.time_limit - job.request.notice, [this](SlurmJob& same) { Ask(same); });
  after(job.request.time_limit, [this](SlurmJob& same) { End(same, "TIMEOUT"); });
}

void SlurmCluster::Ask(SlurmJob& job) {
  if (job.program) programs_.terminate(job.id);
}

void SlurmCluster::Stop(SlurmJob& job) {
  if (std::exchange(job.program, false)) programs_.kill(job.id);
  job.on_a_node = false;
  job.node.clear();
}

void SlurmCluster::End(SlurmJob& job, const std::string& state) {
  Stop(job);
  world_.Note(absl::StrCat("Slurm: job ", job.id, " has ended, ", state));
  job.state = state;
  job.since = world_.now();
  job.over = true;
  StartSoon();
}

}  // namespace inlier
