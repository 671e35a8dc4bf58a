#include "worker/coordinator_client.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/service/awake_pollers.h"
#include "base/service/rpc.h"
#include "base/status.h"
#include "worker/sync_call.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// While the coordinator cannot be reached, the log says so at this pace.
constexpr Duration kUnreachableToldEvery = seconds(30);
// Before the first answer tells the coordinator's wish.
constexpr Duration kFirstPeriod = seconds(1);
// Whatever the coordinator asks for.
constexpr Duration kPeriodMin = milliseconds(10);
// Events that were sent and not committed are sent again after this long.
constexpr Duration kResendAfter = milliseconds(500);

// How long what there is to say may wait for company.
Duration MaxWait(int urgency) {
  switch (static_cast<CoordinatorClient::Urgency>(urgency)) {
    case CoordinatorClient::Urgency::kProgress:
      return milliseconds(500);
    case CoordinatorClient::Urgency::kPoint:
      return milliseconds(100);
    case CoordinatorClient::Urgency::kResult:
      break;
  }
  return milliseconds(2);
}

}  // namespace

Backoff BackoffWithin(Backoff wished, Duration ttl) {
  wished.longest = std::min(wished.longest, ttl / 4);
  return wished;
}

bool IsRefusal(const absl::Status& status) { return absl::IsFailedPrecondition(status); }

std::string DescribeCallFailure(const absl::Status& status, const std::string& address) {
  const std::string reason(status.message());
  if (absl::IsUnimplemented(status)) {
    return absl::StrCat("what listens at ", address,
                        " is no inlier coordinator (it has no WorkerService); set `coordinator` to the"
                        " grpc address in the coordinator's endpoint.json");
  }
  if (IsRetriable(status) || absl::IsCancelled(status)) {
    return absl::StrCat("no coordinator answers at ", address, " (", reason,
                        "); is it running, and is `coordinator` its gRPC address?"
                        " endpoint.json in its state folder tells it");
  }
  return absl::StrCat("the coordinator at ", address, " answered ", absl::StatusCodeToString(status.code()),
                      ": ", reason);
}

std::shared_ptr<grpc::Channel> ConnectToCoordinator(const CoordinatorClient::Options& options) {
  auto channel = MakeSecureChannel(options.address, options.security, options.message_bytes_max);
  INLIER_CHECK(channel.ok());  // SecurityOf has read the same files.
  return *std::move(channel);
}

class CoordinatorClient::Impl {
 public:
  Impl(Options options, Outbox& outbox, WorkerMetrics& metrics, Hooks hooks)
      : options_(std::move(options)),
        outbox_(outbox),
        metrics_(metrics),
        hooks_(std::move(hooks)),
        stub_(v1::WorkerService::NewStub(ConnectToCoordinator(options_))) {}

  void Start() {
    thread_ = std::thread([this] { Run(); });
  }

  void Nudge(Urgency urgency) {
    const std::lock_guard lock(inbox_.mutex);
    if (static_cast<int>(urgency) <= inbox_.nudged) return;
    inbox_.nudged = static_cast<int>(urgency);
    inbox_.changed.notify_all();
  }

  bool connected() const { return connected_; }
  std::optional<Timestamp> lease_end() const {
    const std::int64_t end = lease_end_;
    return end < 0 ? std::nullopt : std::make_optional(Timestamp{Duration(end)});
  }

