#include "worker/coordinator_client.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"
#include "worker/sync_call.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Between two log lines about a coordinator that cannot be reached.
constexpr Duration kUnreachableLogInterval = seconds(30);
// Between two syncs, before the first answer sets next_sync_ms.
constexpr Duration kFirstPeriod = seconds(1);
// Lower limit of next_sync_ms.
constexpr Duration kPeriodMin = milliseconds(10);

}  // namespace

Backoff BackoffWithin(Backoff preferred, Duration ttl) {
  preferred.longest = std::min(preferred.longest, ttl / 4);
  return preferred;
}

std::string DescribeCallFailure(const absl::Status& status, const std::string& address) {
  const std::string reason(status.message());
  if (absl::IsUnimplemented(status)) {
    return absl::StrCat("the server at ", address,
                        " is no inlier coordinator (it has no WorkerService); set `coordinator` to the"
                        " grpc address in the coordinator's endpoint.json");
  }
  if (IsRetriable(status) || absl::IsCancelled(status)) {
    return absl::StrCat("no coordinator answers at ", address, " (", reason,
                        "); is it running, and is `coordinator` its gRPC address?"
                        " endpoint.json in its state folder has the address");
  }
  return absl::StrCat("the coordinator at ", address, " answered ", absl::StatusCodeToString(status.code()),
                      ": ", reason);
}

std::unique_ptr<RenewedChannel> ConnectToCoordinator(const CoordinatorClientOptions& options) {
  return std::make_unique<RenewedChannel>(options.address, options.security, options.message_bytes_max);
}

struct OpenSyncCall {
  std::unique_ptr<SyncCall> sync;
  bool stuck = false;  // Cancelled because no answer came.
  bool broken_seen = false;
  bool answered = false;
};

struct ReconnectState {
  Timestamp retry_at;
  int tries = 0;
  bool unary = false;  // The next call is made of single Syncs.
  bool ever_connected = false;
  std::optional<Timestamp> unreachable_logged_at;
};

// The content of the inbox, taken out of it.
struct SyncNews {
  std::vector<v1::CoordinatorSync> answers;
  std::optional<absl::Status> ended;
  bool broken = false, stop = false;
};

class CoordinatorClient::Impl {
 public:
  Impl(CoordinatorClientOptions options, Outbox& outbox, WorkerMetrics& metrics, CoordinatorClientHooks hooks)
      : options_(std::move(options)),
        outbox_(outbox),
        metrics_(metrics),
        hooks_(std::move(hooks)),
        connection_(ConnectToCoordinator(options_)),
        lease_(options_.hold) {}

  void Start() {
    thread_ = std::thread([this] { Run(); });
  }

  void RequestSync(Urgency urgency) {
    const std::lock_guard lock(inbox_.mutex);
    if (inbox_.urgency >= urgency) return;
    inbox_.urgency = urgency;
    inbox_.changed.notify_all();
  }

  bool connected() const { return connected_; }

  void Stop() {
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.stop = true;
      inbox_.changed.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    for (;;) {
      const SyncNews news = Wait();
      Timestamp now = MonotonicNow();
      for (const v1::CoordinatorSync& answer : news.answers) OnAnswer(answer, now);
      CheckLease(now);
      if (call_.sync && news.broken) call_.sync->Finish();
      if (call_.sync && news.ended) {
        call_.sync.reset();
        if (!news.stop) OnCallEnded(*news.ended, now);
      }
      if (refused_ || (news.stop && !call_.sync)) return;
      if (news.stop) {
        call_.sync->Cancel();
        stopping_ = true;
        continue;
      }
      if (!call_.sync && now >= reconnect_.retry_at) Open(now);
      if (const auto deadline = AnswerDeadline();
          call_.sync && !call_.stuck && deadline && now >= *deadline) {
        call_.stuck = true;
        call_.sync->Cancel();
      }
      now = MonotonicNow();
      if (call_.sync && !call_.stuck && !news.broken && Sendable() && now >= schedule_.SendAt(outbox_))
        Send(now);
    }
  }

