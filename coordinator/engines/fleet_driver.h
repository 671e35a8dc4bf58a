// Drives the fleet's engine on a thread of its own, so that no decision waits for it: looks at its queue, has the
// coordinator decide, and asks for what was decided once that is stored. One call of the engine at a time.
//
// Without a fleet, and between two looks, it sleeps until it is poked or look_seconds have passed.
//
// Thread safety: Poke from any thread; everything else from one.
#ifndef INLIER_COORDINATOR_ENGINES_FLEET_DRIVER_H_
#define INLIER_COORDINATOR_ENGINES_FLEET_DRIVER_H_

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/engines/slurm.h"
#include "coordinator/fleet/fleet.h"

namespace inlier {

// Parts of the coordinator that it uses. Called on its thread; `done` is called on any, at most once.
struct FleetPorts {
  // Decides on a look, or without one. `done`: what was decided is durable; an error: it is not and will not be.
  std::function<void(std::optional<EngineLook> look, std::function<void(absl::StatusOr<FleetStep>)> done)>
      decide;
  std::function<void(Submitted submitted)> submitted;
  std::function<void(std::vector<std::string> jobs, absl::Status status)> cancelled;
};

class FleetDriver {
 public:
  // `state_dir`: the coordinator's, absolute.
  FleetDriver(std::filesystem::path state_dir, FleetPorts ports);
  ~FleetDriver();

  void Start();
  // The fleet has changed. Harmless before Start and after Stop.
  void Poke();
  // Kills the engine's program that runs. The ports work until it returns.
  void Stop();

 private:
  void Run();
  // Waits for a poke, the stop or the time; false: it stops.
  bool Wait(std::optional<Duration> longest);
  bool MustStop();
  absl::StatusOr<FleetStep> Decide(std::optional<EngineLook> look);
  void Act(const FleetStep& step);

  const FleetPorts ports_;
  const Slurm slurm_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool poked_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ENGINES_FLEET_DRIVER_H_
