#include "notify/notifier.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/status.h"
#include "base/version.h"
#include "notify/hook_check.h"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kFirstWindow = std::chrono::minutes(1);
constexpr Duration kLongestWindow = std::chrono::hours(1);
// Between two checks for sweeps that no worker can run.
constexpr Duration kShortestPeriod = std::chrono::milliseconds(100);
constexpr Duration kLongestPeriod = std::chrono::seconds(15);
constexpr std::chrono::hours kRemovedHookKept{72};
constexpr std::int64_t kNotificationsKept = 10'000;
constexpr std::size_t kAtOnce = 200;  // Events or rows of one transaction: others wait for it.

constexpr char kEvents[] =
    "SELECT id, at_ms, kind, sweep, message FROM event WHERE id > ?1 AND id <= ?2 AND "
    "(kind = 'trial_failed' OR kind = 'sweep_ended') ORDER BY id LIMIT ?3";
constexpr char kReason[] =
    "SELECT message FROM event WHERE sweep = ?1 AND notice IS NOT NULL AND id > ?2 ORDER BY id LIMIT 1";
constexpr char kBegin[] =
    "INSERT OR IGNORE INTO notification_cursor SELECT 0, coalesce(max(id), 0) FROM event";
constexpr char kForgetAll[] = "DELETE FROM notification_cursor";
constexpr char kForgetHooks[] =
    "UPDATE notification SET state = 'GIVEN_UP', ended_ms = ?2, next_try_ms = NULL, error = 'the hook is no "
    "longer configured' WHERE state = 'WAITING' AND at_ms < ?1 AND hook NOT IN (SELECT value FROM "
    "json_each(?3))";
constexpr char kSetCursor[] =
    "INSERT INTO notification_cursor (sweep, event) VALUES (?1, ?2) ON CONFLICT (sweep) DO UPDATE SET event "
    "= ?2";
constexpr char kRemoveCursor[] = "DELETE FROM notification_cursor WHERE sweep = ?1";
constexpr char kInsert[] =
    "INSERT INTO notification (id, at_ms, event, sweep, trial, hook, body, state, lasts) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'WAITING', ?8)";
constexpr char kPrune[] =
    "DELETE FROM notification WHERE id < ?1 AND (state = 'DELIVERED' OR state = 'GIVEN_UP') AND lasts = 0";
constexpr char kLackEnded[] = "UPDATE notification SET lasts = 0 WHERE sweep = ?1 AND lasts = 1";

// The causes at the ends of an explanation.
void AppendCauses(const v1::Explanation& node, std::string& text) {
  for (const v1::Explanation& cause : node.because()) AppendCauses(cause, text);
  if (node.because_size() == 0) absl::StrAppend(&text, text.empty() ? "" : "; ", node.text());
}

}  // namespace

ChangeBatch StartOfNotifications(const v1::HooksConfig& hooks, WallTime now) {
  Json known = Json::array();
  for (const auto& [event, hook] : HooksOf(hooks)) known.push_back(HookKey(event, hook));
  const std::int64_t before = now.unix_ms - std::chrono::milliseconds(kRemovedHookKept).count();
  ChangeBatch batch;
  batch.Add(ServiceStatement{known.empty() ? kForgetAll : kBegin});
  batch.Add(ServiceStatement{kForgetHooks, {before, now.unix_ms, known.dump()}});
  return batch;
}

Notifier::Notifier(const v1::HooksConfig& hooks, std::string coordinator, Reader& reader, Ports ports)
    : no_worker_(std::chrono::seconds(hooks.no_worker_seconds())),
      coordinator_(std::move(coordinator)),
      reader_(reader),
      ports_(std::move(ports)) {
  for (const auto& [event, hook] : HooksOf(hooks)) hooks_[event].push_back(HookKey(event, hook));
}

absl::Status Notifier::Step(Timestamp now, WallTime wall) {
  if (!std::exchange(loaded_, false)) RETURN_IF_ERROR(Load(now));
  RETURN_IF_ERROR(TakeEvents(now));
  RETURN_IF_ERROR(CloseWindows(now));
  RETURN_IF_ERROR(CheckNoWorker(now, wall));
  loaded_ = true;
  return absl::OkStatus();
}

