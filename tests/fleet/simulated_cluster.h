// A cluster, the workers in its jobs, the coordinator that they work for, and the oracle, in virtual time: what
// simulation_test.cc runs the fleet's service against. A seed decides what goes wrong.
//
// The oracle's invariants:
//  - a submission is stored before it is made; its number grows, so none is made twice;
//  - with it, the jobs that there are and those on their way stay within the maximum;
//  - it is stored as taken, as refused, as ended and as lost only when it is;
//  - a job whose worker has an attempt is never given back; the worker of one that is, or of a fleet that is stopped, gets no
//    new attempt;
//  - a fleet that is stopped asks for nothing; a stop that was answered is stored;
//  - once trouble is over all work is done, and without work the fleet goes back to its minimum, each within a bound.
// Where squeue leaves out jobs that are there, what follows from that is no violation.
//
// Thread safety: none.
#ifndef INLIER_TESTS_FLEET_SIMULATED_CLUSTER_H_
#define INLIER_TESTS_FLEET_SIMULATED_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fleet/service.h"
#include "tests/simulation/random.h"

namespace inlier {

// The coordinator's process ends here.
struct Killed {};

class SimulatedCluster {
 public:
  explicit SimulatedCluster(std::uint64_t seed);

  // The first violation; empty: there was none.
  const std::string& violation() const { return violation_; }
  void Violate(const std::string& what);
  const std::map<std::string, int>& totals() const { return totals_; }
  // Events, a line each.
  void Note(const std::string& line);
  const std::string& history() const { return history_; }

  Timestamp now() const { return now_; }
  Random& random() { return random_; }
  bool Chance(int per_mille) { return !calm_ && random_.PerMille(per_mille); }
  // Lets time pass, with all that happens in it.
  void Advance(Duration for_long);
  // No trouble from here on, and no new work.
  void Calm();

  // The coordinator. It starts from the store; a kill has lost its drains.
  const v1::FleetConfig& config() const { return config_; }
  StoredFleet CoordinatorStarts();
  std::unique_ptr<Engine> NewEngine();
  FleetPorts Ports();
  // Some trouble. People act through `fleet`.
  void Trouble(FleetService& fleet);
  void Resume(FleetService& fleet);

  std::uint64_t WorkLeft() const;
  std::string WorkText() const;
  std::uint32_t Live() const;     // Jobs.
  std::uint32_t minimum() const;  // As stored.

 private:
  friend class SimulatedEngine;

  struct Worker {
    ClusterView::Worker seen{};
    bool alive = true;
  };
  struct Job {
    EngineJob listed{};
    int run = 0;      // Grows with each start and end: what was to happen to an earlier one is void.
    int worker = -1;  // Of this run; in workers_.
    bool cancelled = false;
    bool hidden = false;
    Timestamp ended{};
    bool Over() const { return listed.phase == EngineJob::Phase::kEnded; }
  };
  enum class Outcome { kOnTheWay, kRefused, kTaken, kLost };
  struct Submission {
    std::uint32_t jobs = 0;
    Outcome outcome = Outcome::kOnTheWay;
    std::string job{};
  };
  struct Due {
    Timestamp at;
    std::uint64_t number = 0;
    std::function<void()> what;
  };

  void After(Duration delay, std::function<void()> what);
  // The same, unless the job has started again or ended by then.
  void AfterInRun(const std::string& job, Duration delay, std::function<void(Job&)> what);
  void Must(bool holds, const std::string& what);
  void MaybeKill();

  // Slurm.
  Job* Find(const std::string& id);
  Job* SomeRunning();
  void StartJobs();
  void Connect(Job& job);
  void EndRun(Job& job);
  void End(Job& job, const std::string& state);
  void CancelJob(const std::string& id);
  std::string TakeRequest(std::uint64_t number);
  std::vector<EngineJob> Listing() const;

  // The coordinator.
  void Dispatch();
  ClusterView View() const;
  ClusterView TakeDrain(const JobDrain& drain);
  void Store(const std::vector<FleetChange>& changes);
  void People(FleetService& fleet);

  // The oracle.
  void SubmissionStored(const FleetSubmissionRow& row);
  void SubmissionMade(const FleetStep& step);
  void JobsCancelled(const std::vector<std::string>& jobs);
  void CheckLease(const std::string& job);

  Random random_;
  Timestamp now_{std::chrono::hours(1)};
  std::map<std::pair<Timestamp, std::uint64_t>, std::function<void()>> due_;
  std::uint64_t numbers_ = 0;
  bool calm_ = false;
  std::string violation_, history_;
  std::map<std::string, int> totals_;
  v1::FleetConfig config_;
  int nodes_ = 0;
  std::uint32_t slots_ = 1;
  int refused_ = 0, unanswered_ = 0, list_fails_ = 0, cancel_fails_ = 0, failed_nodes_ = 0, cuts_ = 0,
      kills_ = 0, people_ = 0, lies_ = 0, full_ = 0;
  Timestamp away_until_{}, stale_until_{}, limited_until_{}, full_until_{};
  std::uint32_t jobs_max_ = 0;
  std::vector<EngineJob> stale_;

  std::vector<Job> jobs_;
  int last_job_ = 0;
  std::vector<Worker> workers_;
  std::uint64_t ready_ = 0;
  std::uint64_t lost_ = 0;  // Attempts of dead workers, of which the coordinator does not know yet.
  std::set<std::string> drained_;
  int life_ = 0;  // Grows with each kill.
  std::optional<FleetRow> row_;
  std::map<std::uint64_t, FleetSubmissionRow> rows_;

  std::map<std::uint64_t, Submission> made_;
  std::set<std::string> leaving_, listed_,
      latest_;  // Jobs that are given back, that the fleet knows, of its latest look.
  bool stopped_ = false;
  bool misled_ = false;
};

}  // namespace inlier

#endif  // INLIER_TESTS_FLEET_SIMULATED_CLUSTER_H_
