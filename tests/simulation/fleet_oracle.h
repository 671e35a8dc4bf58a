// The truth about the fleet, as seen from outside: what sbatch was asked for and what became of it, the cluster's own jobs,
// and every look that the coordinator was given.
//
//  - a submission is stored before it is made; its number is never used again;
//  - with it, the jobs that there are and those on their way stay within the maximum, unless looks that were wrong gave the
//    coordinator every reason to take some for gone;
//  - it is stored as taken, as refused, as ended and as lost only when it is;
//  - a job whose worker has an attempt is never given back; the worker of one that is given back, or of a fleet that is
//    stopped, gets no new attempt;
//  - a fleet that is stopped asks for nothing; a stop that was answered is stored;
//  - when trouble is over, within a bound: where work is left jobs are asked for, and without work the fleet goes back to
//    its minimum (simulated_fleet.h).
//
// Thread safety: none.
#ifndef INLIER_TESTS_SIMULATION_FLEET_ORACLE_H_
#define INLIER_TESTS_SIMULATION_FLEET_ORACLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/fleet/fleet.h"
#include "coordinator/state/context.h"
#include "tests/simulation/slurm_cluster.h"
#include "tests/simulation/world.h"

namespace SQLite {
class Database;
}

namespace inlier {

class FleetOracle {
 public:
  explicit FleetOracle(World& world) : world_(world) {}

  // The store, nullptr: it is closed. The cluster, which outlives it.
  void Watch(SQLite::Database* connection) { connection_ = connection; }
  void WatchCluster(const SlurmCluster& cluster) { cluster_ = &cluster; }

  // The coordinator. `held`: attempts that have not ended, by their rows, with their workers.
  void CoordinatorStarts(std::map<Token, std::string> held);
  // A sync that is not out of date.
  void WorkerReports(const std::string& incarnation, const std::string& job);
  // It takes a look; then it has decided on it; then everything that it decided.
  void LookTaken(const EngineLook& look);
  void StepDecided(const FleetStep& step);
  void Decided(const Effects& effects);
  // scancel has failed: its jobs are not given back.
  void CancelFailed(const std::vector<std::string>& jobs);
  // People stop or resume the fleet: decided, which gives a number, and answered.
  std::uint64_t StopDecided(bool stopped);
  void StopAnswered(bool stopped, std::uint64_t decision);
  void ScaleDecided(std::uint32_t minimum) { minimum_ = minimum; }

  // sbatch is run; Slurm refuses its request, has taken it, or never gets it; the program has ended.
  void SbatchStarts(const std::string& name, std::uint32_t jobs);
  void SbatchRefused(const std::string& name);
  void SbatchTaken(const std::string& name, const std::string& job);
  void SbatchLost(const std::string& name);
  void SbatchEnds(const std::string& name);

  bool stopped() const { return stopped_; }
  // Jobs that are kept without work.
  std::uint32_t minimum() const { return minimum_; }
  // Jobs of requests that Slurm is about to get.
  std::uint32_t OnTheWay() const;

 private:
  enum class Outcome { kOnTheWay, kRefused, kTaken, kLost };
  struct Submission {
    std::uint32_t jobs = 0;
    Outcome outcome = Outcome::kOnTheWay;
    std::string job{};                 // kTaken: Slurm's id.
    std::uint64_t life = 0;            // Of the coordinator that ran sbatch.
    std::optional<Timestamp> ended{};  // Of sbatch.
  };

  // Knowledge of the coordinator since its start.
  struct Life {
    std::uint64_t number = 0;
    Timestamp started{};
    std::map<Token, std::string> held{};             // Live attempts, as decided, with their workers.
    std::map<std::string, std::string> job_of{};     // Of a worker.
    std::map<std::string, std::string> worker_of{};  // Of a job: the one that was heard last.
    std::set<std::string> listed{};                  // Jobs that have not ended, by the latest look.
    std::set<std::string> queued{};                  // Jobs that wait, by the same.
    std::set<std::string> leaving{};                 // Jobs that are given back.
    std::set<std::uint64_t> taken{};                 // Submissions that were stored as taken when it started.
  };

  void Must(bool holds, const std::string& what) {
    if (!holds) world_.Violate(what);
  }
  // REQUIRES: SbatchStarts was called for it.
  Submission& Of(const std::string& name);
  // The coordinator may take a job of it that a look does not list for gone, also where it never was listed.
  bool MayBeGivenUp(std::uint64_t number) const;
  void CheckSubmission(const FleetSubmissionRow& row, const v1::FleetConfig& config);
  void CheckGivenBack(const std::string& job);
  void CheckLease(Token token, const std::string& worker);
  void CheckRow(const FleetSubmissionRow& row);
  // A job of the submission that has not ended, and that the coordinator has no reason to take for gone.
  const SlurmJob* KnownJobOf(std::uint64_t number) const;
  void ReadFleet();

  World& world_;
  SQLite::Database* connection_ = nullptr;
  const SlurmCluster* cluster_ = nullptr;
  std::map<std::uint64_t, Submission> submissions_;  // By number.
  Life life_;
  std::set<std::string> shown_;     // Jobs that a look has listed, ever.
  std::set<std::string> doubtful_;  // Jobs that looks gave the coordinator reason to take for gone.
  bool misled_ = false;             // There was a doubtful job.
  std::uint64_t stops_ = 0;         // Decisions about the stop.
  bool stopped_ = false;            // By the latest.
  std::uint32_t minimum_ = 0;
  std::uint32_t largest_maximum_ = 0;  // At any submission.
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_FLEET_ORACLE_H_
