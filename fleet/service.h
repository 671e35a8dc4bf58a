// The fleet outside the decisions: on a thread of its own it looks at the engine's queue, decides, and asks for what was
// decided once that is stored. No decision of the coordinator waits for it; it sees what ClusterView has and drains jobs.
//
// Without a fleet, and between two polls, the thread sleeps until a request or look_seconds wake it.
//
// Thread safety: all but Start, Round and Stop from any thread, but for the coordinator's: the ports wait for that.
#ifndef INLIER_FLEET_SERVICE_H_
#define INLIER_FLEET_SERVICE_H_

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fleet/engine.h"
#include "fleet/state.h"
#include "fleet/store.h"

namespace inlier {

// The coordinator's functions that it uses.
struct FleetPorts {
  // Puts the drain in force, and gives what there is then. Waits for it. Errors: the coordinator is stopping.
  std::function<absl::StatusOr<ClusterView>(const JobDrain& drain)> drain;
  // Stores the changes, in the order of the calls. `done`: they are durable, or never will be; on any thread, now or later.
  std::function<void(std::vector<FleetChange> changes, std::function<void(absl::Status)> done)> store;
  // The fleet has changed: for its metrics.
  std::function<void(const Fleet& fleet)> observe;
  std::function<Timestamp()> now = MonotonicNow;
};

class FleetService {
 public:
  // The errors of RecoverFleet.
  static absl::StatusOr<std::unique_ptr<FleetService>> Make(FleetOptions options, StoredFleet stored,
                                                            std::unique_ptr<Engine> engine, FleetPorts ports);
  ~FleetService();

  void Start();
  // Ends the engine's call that runs. The ports work until it returns.
  void Stop();

  // Users' requests (fleet.h), answered once what they change is durable.
  absl::StatusOr<v1::SetFleetResponse> Set(const v1::SetFleetRequest& request);
  absl::StatusOr<v1::ScaleFleetResponse> Scale(const v1::ScaleFleetRequest& request);
  absl::StatusOr<v1::StopFleetResponse> StopFleet(const v1::StopFleetRequest& request);
  v1::FleetStatus Status();
  // The reasons why it does not run waiting work (status.h).
  std::vector<std::string> Reasons();

  // The thread's work: a poll, a decision and its consequences. Returns the time until the next; nullopt: no fleet.
  std::optional<Duration> Round();

 private:
  // Ready once what was decided is stored, or never will be.
  using Stored = std::shared_future<absl::Status>;

  FleetService(FleetOptions options, std::unique_ptr<Engine> engine, FleetPorts ports);
  FleetContext Context() { return {.fleet = fleet_, .view = view_, .now = ports_.now(), .wall = WallNow()}; }
  // Puts the fleet's drain in force and renews the view. REQUIRES: mutex_ is held.
  absl::Status Drain(const std::string& yield = "");
  // Logs, and stores what was decided. REQUIRES: mutex_ is held.
  Stored Settle(FleetContext& context);

  // REQUIRES of all below: mutex_ is not held.
  // Runs `decide(context)` as one decision, and waits until it is stored. `yield`: of the drain that follows from it.
  template <typename Call>
  auto Request(Call decide, const std::string& yield = "");
  absl::Status Wait(const Stored& stored);
  absl::StatusOr<FleetStep> Decide(const EngineLook& look);
  void Act(const FleetStep& step);
  void Run();
  bool MustStop();

  const FleetOptions options_;
  const std::unique_ptr<Engine> engine_;
  const FleetPorts ports_;
  std::mutex mutex_;
  Fleet fleet_;
  ClusterView view_;
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool poked_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_FLEET_SERVICE_H_
