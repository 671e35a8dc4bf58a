// sbatch, squeue and scancel in virtual time, as the coordinator's engine runs them: each takes a while, and may fail, lose
// its answer, be killed at its time limit, or print what was true some time ago. What sbatch has sent arrives even where the
// program, or the coordinator that ran it, is gone.
//
// Arguments and outputs are those of engines/slurm_text.h. Every call of sbatch is given to the oracle.
//
// Thread safety: none.
#ifndef INLIER_TESTS_SIMULATION_SLURM_PROGRAMS_H_
#define INLIER_TESTS_SIMULATION_SLURM_PROGRAMS_H_

#include <functional>
#include <string>
#include <vector>

#include "base/run_program.h"
#include "tests/simulation/fleet_oracle.h"
#include "tests/simulation/slurm_cluster.h"
#include "tests/simulation/world.h"

namespace inlier {

class SlurmPrograms {
 public:
  // How a program ended; called once, later.
  using Ended = std::function<void(const ProgramEnd& end)>;

  // All outlive it. REQUIRES: the world has a fleet.
  SlurmPrograms(World& world, FleetOracle& oracle, SlurmCluster& cluster);

  // `limit`: then the program is killed.
  void Sbatch(const std::vector<std::string>& arguments, Duration limit, Ended ended);
  void Squeue(Duration limit, Ended ended);
  void Scancel(const std::vector<std::string>& jobs, Duration limit, Ended ended);

  // Troubles.
  void LimitJobs(std::uint32_t jobs, Duration for_long);
  void Fail(Duration for_long);  // Slurm's daemon is away.
  void Stale(Duration for_long);
  void Calm();

 private:
  // The request of sbatch arrives.
  ProgramEnd Take(const SlurmRequest& request);
  bool IsAway() const { return world_.now() < away_until_; }
  Duration OnTheWay();

  World& world_;
  FleetOracle& oracle_;
  SlurmCluster& cluster_;
  Timestamp away_until_, stale_until_, limited_until_;
  std::string stale_listing_;
  std::uint32_t jobs_max_ = 0;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_SLURM_PROGRAMS_H_
