// Notifications as rows for the store: their bodies, and one for each hook of the event.
#ifndef INLIER_COORDINATOR_SWEEPS_NOTIFICATION_H_
#define INLIER_COORDINATOR_SWEEPS_NOTIFICATION_H_

#include <string>
#include <vector>

#include "coordinator/state/context.h"
#include "nlohmann/json.hpp"

namespace inlier {

// Of an event: `fields` are the part of the body that only it has.
struct NotificationContent {
  std::string text{};  // One line for people.
  nlohmann::ordered_json fields{};
};

// A row for each hook of the event, with the next numbers. The caller adds them to the changes.
std::vector<NotificationRow> NotificationsOf(Context& context, const std::string& event, const Sweep& sweep,
                                             TrialId trial, const NotificationContent& content);

// The body of `row` from the present state of the sweep.
void WriteBody(const State& state, const Sweep& sweep, const NotificationContent& content,
               NotificationRow& row);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_NOTIFICATION_H_