absl::Status Notifier::Load(Timestamp now) {
  batch_ = {};
  windows_.clear();
  lacks_.clear();
  lacks_due_ = now;
  ASSIGN_OR_RETURN(const SqlRows cursors,
                   reader_.Select("SELECT sweep, event FROM notification_cursor ORDER BY sweep"));
  if (cursors.rows.empty()) return absl::UnavailableError("StartOfNotifications is not stored");
  cursor_ = Integer(cursors.rows[0][1]);
  ASSIGN_OR_RETURN(next_, Number("SELECT 1 + coalesce(max(id), 0) FROM notification"));
  ASSIGN_OR_RETURN(const SqlRows lasting,
                   reader_.Select("SELECT DISTINCT sweep FROM notification WHERE lasts = 1"));
  for (const auto& row : lasting.rows) lacks_[SweepId(Integer(row[0]))] = {.since = now, .sent = true};
  for (std::size_t i = 1; i < cursors.rows.size(); ++i) {
    const SweepId sweep(Integer(cursors.rows[i][0]));
    RETURN_IF_ERROR(AddFailures(sweep, Integer(cursors.rows[i][1]), cursor_).status());
    batch_.Add(ServiceStatement{kRemoveCursor, {sweep.value()}});
  }
  return Commit();
}

absl::Status Notifier::TakeEvents(Timestamp now) {
  ASSIGN_OR_RETURN(const std::int64_t newest, Number("SELECT coalesce(max(id), 0) FROM event"));
  while (cursor_ < newest) {
    ASSIGN_OR_RETURN(const SqlRows events, reader_.Select(kEvents, {cursor_, newest, std::int64_t{kAtOnce}}));
    cursor_ = events.rows.size() < kAtOnce ? newest : Integer(events.rows.back()[0]);
    for (const auto& event : events.rows) RETURN_IF_ERROR(TakeEvent(event, cursor_, now));
    RETURN_IF_ERROR(Commit());
  }
  return absl::OkStatus();
}

// `last`: failures up to this event have been read with it.
absl::Status Notifier::TakeEvent(const std::vector<SqlValue>& event, std::int64_t last, Timestamp now) {
  const std::int64_t number = Integer(event[0]);
  const WallTime at{Integer(event[1])};
  const SweepId sweep(Integer(event[3]));
  const auto window = windows_.find(sweep);
  if (Text(event[2]) == "trial_failed") {
    if (window != windows_.end() || !hooks_.contains(kFailureEvent)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool any, AddFailures(sweep, number - 1, last));
    if (!any) return absl::OkStatus();
    windows_[sweep] = {.length = kFirstWindow, .until = now + kFirstWindow, .notified = last};
    SetCursor(sweep, last);
    return absl::OkStatus();
  }
  if (window != windows_.end()) {
    RETURN_IF_ERROR(AddFailures(sweep, window->second.notified, last).status());
    window->second.notified = last;
    SetCursor(sweep, last);
  }
  if (!hooks_.contains(kEndEvent)) return absl::OkStatus();
  const std::string state = Text(event[4]);
  std::string reason = "all its trials have ended";
  if (state != "COMPLETE") {
    ASSIGN_OR_RETURN(const SqlRows notice, reader_.Select(kReason, {sweep.value(), number}));
    reason = notice.rows.empty() ? state : Text(notice.rows[0][0]);
  }
  ASSIGN_OR_RETURN(const SweepPart part, ReadSweep(reader_, sweep, SweepEnd{.state = state, .at = at}));
  Add(kEndEvent, at, sweep, TrialId(), part,
      absl::StrCat(part.name, " is ", state, ": ", part.counts, "; ", reason), {{"reason", reason}});
  return absl::OkStatus();
}

absl::Status Notifier::CloseWindows(Timestamp now) {
  for (auto at = windows_.begin(); at != windows_.end();) {
    auto& [sweep, window] = *at;
    if (window.until > now) {
      ++at;
      continue;
    }
    ASSIGN_OR_RETURN(const bool any, AddFailures(sweep, window.notified, cursor_));
    if (any) {
      window.length = std::min(2 * window.length, kLongestWindow);
      window.until = now + window.length;
      window.notified = cursor_;
      SetCursor(sweep, cursor_);
      ++at;
    } else {
      batch_.Add(ServiceStatement{kRemoveCursor, {sweep.value()}});
      at = windows_.erase(at);
    }
    RETURN_IF_ERROR(Commit());
  }
  return absl::OkStatus();
}

