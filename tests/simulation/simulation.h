// One history: a coordinator, workers that come and go, people, and the troubles of a seed; then no more
// trouble, until everything has ended.
#ifndef INLIER_TESTS_SIMULATION_SIMULATION_H_
#define INLIER_TESTS_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/coordinator_process.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/people.h"
#include "tests/simulation/worker_process.h"
#include "tests/simulation/world.h"

namespace inlier {

class Simulation {
 public:
  Simulation(std::uint64_t seed, const FaultVfs& disk, const std::filesystem::path& template_file);

  // Runs `steps` steps with trouble, kJobSteps times as many where workers run in jobs, and then to the end, or until
  // something is violated.
  void Run(std::uint64_t steps);

  World& world() { return world_; }
  const World& world() const { return world_; }
  std::uint64_t seed() const { return seed_; }

 private:
  // Jobs come and go more slowly than workers do everything else.
  static constexpr std::uint64_t kJobSteps = 3;

  void NewWorker(std::size_t place);
  void RunInAJob(std::size_t place);
  void Trouble();
  void DrainSomeJobs();
  void TroubleWithWorker();
  void Disturb(WorkerProcess& worker);
  void TroubleWithCoordinator();
  void CrashSoon();
  void TroubleWithData();
  void Settle();
  void LetGo();
  bool Over() const;

  const std::uint64_t seed_;
  World world_;
  Oracle oracle_;
  CoordinatorProcess coordinator_;
  People people_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;  // All that ever were.
  std::vector<WorkerProcess*> places_;                   // The latest at each place.
  int incarnations_ = 0;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_SIMULATION_H_
