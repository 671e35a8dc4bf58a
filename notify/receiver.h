// One hook: delivers the notifications that wait for it, one at a time, on a thread of its own, so that no other hook and no
// decision waits for it.
//
// The database is the queue: the next notification is read from it after the result of the one before is stored. Order: by
// event; one that was refused goes behind the others. After a failed try the hook waits, from 1 s doubling to 15 min. A
// notification is abandoned when a try fails give_up_hours after its event. A kill between the receiver's answer and the
// commit of the result delivers it twice, with the same id.
#ifndef INLIER_NOTIFY_RECEIVER_H_
#define INLIER_NOTIFY_RECEIVER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "coordinator/store/committer.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/config.pb.h"
#include "notify/try_outcome.h"

namespace inlier {

// After each try, and absent when it looks for the next: how many wait. On the hook's thread.
using ObserveTry = std::function<void(const std::string& hook, std::optional<TryOutcome::Kind> tried,
                                      std::uint64_t waiting)>;

// Waits until the time; false: the stop was requested.
bool SleepUntil(const std::stop_token& stop, Timestamp at);

// Ends what is under way half a second after the stop was requested.
MustStop GraceAfter(std::stop_token stop);

// The waits between tries that fail in a row.
inline constexpr Backoff kDeliveryBackoff{.first = std::chrono::seconds(1),
                                          .longest = std::chrono::minutes(15)};

// Tries once to deliver it; logs what a command wrote.
TryOutcome TryHook(const v1::HookConfig& hook, const std::string& key, bool insecure,
                   const Notification& notification, const MustStop& must_stop);

class Receiver {
 public:
  // `reader` and `committer` outlive it.
  Receiver(std::string event, v1::HookConfig hook, bool insecure, Reader& reader, Committer& committer,
           ObserveTry observe);

  // Delivers the stored notifications, until the stop.
  void Run(const std::stop_token& stop);

 private:
  absl::StatusOr<std::optional<Notification>> Next();
  // Tries once. False: the result was not stored before the stop, or never will be.
  bool Deliver(const Notification& notification, const MustStop& must_stop);
  void LogResult(const Notification& notification, const TryOutcome& outcome);

  const std::string event_, key_;
  const v1::HookConfig hook_;
  const bool insecure_;
  Reader& reader_;
  Committer& committer_;
  const ObserveTry observe_;
  int failures_ = 0;  // In a row.
  std::mt19937_64 random_{std::random_device()()};
};

}  // namespace inlier

#endif  // INLIER_NOTIFY_RECEIVER_H_
