// One hook: delivers the notifications that wait for it, one at a time, on a thread of its own, so that no other hook and no
// decision waits for it.
//
// The database is the queue: the next notification is read from it after the result of the one before is stored. Order: by
// event; one that was refused goes behind the others. After a failed try the hook waits, from 1 s doubling to 15 min. A
// notification is given up when a try fails give_up_hours after its event. A kill between the receiver's answer and the
// commit of the result delivers it twice, with the same id.
#ifndef INLIER_COORDINATOR_NOTIFICATIONS_RECEIVER_H_
#define INLIER_COORDINATOR_NOTIFICATIONS_RECEIVER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "coordinator/notifications/try_outcome.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

// Parts of the coordinator that a hook uses. Called on the hook's thread.
struct DeliveryPorts {
  // Stores the change; `done` is called on any thread, with OK when it is durable.
  std::function<void(NotificationTried change, std::function<void(absl::Status)> done)> store;
  // After each try, and with none when notifications arrived or the hook starts: how many wait.
  std::function<void(const std::string& hook, std::optional<NotificationTried::Result> tried,
                     std::uint64_t waiting)>
      observe;
};

// Of tries that failed in a row.
inline constexpr Backoff kDeliveryBackoff{.first = std::chrono::seconds(1),
                                          .longest = std::chrono::minutes(15)};

// Tries once to deliver it; logs what a command wrote.
TryOutcome TryHook(const v1::HookConfig& hook, const std::string& key, bool insecure,
                   const Notification& notification, const MustStop& must_stop);

class Receiver {
 public:
  // A try that is under way when the coordinator stops has so long to end.
  static constexpr Duration kStopGrace = std::chrono::milliseconds(500);

  // `reader` and `ports` outlive it.
  Receiver(std::string event, v1::HookConfig hook, bool insecure, Reader& reader, const DeliveryPorts& ports);
  ~Receiver();

  void Start();
  // Notifications have been stored.
  void Poke();
  // Starts no further try.
  void RequestStop();
  // Waits for the try that is under way. REQUIRES: RequestStop().
  void Join();

 private:
  void Run();
  // Waits for the time, a poke if asked to, or the stop; false: it stops.
  bool WaitUntil(std::optional<Timestamp> at, bool until_poked);
  bool MustStopNow();
  absl::StatusOr<std::optional<Notification>> Next();
  // Tries once. False: the result was not stored, as of Store.
  bool Deliver(const Notification& notification);
  // False: it was not stored before the stop, or never will be.
  bool Store(NotificationTried change);
  void LogOutcome(const Notification& notification, const NotificationTried& change);

  const std::string event_, key_;
  const v1::HookConfig hook_;
  const bool insecure_;
  Reader& reader_;
  const DeliveryPorts& ports_;
  int failures_ = 0;  // In a row.
  std::mt19937_64 random_{std::random_device()()};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool poked_ = false;
  std::optional<Timestamp> stop_at_;  // Set: it stops; tries end then.
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_NOTIFICATIONS_RECEIVER_H_
