// Notifications: a thread that makes them of what was committed (notifier.h), and one for each hook that delivers them
// (receiver.h). Each looks at the database a few times a second; nothing waits for them.
//
// Thread safety: none.
#ifndef INLIER_NOTIFY_NOTIFY_SERVICE_H_
#define INLIER_NOTIFY_NOTIFY_SERVICE_H_

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "inlier/v1/config.pb.h"
#include "notify/notifier.h"
#include "notify/receiver.h"

namespace inlier {

class NotifyService {
 public:
  // Hands StartOfNotifications to the committer, so it is made before any decision. All outlive it. `ports`: but `store`.
  // REQUIRES: CheckHooks(config).
  NotifyService(const v1::CoordinatorConfig& config, std::string coordinator,
                const std::filesystem::path& database, Committer& committer, Notifier::Ports ports,
                ObserveTry observe);

  void Start();
  // Ends every try within half a second.
  void Stop();

 private:
  void Run(const std::stop_token& stop);

  const v1::CoordinatorConfig& config_;
  const std::string coordinator_;
  Reader reader_;
  Committer& committer_;
  const Notifier::Ports ports_;
  const ObserveTry observe_;
  std::vector<std::jthread> threads_;
};

// Sends the event "test" to each hook in turn, and prints a line for each result. Unavailable when any was not taken.
absl::Status TestHooks(const v1::CoordinatorConfig& config);

}  // namespace inlier

#endif  // INLIER_NOTIFY_NOTIFY_SERVICE_H_