absl::Status Notifier::CheckNoWorker(Timestamp now, WallTime wall) {
  if (!hooks_.contains(kNoWorkerEvent) || lacks_due_ > now) return absl::OkStatus();
  lacks_due_ = now + std::clamp<Duration>(no_worker_ / 10, kShortestPeriod, kLongestPeriod);
  std::map<SweepId, Lack> lacks;
  for (const auto& [id, trial] : ports_.unplaceable()) {
    const auto before = lacks_.find(id);
    Lack& lack = lacks[id] = before == lacks_.end() ? Lack{.since = now} : before->second;
    if (lack.sent || now - lack.since < no_worker_) continue;
    RETURN_IF_ERROR(AddNoWorker(id, trial, now - lack.since, wall));
    lack.sent = true;
    if (batch_.rows() >= kAtOnce) RETURN_IF_ERROR(Commit());
  }
  for (const auto& [id, lack] : lacks_) {
    if (lack.sent && !lacks.contains(id)) batch_.Add(ServiceStatement{kLackEnded, {id.value()}});
  }
  lacks_ = std::move(lacks);
  return Commit();
}

absl::Status Notifier::AddNoWorker(SweepId sweep, TrialId trial, Duration waited, WallTime wall) {
  v1::ExplainRequest request;
  trial ? request.set_trial(trial.ToString()) : request.set_sweep(sweep.ToString());
  ASSIGN_OR_RETURN(const v1::Explanation why, ports_.explain(request));
  ASSIGN_OR_RETURN(const SweepPart part, ReadSweep(reader_, sweep));
  std::string reason;
  AppendCauses(why, reason);
  Json fields = {{"reason", reason}, {"waited_seconds", static_cast<std::int64_t>(ToSeconds(waited))}};
  if (trial) fields["trial"] = trial.ToString();
  const std::string text =
      absl::StrCat("no worker can run trials of ", part.name, ", for ", FormatDuration(waited), ": ", reason);
  Add(kNoWorkerEvent, wall, sweep, trial, part, text, fields);
  return absl::OkStatus();
}

absl::StatusOr<bool> Notifier::AddFailures(SweepId sweep, std::int64_t after, std::int64_t last) {
  ASSIGN_OR_RETURN(const FailurePart failed, ReadFailures(reader_, sweep, after, last));
  if (failed.failures == 0) return false;
  ASSIGN_OR_RETURN(const SweepPart part, ReadSweep(reader_, sweep));
  const Json& first = failed.trials[0];
  const bool one = failed.failures == 1;
  Add(kFailureEvent, failed.at, sweep, failed.first_trial, part,
      absl::StrCat(failed.failures, one ? " trial of " : " trials of ", part.name, one ? " is" : " are",
                   " FAILED; ", first["id"].get<std::string>(), ": ", first["message"].get<std::string>()),
      {{"failures", failed.failures}, {"trials", failed.trials}});
  return true;
}

void Notifier::Add(const std::string& event, WallTime at, SweepId sweep, TrialId trial, const SweepPart& part,
                   const std::string& text, const Json& fields) {
  const auto hooks = hooks_.find(event);
  if (hooks == hooks_.end()) return;
  for (const std::string& hook : hooks->second) {
    const std::int64_t number = next_++;
    Json body = {{"id", NotificationId(number, at)},
                 {"event", event},
                 {"time", FormatUtc(at)},
                 {"coordinator", {{"name", coordinator_}, {"version", Version()}}},
                 {"text", text},
                 {"sweep", part.json}};
    body.update(fields);
    batch_.Add(ServiceStatement{
        kInsert,
        {number, at.unix_ms, event, sweep.value(), trial ? SqlValue(trial.value()) : SqlValue(), hook,
         body.dump(-1, ' ', false, Json::error_handler_t::replace),  // Names may be any bytes.
         std::int64_t{event == kNoWorkerEvent}}});
  }
}

void Notifier::SetCursor(SweepId sweep, std::int64_t event) {
  batch_.Add(ServiceStatement{kSetCursor, {sweep.value(), event}});
}

// The cursor goes with what was made of the events before it.
absl::Status Notifier::Commit() {
  if (batch_.empty()) return absl::OkStatus();
  SetCursor(SweepId(), cursor_);
  batch_.Add(ServiceStatement{kPrune, {next_ - kNotificationsKept}});
  Failpoint("notify.before");
  if (!ports_.store(std::exchange(batch_, {})))
    return absl::UnavailableError("the database did not store notifications");
  Failpoint("notify.after");
  return absl::OkStatus();
}

absl::StatusOr<std::int64_t> Notifier::Number(const std::string& sql) {
  ASSIGN_OR_RETURN(const SqlRows found, reader_.Select(sql));
  return Integer(found.rows.at(0).at(0));
}

}  // namespace inlier