  void Stop() {
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.stop = true;
      inbox_.changed.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Sent {
    Timestamp at;
    std::uint64_t last_sequence = 0;  // Highest it carried; 0 for none.
  };

  // What the inbox held, taken out of it.
  struct News {
    std::vector<v1::CoordinatorSync> answers;
    std::optional<absl::Status> ended;
    bool broken = false, sendable = false, stop = false;
  };

  void Run() {
    for (;;) {
      const News news = Wait();
      Timestamp now = MonotonicNow();
      for (const v1::CoordinatorSync& answer : news.answers) OnAnswer(answer, now);
      CheckLease(now);
      if (call_ && news.broken) call_->Finish();
      if (call_ && news.ended) {
        call_.reset();
        if (!news.stop) OnCallEnded(*news.ended, now);
      }
      if (refused_ || (news.stop && !call_)) return;
      if (news.stop) {
        call_->Cancel();
        stopping_ = true;
        continue;
      }
      if (!call_ && now >= retry_at_) OpenCall(now);
      if (const auto deadline = AnswerDeadline(); call_ && !stuck_ && deadline && now >= *deadline) {
        stuck_ = true;
        call_->Cancel();
      }
      now = MonotonicNow();
      if (call_ && !stuck_ && !news.broken && Sendable() && now >= SendAt()) Send(now);
    }
  }

  bool Sendable() {
    const std::lock_guard lock(inbox_.mutex);
    return inbox_.sendable && !inbox_.broken && !inbox_.ended;
  }

  // Sleeps until something has happened or is due.
  News Wait() {
    std::unique_lock lock(inbox_.mutex);
    for (;;) {
      urgency_ = std::max(urgency_, std::exchange(inbox_.nudged, -1));
      const bool stop_is_news = inbox_.stop && !stopping_;
      const bool broken_is_news = inbox_.broken && !std::exchange(broken_seen_, inbox_.broken);
      if (!inbox_.answers.empty() || inbox_.ended || stop_is_news || broken_is_news) break;
      const Timestamp now = MonotonicNow();
      std::optional<Timestamp> wake = lease_.NextChange(now);
      const auto sooner = [&wake](Timestamp at) { wake = wake ? std::min(*wake, at) : at; };
      if (!call_ && !stopping_) sooner(retry_at_);
      if (const auto deadline = AnswerDeadline(); call_ && !stuck_ && deadline) sooner(*deadline);
      if (call_ && !stuck_ && !stopping_ && inbox_.sendable && !inbox_.broken) sooner(SendAt());
      if (wake && *wake <= now) break;
      if (wake) {
        inbox_.changed.wait_for(lock, *wake - now);
      } else {
        inbox_.changed.wait(lock);
      }
    }
    News news;
    news.answers.swap(inbox_.answers);
    news.ended = std::exchange(inbox_.ended, std::nullopt);
    news.broken = inbox_.broken;
    news.stop = inbox_.stop;
    return news;
  }

  void OpenCall(Timestamp now) {
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.sendable = inbox_.broken = false;
      inbox_.answers.clear();
    }
    broken_seen_ = stuck_ = answered_in_call_ = false;
    unanswered_.clear();
    sent_through_ = outbox_.acknowledged();
    heartbeat_at_ = hold_until_ = now;
    call_ = unary_ ? OpenUnaryCall(*stub_, inbox_, answer_timeout()) : OpenStreamCall(*stub_, inbox_);
  }

  Duration answer_timeout() const {
    return lease_.end() ? std::max<Duration>(lease_.ttl() / 2, milliseconds(50)) : options_.answer_timeout;
  }

  // When the oldest unanswered sync has waited too long.
  std::optional<Timestamp> AnswerDeadline() const {
    if (unanswered_.empty()) return std::nullopt;
    return unanswered_.begin()->second.at + answer_timeout();
  }

  // When the next sync leaves: at the heartbeat, or earlier with something to say once the last one has been
  // answered.
  Timestamp SendAt() const {
    int urgency = urgency_;
    if (outbox_.last_sequence() > sent_through_ && outbox_.size() > 0) {
      const Urgency events = outbox_.HasResultAfter(sent_through_) ? Urgency::kResult : Urgency::kPoint;
      urgency = std::max(urgency, static_cast<int>(events));
    }
    if (urgency < 0 || !unanswered_.empty()) return heartbeat_at_;
    return std::min(heartbeat_at_, std::max(hold_until_, last_sent_ + MaxWait(urgency)));
  }

  void Send(Timestamp now) {
    v1::WorkerSync sync;
    hooks_.fill(sync);
    sync.set_sync_id(++sync_id_);
    sync.set_events_after(sent_through_);
    Sent sent{now, 0};
    const std::uint64_t published = outbox_.last_sequence();
    for (v1::NumberedEvent& event :
         outbox_.Pending(sent_through_, options_.events_per_sync_max, options_.bytes_per_sync_max)) {
      sent.last_sequence = event.sequence();
      *sync.add_events() = std::move(event);
    }
    // What the limits left out goes with the next sync. Without anything left, numbers that were thinned away
    // are done with, too.
    sent_through_ = sent.last_sequence > 0 ? sent.last_sequence : std::max(sent_through_, published);
    sync.set_events_thinned(outbox_.thinned());
    urgency_ = -1;
    last_sent_ = now;
    heartbeat_at_ = now + Jittered(period_);
    unanswered_[sync_id_] = sent;
    // The lease counts from before the message leaves.
    lease_.OnSent(sync_id_, now);
    {
      const std::lock_guard lock(inbox_.mutex);
      inbox_.sendable = false;
    }
    call_->Send(std::move(sync));
  }