  bool Sendable() {
    const std::lock_guard lock(inbox_.mutex);
    return inbox_.sendable && !inbox_.broken && !inbox_.ended;
  }

  // Sleeps until the inbox has news or something is due.
  SyncNews Wait() {
    std::unique_lock lock(inbox_.mutex);
    for (;;) {
      schedule_.Request(std::exchange(inbox_.urgency, std::nullopt));
      const bool stop_is_news = inbox_.stop && !stopping_;
      const bool broken_is_news = inbox_.broken && !std::exchange(call_.broken_seen, inbox_.broken);
      if (!inbox_.answers.empty() || inbox_.ended || stop_is_news || broken_is_news) break;
      const Timestamp now = MonotonicNow();
      std::optional<Timestamp> wake = lease_.NextChange(now);
      const auto sooner = [&wake](Timestamp at) { wake = wake ? std::min(*wake, at) : at; };
      const bool usable = call_.sync && !call_.stuck;
      if (!call_.sync && !stopping_) sooner(reconnect_.retry_at);
      if (const auto deadline = AnswerDeadline(); usable && deadline) sooner(*deadline);
      if (usable && !stopping_ && inbox_.sendable && !inbox_.broken) sooner(schedule_.SendAt(outbox_));
      if (wake && *wake <= now) break;
      if (wake) {
        inbox_.changed.wait_for(lock, *wake - now);
      } else {
        inbox_.changed.wait(lock);
      }
    }
    SyncNews news;
    news.answers.swap(inbox_.answers);
    news.ended = std::exchange(inbox_.ended, std::nullopt);
    news.broken = inbox_.broken;
    news.stop = inbox_.stop;
    return news;
  }

