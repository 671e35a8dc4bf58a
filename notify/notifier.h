// Notifications of hooks: committed events as rows of the table `notification`, one for each hook.
//
// Passive: Step() takes the time. It reads the table `event` from a stored number on (the cursor), and stores the rows that
// it makes and the cursor in one transaction, so that a kill neither loses nor doubles any.
//
// Failures: the first of a sweep is notified at once. Those of the next minute come together at its end; while trials keep
// failing the time doubles, to an hour at most. The end of the sweep sends those that are gathered before its own
// notification, and so does a start. Gathered failures have no rows: a cursor of the sweep's own is the event from which they
// are read.
//
// No worker: sweeps whose trials no connected worker can run are asked for every few seconds. Each is notified once when that
// has lasted for no_worker_seconds, and again only after it has ended. That it lasts is stored with the notification.
//
// Thread safety: none.
#ifndef INLIER_NOTIFY_NOTIFIER_H_
#define INLIER_NOTIFY_NOTIFIER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "nlohmann/json.hpp"
#include "notify/notification_body.h"

namespace inlier {

// Before anything that is to be notified is stored: without a cursor it begins with the next event, and without hooks there is
// none. What waits for a hook that was removed from the configuration is abandoned after three days.
ChangeBatch StartOfNotifications(const v1::HooksConfig& hooks, WallTime now);

class Notifier {
 public:
  struct Ports {
    std::function<bool(ChangeBatch)> store;  // True when the batch is durable.
    // Calls that any client may make: UnplaceableSweeps (status/status.h), and Explain (status/explain.h).
    std::function<std::map<SweepId, TrialId>()> unplaceable;
    std::function<absl::StatusOr<v1::Explanation>(const v1::ExplainRequest&)> explain;
  };

  // `reader` outlives it. `coordinator`: name of this machine.
  Notifier(const v1::HooksConfig& hooks, std::string coordinator, Reader& reader, Ports ports);

  // Makes what is due. After an error the next step begins again from the store.
  absl::Status Step(Timestamp now, WallTime wall);

 private:
  // Failures of a sweep after one that was notified.
  struct Window {
    Duration length{};
    Timestamp until{};
    std::int64_t notified = 0;  // Up to this event.
  };
  struct Lack {
    Timestamp since{};
    bool sent = false;
  };

  absl::Status Load(Timestamp now);
  absl::Status TakeEvents(Timestamp now);
  absl::Status TakeEvent(const std::vector<SqlValue>& event, std::int64_t last, Timestamp now);
  absl::Status CloseWindows(Timestamp now);
  absl::Status CheckNoWorker(Timestamp now, WallTime wall);
  absl::Status AddNoWorker(SweepId sweep, TrialId trial, Duration waited, WallTime wall);
  absl::StatusOr<bool> AddFailures(SweepId sweep, std::int64_t after, std::int64_t last);
  void Add(const std::string& event, WallTime at, SweepId sweep, TrialId trial, const SweepPart& part,
           const std::string& text, const nlohmann::ordered_json& fields);
  void SetCursor(SweepId sweep, std::int64_t event);
  absl::Status Commit();
  absl::StatusOr<std::int64_t> Number(const std::string& sql);

  std::map<std::string, std::vector<std::string>> hooks_;  // Event -> keys of its hooks.
  const Duration no_worker_;
  const std::string coordinator_;
  Reader& reader_;
  const Ports ports_;

  bool loaded_ = false;
  ChangeBatch batch_;        // Made, and not stored yet.
  std::int64_t next_ = 1;    // Number of the next notification.
  std::int64_t cursor_ = 0;  // Events up to here were taken.
  std::map<SweepId, Window> windows_;
  std::map<SweepId, Lack> lacks_;  // Sweeps that no worker can run.
  Timestamp lacks_due_{};
};

}  // namespace inlier

#endif  // INLIER_NOTIFY_NOTIFIER_H_
