// The thread that drives the fleet's engine (coordinator/engines/fleet_driver.h), in virtual time: looks at the queue, has
// the coordinator decide, and asks for what was decided once that is stored. It dies with its coordinator.
//
// Thread safety: none.
#ifndef INLIER_TESTS_SIMULATION_DRIVER_PROCESS_H_
#define INLIER_TESTS_SIMULATION_DRIVER_PROCESS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "base/run_program.h"
#include "coordinator/fleet/fleet.h"
#include "tests/simulation/coordinator_process.h"
#include "tests/simulation/slurm_programs.h"
#include "tests/simulation/world.h"

namespace inlier {

class DriverProcess {
 public:
  // All outlive it. `on_submission`: sbatch is about to run.
  DriverProcess(World& world, CoordinatorProcess& coordinator, SlurmPrograms& programs,
                std::function<void()> on_submission);

  // The coordinator has started.
  void Start();
  // A person has changed the fleet.
  void Poke();

 private:
  template <typename T>
  using Done = std::function<void(T)>;

  bool Lives(std::uint64_t life) const { return coordinator_.up() && coordinator_.life() == life; }
  // `done`, as long as this life of the coordinator lasts.
  template <typename T>
  Done<T> InThisLife(Done<T> done) const;
  // One round of FleetDriver::Run.
  void Round();
  // The next one, after a poke or this time.
  void Wait(Duration longest);
  // Runs `call` on the coordinator's thread, in this life.
  void Post(std::function<void()> call);
  void Decide(std::optional<EngineLook> look, Done<absl::StatusOr<FleetStep>> done);
  void Look(const FleetStep& step);
  void Act(const FleetStep& step);
  void Submit(const FleetStep& step);

  World& world_;
  CoordinatorProcess& coordinator_;
  SlurmPrograms& programs_;
  const std::function<void()> on_submission_;
  std::uint64_t life_ = 0;   // Of the coordinator.
  std::uint64_t waits_ = 0;  // Grows with each wait: a timer of an earlier one is void.
  bool waiting_ = false;
  bool poked_ = false;
  Duration pause_{};  // Between two looks.
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_DRIVER_PROCESS_H_