  void Open(Timestamp now) {
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.sendable = inbox_.broken = false;
      inbox_.answers.clear();
    }
    schedule_.OnCallOpened(outbox_, now);
    stub_ = v1::WorkerService::NewStub(connection_->Get());
    call_ = {.sync = reconnect_.unary ? OpenUnaryCall(*stub_, inbox_, answer_timeout())
                                      : OpenStreamCall(*stub_, inbox_)};
  }

  Duration answer_timeout() const {
    return lease_.end() ? std::max<Duration>(lease_.ttl() / 2, milliseconds(50)) : options_.answer_timeout;
  }

  // When the oldest unanswered sync has waited too long.
  std::optional<Timestamp> AnswerDeadline() const {
    const std::optional<Timestamp> since = schedule_.unanswered_since();
    if (!since) return std::nullopt;
    return *since + answer_timeout();
  }

  void Send(Timestamp now) {
    v1::WorkerSync sync;
    hooks_.fill(sync);
    schedule_.Fill(sync, outbox_, options_.limits, now, Jittered(period_));
    // The lease counts from before the message leaves.
    lease_.OnSent(sync.sync_id(), now);
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.sendable = false;
    }
    call_.sync->Send(std::move(sync));
  }

  void OnAnswer(const v1::CoordinatorSync& answer, Timestamp now) {
    if (!schedule_.Expects(answer.sync_id())) return;
    if (answer.pushed()) return hooks_.on_answer(answer, false);
    const Duration ttl = milliseconds(answer.lease_ttl_ms());
    if (answer.lease_ttl_ms() > 0) lease_.OnAnswered(answer.sync_id(), ttl);
    period_ = milliseconds(answer.next_sync_ms());
    if (!answer.has_next_sync_ms()) period_ = lease_.end() ? ttl / 3 : kFirstPeriod;
    if (answer.lease_ttl_ms() > 0) period_ = std::min(period_, ttl / 3);
    period_ = std::max<Duration>(period_, kPeriodMin);
    outbox_.Acknowledge(answer.acknowledged_sequence());
    if (const auto round_trip = schedule_.OnAnswered(answer, now, Jittered(period_)))
      metrics_.sync_seconds.Observe(ToSeconds(*round_trip));
    call_.answered = true;
    reconnect_.tries = 0;
    if (!connected_.exchange(true)) {
      spdlog::info("coordinator_connected address={} mode={} lease_ttl_ms={}", options_.address,
                   call_.sync ? call_.sync->mode() : "-", answer.lease_ttl_ms());
      metrics_.connected.Set(1);
      if (std::exchange(reconnect_.ever_connected, true)) metrics_.reconnects.Increment();
      reconnect_.unreachable_logged_at.reset();
    }
    hooks_.on_answer(answer, schedule_.KnowsOfTheEnd(answer));
  }

  void OnCallEnded(const absl::Status& ended, Timestamp now) {
    absl::Status status = ended;
    if (call_.stuck)
      status =
          absl::DeadlineExceededError(absl::StrCat("no answer within ", FormatDuration(answer_timeout())));
    if (status.ok()) status = absl::UnavailableError("the coordinator ended the session");
    metrics_.syncs_failed.Increment();
    metrics_.connected.Set(0);
    connected_ = false;
    schedule_.OnCallEnded();
    if (absl::IsFailedPrecondition(status)) {
      refused_ = true;
      hooks_.on_refused(absl::FailedPreconditionError(
          absl::StrCat("the coordinator at ", options_.address, " refuses this worker: ", status.message())));
      return;
    }
    // A stream without any answer although the server responds: single calls next. They fail, too: a stream
    // again.
    if (reconnect_.unary) {
      reconnect_.unary = false;
    } else if (!call_.answered) {
      reconnect_.unary =
          call_.stuck || absl::IsUnimplemented(status) || absl::IsInternal(status) || absl::IsUnknown(status);
    }
    const Backoff backoff = lease_.end() ? BackoffWithin(options_.backoff, lease_.ttl()) : options_.backoff;
    reconnect_.retry_at = now + backoff.Wait(++reconnect_.tries, Random());
    std::optional<Timestamp>& logged_at = reconnect_.unreachable_logged_at;
    if (!logged_at || now - *logged_at >= kUnreachableLogInterval) {
      logged_at = now;
      spdlog::warn("coordinator_unreachable reason={}",
                   LogText(DescribeCallFailure(status, options_.address)));
    }
  }

  void CheckLease(Timestamp now) {
    const LeaseGuard::State state = lease_.StateAt(now);
    if (state == std::exchange(lease_state_, state)) return;
    hooks_.on_lease(state);
  }

  double Random() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  Duration Jittered(Duration period) { return FromSeconds(ToSeconds(period) * (0.9 + 0.1 * Random())); }

  const CoordinatorClientOptions options_;
  Outbox& outbox_;
  WorkerMetrics& metrics_;
  const CoordinatorClientHooks hooks_;
  const std::unique_ptr<RenewedChannel> connection_;
  std::unique_ptr<v1::WorkerService::Stub> stub_;  // Of the call that is open.
  SyncInbox inbox_;
  std::atomic<bool> connected_ = false;
  std::thread thread_;

  // Used by the thread alone.
  OpenSyncCall call_;
  bool stopping_ = false;
  bool refused_ = false;
  ReconnectState reconnect_;
  SyncSchedule schedule_;
  Duration period_ = kFirstPeriod;
  LeaseGuard lease_;
  LeaseGuard::State lease_state_ = LeaseGuard::State::kIdle;
  std::mt19937_64 random_{std::random_device{}()};
};

CoordinatorClient::CoordinatorClient(CoordinatorClientOptions options, Outbox& outbox, WorkerMetrics& metrics,
                                     CoordinatorClientHooks hooks)
    : impl_(std::make_unique<Impl>(std::move(options), outbox, metrics, std::move(hooks))) {}
CoordinatorClient::~CoordinatorClient() { Stop(); }
void CoordinatorClient::Start() { impl_->Start(); }
void CoordinatorClient::RequestSync(Urgency urgency) { impl_->RequestSync(urgency); }
bool CoordinatorClient::connected() const { return impl_->connected(); }
void CoordinatorClient::Stop() { impl_->Stop(); }

}  // namespace inlier
