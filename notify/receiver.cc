#include "notify/receiver.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/strings/str_split.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"
#include "base/utf8.h"
#include "notify/hook_check.h"

namespace inlier {
namespace {

// A try that is under way when the coordinator stops has so long to end.
constexpr Duration kStopGrace = std::chrono::milliseconds(500);
// Between two looks for the next notification.
constexpr Duration kLookPeriod = std::chrono::milliseconds(200);
constexpr int kOutputLines = 10;  // Of a command, in the log.
constexpr std::size_t kErrorBytesMax = 500;
// After the database could not be read.
constexpr Duration kReadAgain = std::chrono::seconds(10);

constexpr char kTried[] =
    "UPDATE notification SET state = CASE WHEN ?2 THEN 'DELIVERED' WHEN ?3 THEN 'GIVEN_UP' ELSE state END, "
    "tries = tries + 1, refusals = refusals + ?4, error = ?5, ended_ms = iif(?2 OR ?3, ?6, NULL), "
    "next_try_ms = ?7 "
    "WHERE id = ?1 AND state = 'WAITING'";

}  // namespace

TryOutcome TryHook(const v1::HookConfig& hook, const std::string& key, bool insecure,
                   const Notification& notification, const MustStop& must_stop) {
  if (hook.has_url()) return PostNotification(hook, insecure, notification, must_stop);
  std::string output;
  TryOutcome outcome = RunCommand(hook, notification, must_stop, output);
  std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipEmpty());
  if (lines.size() > kOutputLines) lines.erase(lines.begin(), lines.end() - kOutputLines);
  for (const std::string& line : lines)
    spdlog::info("hook_output hook={} text={}", LogText(key), LogText(ReplaceInvalidUtf8(line)));
  return outcome;
}

bool SleepUntil(const std::stop_token& stop, Timestamp at) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_until(lock, stop, std::chrono::steady_clock::time_point(at.since_start),
                                           [] { return false; });
  return !stop.stop_requested();
}

MustStop GraceAfter(std::stop_token stop) {
  return [stop, seen = std::optional<Timestamp>()]() mutable {
    if (!stop.stop_requested()) return false;
    if (!seen) seen = MonotonicNow();
    return MonotonicNow() - *seen >= kStopGrace;
  };
}

Receiver::Receiver(std::string event, v1::HookConfig hook, bool insecure, Reader& reader,
                   Committer& committer, ObserveTry observe)
    : event_(std::move(event)),
      key_(HookKey(event_, hook)),
      hook_(std::move(hook)),
      insecure_(insecure),
      reader_(reader),
      committer_(committer),
      observe_(std::move(observe)) {}

void Receiver::Run(const std::stop_token& stop) {
  Duration wait{};
  while (SleepUntil(stop, MonotonicNow() + wait)) {
    const absl::StatusOr<std::optional<Notification>> next = Next();
    wait = next.ok() ? kLookPeriod : kReadAgain;
    if (!next.ok())
      spdlog::warn("notifications_not_read hook={} reason={}", LogText(key_),
                   LogText(next.status().message()));
    if (!next.ok() || !next->has_value()) continue;
    const int before = failures_;
    if (!Deliver(**next, GraceAfter(stop))) {
      wait = kReadAgain;  // The process ends.
    } else if (failures_ == before) {
      wait = {};
    } else {
      wait = kDeliveryBackoff.Wait(failures_, std::uniform_real_distribution<>()(random_));
    }
  }
}

absl::StatusOr<std::optional<Notification>> Receiver::Next() {
  ASSIGN_OR_RETURN(
      const SqlRows waiting,
      reader_.Select("SELECT count(*) FROM notification WHERE hook = ?1 AND state = 'WAITING'", {key_}));
  observe_(key_, std::nullopt, static_cast<std::uint64_t>(Integer(waiting.rows.at(0).at(0))));
  ASSIGN_OR_RETURN(
      const SqlRows found,
      reader_.Select("SELECT id, at_ms, body FROM notification WHERE hook = ?1 AND state = 'WAITING' "
                     "ORDER BY refusals, id LIMIT 1",
                     {key_}));
  if (found.rows.empty()) return std::optional<Notification>();
  const std::vector<SqlValue>& row = found.rows.front();
  return Notification{.number = static_cast<std::uint64_t>(Integer(row[0])),
                      .at = WallTime{Integer(row[1])},
                      .event = event_,
                      .body = Text(row[2])};
}

bool Receiver::Deliver(const Notification& notification, const MustStop& must_stop) {
  using Kind = TryOutcome::Kind;
  Failpoint("notification.before");
  TryOutcome outcome = TryHook(hook_, key_, insecure_, notification, must_stop);
  Failpoint("notification.answered");
  SqlValue next_try;
  const std::int64_t now = WallNow().unix_ms;
  if (outcome.kind != Kind::kTaken) {
    if (must_stop()) return false;  // The stop ended it: that does not count as a failure.
    outcome.error = ReplaceInvalidUtf8(CutUtf8(outcome.error, kErrorBytesMax));
    if (std::chrono::milliseconds(now - notification.at.unix_ms) >=
        std::chrono::hours(hook_.give_up_hours())) {
      outcome.kind = Kind::kGivenUp;
    } else {
      const Duration wait = kDeliveryBackoff.Wait(failures_ + 1, 0.5);
      next_try = now + std::chrono::duration_cast<std::chrono::milliseconds>(wait).count();
    }
  }
  LogResult(notification, outcome);
  ChangeBatch batch;
  const auto is = [&](Kind kind) { return std::int64_t{outcome.kind == kind}; };
  batch.Add(ServiceStatement{kTried,
                             {static_cast<std::int64_t>(notification.number), is(Kind::kTaken),
                              is(Kind::kGivenUp), is(Kind::kRefused), outcome.error, now, next_try}});
  if (!committer_.SubmitAndWait(std::move(batch), must_stop)) return false;
  observe_(key_, outcome.kind, 0);
  return true;
}

void Receiver::LogResult(const Notification& notification, const TryOutcome& outcome) {
  const std::string id = NotificationId(notification.number, notification.at);
  if (outcome.kind == TryOutcome::Kind::kTaken) {
    if (failures_ > 0) spdlog::info("hook_recovered hook={} failed_tries={}", LogText(key_), failures_);
    failures_ = 0;
    spdlog::info("notification_delivered id={} hook={}", id, LogText(key_));
  } else if (outcome.kind == TryOutcome::Kind::kGivenUp) {
    spdlog::warn("notification_given_up id={} hook={} reason={}", id, LogText(key_), LogText(outcome.error));
  } else if (failures_++ == 0) {
    spdlog::warn("hook_fails hook={} id={} reason={}", LogText(key_), id, LogText(outcome.error));
  }
}

}  // namespace inlier
