// The fleet of a world: its cluster, the programs that reach it, the thread that drives them, and the workers that run in
// its jobs.
//
// Thread safety: none.
#ifndef INLIER_TESTS_SIMULATION_SIMULATED_FLEET_H_
#define INLIER_TESTS_SIMULATION_SIMULATED_FLEET_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/coordinator_process.h"
#include "tests/simulation/driver_process.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/slurm_cluster.h"
#include "tests/simulation/slurm_programs.h"
#include "tests/simulation/worker_process.h"
#include "tests/simulation/world.h"

namespace inlier {

class SimulatedFleet {
 public:
  // All outlive it. REQUIRES: the world has a fleet; the coordinator has not started. `on_submission`: sbatch is about to
  // run.
  SimulatedFleet(World& world, Oracle& oracle, CoordinatorProcess& coordinator,
                 std::function<void()> on_submission);

  // Troubles of Slurm and its nodes.
  void Trouble();
  // Of a job that runs; nullptr: there is none.
  WorkerProcess* SomeWorker();
  std::string SomeNode() { return cluster_.SomeNode(); }
  // Adds the incarnations of the workers that live.
  void AddWorkers(std::vector<std::string>& workers) const;

  // No trouble from here on.
  void Calm();
  // REQUIRES of both: Calm. To be called at every step: a violation where the fleet leaves work alone for too long, or
  // keeps more jobs than its minimum for too long without work.
  void CheckAsked(bool work_is_left);
  void CheckGivenBack(Timestamp without_work_since);
  // It has just as many jobs as it keeps without work.
  bool IsAtRest() const;

 private:
  void Start(const SlurmJob& job);

  World& world_;
  Oracle& oracle_;
  CoordinatorProcess& coordinator_;
  SlurmCluster cluster_;
  SlurmPrograms programs_;
  DriverProcess driver_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;  // All that ever were.
  std::map<std::string, WorkerProcess*> running_;        // By job.
  std::optional<Timestamp> without_jobs_since_;          // Though there is work.
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_SIMULATED_FLEET_H_
