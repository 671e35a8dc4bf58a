#include "tests/simulation/simulated_fleet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace inlier {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// The longest wait for the next submission is 30 min, after many jobs that ended before their workers connected.
constexpr Duration kAskedWithin = minutes(40);
// idle_seconds, the time of the calls, and the time that a job takes to end once it is asked to: all are below a minute. A
// cancellation that did nothing is made again after a minute.
constexpr Duration kGivenBackWithin = minutes(8);

}  // namespace

SimulatedFleet::SimulatedFleet(World& world, Oracle& oracle, CoordinatorProcess& coordinator,
                               std::function<void()> on_submission)
    : world_(world),
      oracle_(oracle),
      coordinator_(coordinator),
      cluster_(world, world.plan().fleet->nodes,
               {.start = [this](const SlurmJob& job) { Start(job); },
                .terminate = [this](const std::string& job) { running_.at(job)->Terminate(); },
                .kill =
                    [this](const std::string& job) {
                      running_.at(job)->Kill(nullptr);
                      running_.erase(job);
                    }}),
      programs_(world, oracle.fleet(), cluster_),
      driver_(world, coordinator, programs_, std::move(on_submission)) {
  oracle_.fleet().WatchCluster(cluster_);
  coordinator_.SetFleetHooks({.started = [this] { driver_.Start(); }, .changed = [this] { driver_.Poke(); }});
}

void SimulatedFleet::Start(const SlurmJob& job) {
  // Incarnations in no order, as uuids are.
  const std::string incarnation =
      absl::StrFormat("%04x-%s.%d", world_.random().Below(0x10000), job.id, job.run);
  workers_.push_back(std::make_unique<WorkerProcess>(world_, oracle_, coordinator_, job.node, incarnation));
  WorkerProcess& worker = *workers_.back();
  worker.RunIn({.id = job.id,
                .length = job.request.worker_length,
                .slots = world_.plan().fleet->slots,
                .exited = [this, id = job.id] {
                  running_.erase(id);
                  cluster_.Exited(id);
                }});
  running_[job.id] = &worker;
  if (world_.calm()) worker.Calm();
  worker.Start();
}

void SimulatedFleet::Trouble() {
  const FleetFaults& faults = *world_.plan().fleet;
  Random& random = world_.random();
  // Shorter and longer than the time after which the coordinator gives a submission up.
  const auto a_while = [&random] {
    return random.PerMille(300) ? random.Between(seconds(30), seconds(90))
                                : random.Between(seconds(1), seconds(20));
  };
  if (world_.Chance(faults.limits)) {
    const auto jobs = static_cast<std::uint32_t>(random.Below(4));
    programs_.LimitJobs(jobs, a_while());
  }
  if (world_.Chance(faults.outages)) programs_.Fail(a_while());
  if (world_.Chance(faults.stale)) programs_.Stale(a_while());
  if (world_.Chance(faults.hidden)) cluster_.HideSome(a_while());
  if (world_.Chance(faults.failed_nodes)) cluster_.FailSome(random.PerMille(500));
}

WorkerProcess* SimulatedFleet::SomeWorker() {
  if (running_.empty()) return nullptr;
  return std::next(running_.begin(), world_.random().Below(static_cast<int>(running_.size())))->second;
}

void SimulatedFleet::AddWorkers(std::vector<std::string>& workers) const {
  for (const auto& [job, worker] : running_) workers.push_back(worker->incarnation());
}

void SimulatedFleet::Calm() {
  programs_.Calm();
  cluster_.Calm();
  for (const auto& [job, worker] : running_) worker->Calm();
}

void SimulatedFleet::CheckAsked(bool work_is_left) {
  if (!work_is_left || cluster_.Live() + oracle_.fleet().OnTheWay() > 0) return without_jobs_since_.reset();
  if (!without_jobs_since_) without_jobs_since_ = world_.now();
  if (world_.now() - *without_jobs_since_ > kAskedWithin)
    world_.Violate(absl::StrCat("work is left, and the fleet has asked for no job for ",
                                FormatDuration(world_.now() - *without_jobs_since_)));
}

void SimulatedFleet::CheckGivenBack(Timestamp without_work_since) {
  const Duration rested = world_.now() - without_work_since;
  if (rested > kGivenBackWithin && cluster_.Live() > oracle_.fleet().minimum())
    world_.Violate(absl::StrCat("there is no work for ", FormatDuration(rested), ", and the fleet has ",
                                cluster_.Live(), " jobs, where its minimum is ", oracle_.fleet().minimum()));
}

bool SimulatedFleet::IsAtRest() const {
  return cluster_.Live() == oracle_.fleet().minimum() && oracle_.fleet().OnTheWay() == 0;
}

}  // namespace inlier
