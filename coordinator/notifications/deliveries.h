// All hooks of the coordinator, each with its thread.
//
// Thread safety: Poke from any thread; everything else from one.
#ifndef INLIER_COORDINATOR_NOTIFICATIONS_DELIVERIES_H_
#define INLIER_COORDINATOR_NOTIFICATIONS_DELIVERIES_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/notifications/receiver.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

class Deliveries {
 public:
  // `database`: an inlier.db that exists. REQUIRES: CheckHooks(config).
  Deliveries(const v1::CoordinatorConfig& config, const std::filesystem::path& database, DeliveryPorts ports);
  ~Deliveries();

  void Start();
  // Notifications have been committed. Harmless before Start and after Stop.
  void Poke();
  // Ends every try within Receiver::kStopGrace. The ports work until it returns.
  void Stop();

 private:
  const DeliveryPorts ports_;
  Reader reader_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
};

// Sends a notification of the event "test" to each hook, one after the other, and writes a line for each result to stdout.
// Unavailable when any was not taken.
absl::Status TestHooks(const v1::CoordinatorConfig& config);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_NOTIFICATIONS_DELIVERIES_H_
