#include "coordinator/sweeps/notification.h"

#include <algorithm>

#include "coordinator/store/hook_key.h"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

Json SweepJson(const Sweep& sweep) {
  const std::uint64_t made = sweep.trials.size();
  const std::uint64_t not_made = sweep.Total() - std::min<std::uint64_t>(sweep.Total(), made);
  const bool active = sweep.state == v1::ACTIVE;
  Json json = {{"id", sweep.id.ToString()},
               {"name", sweep.spec.name()},
               {"owner", sweep.owner},
               {"state", v1::SweepState_Name(sweep.state)},
               {"submitted", FormatUtc(sweep.submitted)}};
  if (sweep.ended) json["ended"] = FormatUtc(*sweep.ended);
  json["trials"] = {{"total", sweep.Total()},
                    {"pending", sweep.Count(v1::PENDING) + (active ? not_made : 0)},
                    {"running", sweep.Count(v1::RUNNING)},
                    {"succeeded", sweep.Count(v1::SUCCEEDED)},
                    {"diverged", sweep.Count(v1::DIVERGED)},
                    {"failed", sweep.Count(v1::FAILED)},
                    {"cancelled", sweep.Count(v1::CANCELLED) + (active ? 0 : not_made)}};
  return json;
}

}  // namespace

void WriteBody(const State& state, const Sweep& sweep, const NotificationContent& content,
               NotificationRow& row) {
  Json body = {
      {"id", NotificationId(row.number, row.at)},
      {"event", row.event},
      {"time", FormatUtc(row.at)},
      {"coordinator", {{"name", state.options.hooks.coordinator}, {"version", state.options.version}}},
      {"text", content.text},
      {"sweep", SweepJson(sweep)}};
  body.update(content.fields);
  // Names and messages may be any bytes.
  row.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<NotificationRow> NotificationsOf(Context& context, const std::string& event, const Sweep& sweep,
                                             TrialId trial, const NotificationContent& content) {
  State& state = context.state;
  std::vector<NotificationRow> rows;
  const auto hooks = state.options.hooks.keys.find(event);
  if (hooks == state.options.hooks.keys.end()) return rows;
  for (const std::string& hook : hooks->second) {
    NotificationRow& row = rows.emplace_back(NotificationRow{.number = state.notifications.next++,
                                                             .at = context.now.wall,
                                                             .event = event,
                                                             .sweep = sweep.id,
                                                             .trial = trial,
                                                             .hook = hook});
    WriteBody(state, sweep, content, row);
  }
  return rows;
}

}  // namespace inlier
