#include "coordinator/sweeps/notify.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "coordinator/state/sweep_expander.h"
#include "coordinator/store/hook_key.h"
#include "coordinator/sweeps/notification.h"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kFirstWindow = std::chrono::minutes(1);
constexpr Duration kLongestWindow = std::chrono::hours(1);
constexpr std::size_t kTrialsShown = 10;  // Of the failures in a notification.
constexpr std::size_t kMessageBytesMax = 500;
constexpr std::size_t kLabelsMax = 50;

std::string NameOf(const Sweep& sweep) {
  return absl::StrCat("sweep ", sweep.spec.name(), " (", sweep.id.ToString(), ")");
}

std::string ShortMessage(const Trial& trial) {
  return std::string(
      CutUtf8(ReplaceInvalidUtf8(trial.message().substr(0, 4 * kMessageBytesMax)), kMessageBytesMax));
}

// "12 succeeded, 1 failed": the states that trials are in.
std::string CountsText(const Sweep& sweep) {
  std::string text;
  const std::pair<v1::TrialState, const char*> states[] = {
      {v1::SUCCEEDED, "succeeded"}, {v1::DIVERGED, "diverged"}, {v1::FAILED, "failed"},
      {v1::CANCELLED, "cancelled"}, {v1::RUNNING, "running"},   {v1::PENDING, "pending"}};
  for (const auto& [state, name] : states) {
    if (sweep.Count(state) > 0)
      absl::StrAppend(&text, text.empty() ? "" : ", ", sweep.Count(state), " ", name);
  }
  return text.empty() ? "no trials" : text;
}

std::string WhyEnded(const Sweep& sweep) {
  if (sweep.state == v1::COMPLETE) return "all its trials have ended";
  return sweep.notices.empty() ? v1::SweepState_Name(sweep.state) : sweep.notices.back();
}

Json TrialJson(const Context& context, const Trial& trial) {
  Json labels = Json::object();
  for (const auto& [axis, label] : LabelsFromJson(std::string(trial.labels_json))) {
    if (labels.size() < kLabelsMax) labels[axis] = CutUtf8(label, kMessageBytesMax);
  }
  Json json = {{"id", trial.id.ToString()}, {"labels", std::move(labels)}};
  for (const StageId stage : {trial.train, trial.evaluate}) {
    const auto failure = context.noted.last_failures.find(stage);
    if (failure == context.noted.last_failures.end()) continue;
    json["stage"] = stage.ToString();
    json["failure"] = v1::FailureClass_Name(failure->second.failure);
    json["worker"] = failure->second.worker;
  }
  json["message"] = ShortMessage(trial);
  // Of one that no attempt of this call has failed, the message begins with it.
  v1::FailureClass failure;
  const std::string first = trial.message().substr(0, trial.message().find(':'));
  if (!json.contains("failure") && v1::FailureClass_Parse(first, &failure)) json["failure"] = first;
  return json;
}

NotificationContent FailureContent(const Sweep& sweep, std::uint64_t failures,
                                   const std::vector<std::string>& trials) {
  NotificationContent content;
  Json listed = Json::array();
  for (const std::string& trial : trials) listed.push_back(Json::parse(trial));
  content.text = absl::StrCat(failures, failures == 1 ? " trial" : " trials", " of ", NameOf(sweep),
                              failures == 1 ? " is" : " are", " FAILED; ", listed[0]["id"].get<std::string>(),
                              ": ", listed[0]["message"].get<std::string>());
  content.fields = {{"failures", failures}, {"trials", std::move(listed)}};
  return content;
}

void Add(Context& context, const std::vector<NotificationRow>& rows) {
  for (const NotificationRow& row : rows) context.out.changes.Add(row);
}

void ArmGather(State& state, SweepId id, FailureGather& gather, Timestamp until) {
  state.notifications.gathers_due.erase({gather.until, id});
  gather.until = until;
  state.notifications.gathers_due.emplace(until, id);
}

// The gathered failures wait for delivery, and the next window begins.
void Send(Context& context, FailureGather& gather) {
  for (NotificationRow& row : gather.rows) row.gathering = false;
  Add(context, gather.rows);
  gather.rows.clear();
  gather.trials.clear();
  gather.failures = 0;
}

void NotifyFailures(Context& context, Sweep& sweep, const std::vector<TrialId>& trials) {
  State& state = context.state;
  const auto [at, first] = state.notifications.gathers.try_emplace(sweep.id);
  FailureGather& gather = at->second;
  const bool begins = gather.failures == 0;
  gather.failures += trials.size();
  for (const TrialId id : trials) {
    if (gather.trials.size() == kTrialsShown) break;
    gather.trials.push_back(
        TrialJson(context, state.trials.at(id)).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  const NotificationContent content = FailureContent(sweep, gather.failures, gather.trials);
  if (begins) gather.rows = NotificationsOf(context, kFailureEvent, sweep, trials.front(), content);
  for (NotificationRow& row : gather.rows) {
    row.gathering = true;
    WriteBody(state, sweep, content, row);
  }
  if (!first) return Add(context, gather.rows);
  Send(context, gather);
  gather.window = kFirstWindow;
  ArmGather(state, sweep.id, gather, context.now.at + gather.window);
}

}  // namespace

void NotifyNoted(Context& context) {
  State& state = context.state;
  const HookOptions& hooks = state.options.hooks;
  if (hooks.Has(kFailureEvent)) {
    std::map<SweepId, std::vector<TrialId>> failed;
    for (const TrialId id : context.noted.failed) {
      const Trial& trial = state.trials.at(id);
      if (trial.state == v1::FAILED && !trial.withdrawn) failed[trial.sweep].push_back(id);
    }
    for (const auto& [sweep, trials] : failed) NotifyFailures(context, state.sweeps.at(sweep), trials);
  }
  for (const SweepId id : context.noted.ended) {
    const Sweep& sweep = state.sweeps.at(id);
    if (sweep.state == v1::ACTIVE) continue;
    if (const auto gather = state.notifications.gathers.find(id); gather != state.notifications.gathers.end())
      Send(context, gather->second);
    if (!hooks.Has(kEndEvent)) continue;
    const std::string reason = WhyEnded(sweep);
    NotificationContent content{.text = absl::StrCat(NameOf(sweep), " is ", v1::SweepState_Name(sweep.state),
                                                     ": ", CountsText(sweep), "; ", reason)};
    content.fields = {{"reason", reason}};
    Add(context, NotificationsOf(context, kEndEvent, sweep, TrialId(), content));
  }
  context.noted = {};
}

void SendGatheredFailures(Context& context) {
  NotificationTable& table = context.state.notifications;
  while (!table.gathers_due.empty() && table.gathers_due.begin()->first <= context.now.at) {
    const SweepId id = table.gathers_due.begin()->second;
    FailureGather& gather = table.gathers.at(id);
    if (gather.rows.empty()) {
      table.gathers_due.erase(table.gathers_due.begin());
      table.gathers.erase(id);
      continue;
    }
    Send(context, gather);
    gather.window = std::min(2 * gather.window, kLongestWindow);
    ArmGather(context.state, id, gather, context.now.at + gather.window);
  }
}

std::optional<Timestamp> GatheredFailuresDue(const State& state) {
  if (state.notifications.gathers_due.empty()) return std::nullopt;
  return state.notifications.gathers_due.begin()->first;
}

}  // namespace inlier
