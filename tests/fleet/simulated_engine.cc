// Slurm's programs of the simulation, as the fleet's service calls them.
#include <algorithm>
#include <utility>

#include "tests/fleet/simulated_cluster.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A request arrives so long after its program was killed at most.
constexpr Duration kLatest = seconds(8);

}  // namespace

// sbatch, squeue and scancel: each takes a while, and may fail, lose its answer, or print what was true some time ago.
class SimulatedEngine : public Engine {
 public:
  explicit SimulatedEngine(SimulatedCluster& cluster) : cluster_(cluster) {}

  absl::StatusOr<std::vector<EngineJob>> List(const FleetStep&) override {
    cluster_.listed_ = cluster_.latest_;  // Decisions from that are in force.
    cluster_.Advance(OnTheWay());
    if (IsAway() || cluster_.Chance(cluster_.list_fails_)) return absl::UnavailableError("squeue: away");
    const bool stale = cluster_.now_ < cluster_.stale_until_;
    std::vector<EngineJob> jobs = stale ? cluster_.stale_ : cluster_.Listing();
    cluster_.Advance(OnTheWay());
    std::set<std::string> listed;
    for (const EngineJob& job : jobs) {
      if (job.phase != EngineJob::Phase::kEnded) listed.insert(job.id);
    }
    std::erase_if(cluster_.listed_, [&](const std::string& job) { return !listed.contains(job); });
    cluster_.latest_ = std::move(listed);
    return jobs;
  }

  Submitted Submit(const FleetStep& step) override {
    const std::uint64_t number = step.submit->number;
    cluster_.MaybeKill();
    cluster_.SubmissionMade(step);
    Submitted submitted{.number = number, .message = "why"};
    if (IsAway() || cluster_.Chance(cluster_.refused_)) {
      cluster_.made_[number].outcome = SimulatedCluster::Outcome::kRefused;
      submitted.kind = Submitted::Kind::kRefused;
      cluster_.Advance(OnTheWay());
      return submitted;
    }
    if (cluster_.Chance(cluster_.unanswered_)) {
      // It never arrives, or in time, or after the program was killed, or after the coordinator was.
      const Duration limit = seconds(step.config.call_seconds());
      const int which = cluster_.random_.Below(3);
      if (which == 0) cluster_.made_[number].outcome = SimulatedCluster::Outcome::kLost;
      if (which > 0)
        cluster_.After(which == 1 ? OnTheWay() : limit + cluster_.random_.Between(Duration(0), kLatest),
                       [cluster = &cluster_, number] { cluster->TakeRequest(number); });
      cluster_.MaybeKill();
      cluster_.Advance(limit);
      return submitted;
    }
    // It arrives, also where the coordinator is killed meanwhile.
    const auto job = std::make_shared<std::string>();
    const Duration arrives = OnTheWay();
    cluster_.After(arrives, [cluster = &cluster_, number, job] { *job = cluster->TakeRequest(number); });
    cluster_.Advance(arrives);
    submitted.job = *job;
    submitted.kind = submitted.job.empty() ? Submitted::Kind::kRefused : Submitted::Kind::kTaken;
    cluster_.MaybeKill();
    cluster_.Advance(OnTheWay());
    return submitted;
  }

  absl::Status Cancel(const FleetStep& step) override {
    cluster_.MaybeKill();
    cluster_.JobsCancelled(step.cancel);
    const bool fails = IsAway() || cluster_.Chance(cluster_.cancel_fails_);
    for (const std::string& job : step.cancel) {
      // Some of those that fail have reached Slurm.
      if (!fails || cluster_.random_.PerMille(300)) cluster_.CancelJob(job);
    }
    cluster_.Advance(OnTheWay());
    if (!fails) return absl::OkStatus();
    for (const std::string& job : step.cancel) cluster_.leaving_.erase(job);
    return absl::UnavailableError("scancel: away");
  }

 private:
  bool IsAway() const { return cluster_.now_ < cluster_.away_until_; }
  Duration OnTheWay() { return cluster_.random_.Between(milliseconds(20), milliseconds(800)); }

  SimulatedCluster& cluster_;
};

std::unique_ptr<Engine> SimulatedCluster::NewEngine() { return std::make_unique<SimulatedEngine>(*this); }

}  // namespace inlier