  void OnAnswer(const v1::CoordinatorSync& answer, Timestamp now) {
    const std::uint64_t id = answer.sync_id();
    if (id > sync_id_ || id < last_answered_) return;  // Of another conversation, or overtaken.
    if (answer.pushed()) return hooks_.on_answer(answer);
    last_answered_ = id;
    const Duration ttl = milliseconds(answer.lease_ttl_ms());
    if (answer.lease_ttl_ms() > 0) lease_.OnAnswered(id, ttl);
    if (lease_.end()) lease_end_ = lease_.end()->since_start.count();
    period_ = milliseconds(answer.next_sync_ms());
    if (!answer.has_next_sync_ms()) period_ = lease_.end() ? ttl / 3 : kFirstPeriod;
    if (answer.lease_ttl_ms() > 0) period_ = std::min(period_, ttl / 3);
    period_ = std::max<Duration>(period_, kPeriodMin);
    heartbeat_at_ = std::min(heartbeat_at_, last_sent_ + Jittered(period_));
    outbox_.Acknowledge(answer.acknowledged_sequence());
    std::uint64_t carried = 0;
    while (!unanswered_.empty() && unanswered_.begin()->first <= id) {
      const Sent& sent = unanswered_.begin()->second;
      if (unanswered_.begin()->first == id) metrics_.sync_seconds.Observe(ToSeconds(now - sent.at));
      carried = std::max(carried, sent.last_sequence);
      unanswered_.erase(unanswered_.begin());
    }
    if (carried > answer.acknowledged_sequence()) {
      // Not taken: the coordinator has no room or no disk now. Offer it again a little later.
      sent_through_ = answer.acknowledged_sequence();
      hold_until_ = now + kResendAfter;
    }
    answered_in_call_ = true;
    tries_ = 0;
    if (!connected_.exchange(true)) {
      spdlog::info("coordinator_connected address={} mode={} lease_ttl_ms={}", options_.address,
                   call_ ? call_->mode() : "-", answer.lease_ttl_ms());
      metrics_.connected.Set(1);
      if (ever_connected_) metrics_.reconnects.Increment();
      ever_connected_ = true;
      told_unreachable_at_.reset();
    }
    hooks_.on_answer(answer);
  }

  void OnCallEnded(const absl::Status& ended, Timestamp now) {
    absl::Status status = ended;
    if (stuck_)
      status =
          absl::DeadlineExceededError(absl::StrCat("no answer within ", FormatDuration(answer_timeout())));
    if (status.ok()) status = absl::UnavailableError("the coordinator ended the session");
    metrics_.syncs_failed.Increment();
    metrics_.connected.Set(0);
    connected_ = false;
    unanswered_.clear();
    if (IsRefusal(status)) {
      refused_ = true;
      hooks_.on_refused(absl::FailedPreconditionError(absl::StrCat(
          "the coordinator at ", options_.address, " refuses this worker: ", std::string(status.message()))));
      return;
    }
    // A stream that never got an answer through although something is there: try single calls. They fail,
    // too: try a stream again.
    if (unary_) {
      unary_ = false;
    } else if (!answered_in_call_) {
      unary_ = stuck_ || absl::IsUnimplemented(status) || absl::IsInternal(status) || absl::IsUnknown(status);
    }
    const Backoff backoff = lease_.end() ? BackoffWithin(options_.backoff, lease_.ttl()) : options_.backoff;
    retry_at_ = now + backoff.Wait(++tries_, Random());
    if (!told_unreachable_at_ || now - *told_unreachable_at_ >= kUnreachableToldEvery) {
      told_unreachable_at_ = now;
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

  const Options options_;
  Outbox& outbox_;
  WorkerMetrics& metrics_;
  const Hooks hooks_;
  const std::shared_ptr<AwakePollers> awake_ = AwakePollers::Get();
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  SyncInbox inbox_;
  std::atomic<bool> connected_ = false;
  std::atomic<std::int64_t> lease_end_ = -1;  // Nanoseconds of the monotonic clock; -1: no lease yet.
  std::thread thread_;

  // Of the thread alone.
  std::unique_ptr<SyncCall> call_;
  bool unary_ = false;  // The next call is made of single Syncs.
  bool stuck_ = false;  // The call was cancelled because no answer came.
  bool stopping_ = false;
  bool refused_ = false;
  bool broken_seen_ = false;
  bool answered_in_call_ = false;
  bool ever_connected_ = false;
  int tries_ = 0;
  int urgency_ = -1;
  std::uint64_t sync_id_ = 0;
  std::uint64_t last_answered_ = 0;
  std::uint64_t sent_through_ = 0;  // Events up to here are acknowledged or in a sync of this call.
  std::map<std::uint64_t, Sent> unanswered_;
  Duration period_ = kFirstPeriod;
  Timestamp retry_at_, heartbeat_at_, hold_until_, last_sent_;
  std::optional<Timestamp> told_unreachable_at_;
  LeaseGuard lease_;
  LeaseGuard::State lease_state_ = LeaseGuard::State::kIdle;
  std::mt19937_64 random_{std::random_device{}()};
};

CoordinatorClient::CoordinatorClient(Options options, Outbox& outbox, WorkerMetrics& metrics, Hooks hooks)
    : impl_(std::make_unique<Impl>(std::move(options), outbox, metrics, std::move(hooks))) {}
CoordinatorClient::~CoordinatorClient() { Stop(); }
void CoordinatorClient::Start() { impl_->Start(); }
void CoordinatorClient::Nudge(Urgency urgency) { impl_->Nudge(urgency); }
std::optional<Timestamp> CoordinatorClient::lease_end() const { return impl_->lease_end(); }
bool CoordinatorClient::connected() const { return impl_->connected(); }
void CoordinatorClient::Stop() { impl_->Stop(); }

}  // namespace inlier
