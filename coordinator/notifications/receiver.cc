#include "coordinator/notifications/receiver.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"
#include "base/utf8.h"
#include "coordinator/notifications/command_try.h"
#include "coordinator/notifications/http_try.h"
#include "coordinator/store/hook_key.h"

namespace inlier {
namespace {

using Result = NotificationTried::Result;

constexpr int kOutputLines = 10;  // Of a command, in the log.
constexpr std::size_t kErrorBytesMax = 500;
// After the database could not be read.
constexpr Duration kReadAgain = std::chrono::seconds(10);

// The end of a commit; its callback may come after the receiver is gone.
struct Stored {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<bool> durable;
};

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

Receiver::Receiver(std::string event, v1::HookConfig hook, bool insecure, Reader& reader,
                   const DeliveryPorts& ports)
    : event_(std::move(event)),
      key_(HookKey(event_, hook)),
      hook_(std::move(hook)),
      insecure_(insecure),
      reader_(reader),
      ports_(ports) {}

Receiver::~Receiver() {
  RequestStop();
  Join();
}

void Receiver::Join() {
  if (thread_.joinable()) thread_.join();
}

void Receiver::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Receiver::Poke() {
  const std::lock_guard lock(mutex_);
  poked_ = true;
  changed_.notify_all();
}

void Receiver::RequestStop() {
  const std::lock_guard lock(mutex_);
  if (!stop_at_) stop_at_ = MonotonicNow() + kStopGrace;
  changed_.notify_all();
}

bool Receiver::MustStopNow() {
  const std::lock_guard lock(mutex_);
  return stop_at_ && MonotonicNow() >= *stop_at_;
}

bool Receiver::WaitUntil(std::optional<Timestamp> at, bool until_poked) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return stop_at_.has_value() || (until_poked && poked_); };
  if (at) {
    changed_.wait_until(lock, std::chrono::steady_clock::time_point(at->since_start), ready);
  } else {
    changed_.wait(lock, ready);
  }
  return !stop_at_;
}

void Receiver::Run() {
  std::optional<Timestamp> not_before;
  while (WaitUntil(not_before ? *not_before : MonotonicNow(), /*until_poked=*/false)) {
    {
      const std::lock_guard lock(mutex_);
      poked_ = false;
    }
    const absl::StatusOr<std::optional<Notification>> next = Next();
    if (!next.ok()) {
      if (!absl::IsUnavailable(next.status()))  // It stops.
        spdlog::warn("notifications_not_read hook={} reason={}", LogText(key_),
                     LogText(next.status().message()));
      not_before = MonotonicNow() + kReadAgain;
      continue;
    }
    if (!next->has_value()) {
      not_before.reset();
      if (!WaitUntil(std::nullopt, /*until_poked=*/true)) return;
      continue;
    }
    const int before = failures_;
    const bool stored = Deliver(**next);
    not_before.reset();
    if (!stored) {
      not_before = MonotonicNow() + kReadAgain;  // The process ends.
    } else if (failures_ > before) {
      not_before =
          MonotonicNow() + kDeliveryBackoff.Wait(failures_, std::uniform_real_distribution<>()(random_));
    }
  }
}

absl::StatusOr<std::optional<Notification>> Receiver::Next() {
  ASSIGN_OR_RETURN(
      const SqlRows waiting,
      reader_.Select("SELECT count(*) FROM notification WHERE hook = ?1 AND state = 'WAITING'", {key_}));
  ports_.observe(key_, std::nullopt, static_cast<std::uint64_t>(Integer(waiting.rows.at(0).at(0))));
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

bool Receiver::Deliver(const Notification& notification) {
  Failpoint("notification.before");
  const TryOutcome outcome = TryHook(hook_, key_, insecure_, notification, [this] { return MustStopNow(); });
  Failpoint("notification.answered");
  NotificationTried change{.number = notification.number, .at = WallNow()};
  if (outcome.kind == TryOutcome::Kind::kTaken) {
    change.result = Result::kDelivered;
  } else {
    if (MustStopNow()) return false;  // The stop ended it: that is no failure.
    change.error = ReplaceInvalidUtf8(CutUtf8(outcome.error, kErrorBytesMax));
    const auto age = std::chrono::milliseconds(change.at.unix_ms - notification.at.unix_ms);
    if (age >= std::chrono::hours(hook_.give_up_hours())) {
      change.result = Result::kGivenUp;
    } else {
      change.result = outcome.kind == TryOutcome::Kind::kRefused ? Result::kRefused : Result::kFailed;
      change.next_try = WallTime{change.at.unix_ms + std::chrono::duration_cast<std::chrono::milliseconds>(
                                                         kDeliveryBackoff.Wait(failures_ + 1, 0.5))
                                                         .count()};
    }
  }
  LogOutcome(notification, change);
  if (!Store(change)) return false;
  ports_.observe(key_, change.result, 0);
  return true;
}

void Receiver::LogOutcome(const Notification& notification, const NotificationTried& change) {
  const std::string id = NotificationId(notification.number, notification.at);
  switch (change.result) {
    case Result::kDelivered:
      if (failures_ > 0) spdlog::info("hook_recovered hook={} failed_tries={}", LogText(key_), failures_);
      failures_ = 0;
      spdlog::info("notification_delivered id={} hook={}", id, LogText(key_));
      break;
    case Result::kGivenUp:
      spdlog::warn("notification_given_up id={} hook={} reason={}", id, LogText(key_), LogText(change.error));
      break;
    case Result::kFailed:
    case Result::kRefused:
      if (failures_++ == 0)
        spdlog::warn("hook_fails hook={} id={} reason={}", LogText(key_), id, LogText(change.error));
      break;
  }
}

bool Receiver::Store(NotificationTried change) {
  const auto stored = std::make_shared<Stored>();
  ports_.store(std::move(change), [stored](const absl::Status& status) {
    const std::lock_guard lock(stored->mutex);
    stored->durable = status.ok();
    stored->changed.notify_all();
  });
  std::unique_lock lock(stored->mutex);
  while (!stored->durable) {
    if (stored->changed.wait_for(lock, std::chrono::milliseconds(20)) == std::cv_status::timeout &&
        MustStopNow())
      return false;
  }
  return *stored->durable;
}

}  // namespace inlier
