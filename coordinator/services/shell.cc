#include "coordinator/services/shell.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"

namespace inlier {
namespace {

// The clock is looked at no later than this, and a due step runs after what waits already.
constexpr Duration kLongestSleep = std::chrono::seconds(60);

}  // namespace

Shell::Shell(boost::asio::io_context& io, Orchestrator& orchestrator, Committer& committer,
             CoordinatorMetrics& metrics, std::function<void(absl::Status)> fatal)
    : io_(io),
      orchestrator_(orchestrator),
      committer_(committer),
      metrics_(metrics),
      fatal_(std::move(fatal)),
      timer_(io) {}

void Shell::Start(Effects effects) {
  stopped_ = false;
  Deliver(std::move(effects), nullptr, nullptr);
  Arm();
}

void Shell::Stop() {
  stopped_ = true;
  timer_.cancel();
}

void Shell::Fail(const absl::Status& status) {
  if (!failed_.ok()) return;
  failed_ = status;
  std::multimap<std::uint64_t, Gate> waiting;
  waiting.swap(waiting_);
  for (auto& [number, gate] : waiting) gate(status);
  if (!absl::IsUnavailable(status)) fatal_(status);
}

void Shell::ControlDone(std::uint64_t number, const absl::Status& status) {
  if (!status.ok()) {
    Fail(status);
    return;
  }
  Failpoint("reply.before");
  committed_ = number;
  while (!waiting_.empty() && waiting_.begin()->first <= committed_) {
    Gate gate = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    gate(absl::OkStatus());
  }
  if (committed_ == submitted_) touched_.clear();
}

void Shell::WhenCommitted(std::uint64_t control, Gate gate) {
  if (!failed_.ok()) {
    gate(failed_);
  } else if (control <= committed_) {
    gate(absl::OkStatus());
  } else {
    waiting_.emplace(control, std::move(gate));
  }
}

void Shell::Deliver(Effects effects, const std::string* worker, Gate gate) {
  for (const std::string& line : effects.log) spdlog::info("{}", line);
  metrics_.ObserveEffects(effects);
  const bool bulk = effects.changes.lane == Lane::kBulk;
  if (!effects.changes.empty() && !bulk) {
    const std::uint64_t number = ++submitted_;
    for (const std::string& touched : effects.workers) touched_[touched] = number;
    committer_.Submit(std::move(effects.changes), [this, number](absl::Status status) {
      Post([this, number, status] { ControlDone(number, status); });
    });
  }
  std::uint64_t control = submitted_;
  if (worker != nullptr) {
    const auto at = touched_.find(*worker);
    control = at == touched_.end() ? 0 : at->second;
  }
  if (bulk && !effects.changes.empty()) {
    committer_.Submit(std::move(effects.changes),
                      [this, control, gate = std::move(gate)](absl::Status status) {
                        Post([this, control, gate, status] {
                          if (!status.ok()) {
                            // What was taken in memory is not in the store: only a fault of the disk or the
                            // end of the process does that.
                            Fail(status);
                          }
                          if (gate) WhenCommitted(control, gate);
                        });
                      });
  } else if (gate) {
    WhenCommitted(control, std::move(gate));
  }
  Arm();
}

void Shell::AfterCommit(std::function<void(absl::Status)> call) {
  WhenCommitted(submitted_, std::move(call));
}

void Shell::Submit(const v1::SubmitSweepRequest& request, Reply<v1::SubmitSweepResponse> reply) {
  if (const absl::Status store = committer_.Health().status; !store.ok()) {
    reply(
        Annotate(store, "while storing the sweep; nothing was stored, submit it again when there is space"));
    return;
  }
  Effects effects;
  auto response = orchestrator_.OnSubmit(request, Now(), effects);
  Deliver(std::move(effects), nullptr,
          [response = std::move(response), reply = std::move(reply)](absl::Status status) {
            reply(status.ok() ? response : absl::StatusOr<v1::SubmitSweepResponse>(status));
          });
}

void Shell::Sync(const v1::WorkerSync& sync, Reply<v1::CoordinatorSync> reply) {
  const CommitterHealth health = committer_.Health();
  Orchestrator::SyncLimits limits;
  limits.take_events = health.status.ok() && health.accepts_bulk;
  limits.grant_leases = health.status.ok();
  Effects effects;
  auto response = orchestrator_.OnSync(sync, Now(), limits, effects);
  const std::string worker = sync.incarnation();
  Deliver(std::move(effects), &worker,
          [response = std::move(response), reply = std::move(reply)](absl::Status status) {
            reply(status.ok() ? response : absl::StatusOr<v1::CoordinatorSync>(status));
          });
}

void Shell::Cancel(const v1::CancelRequest& request, Reply<v1::CancelResponse> reply) {
  Effects effects;
  auto response = orchestrator_.OnCancel(request, Now(), effects);
  Deliver(std::move(effects), nullptr,
          [response = std::move(response), reply = std::move(reply)](absl::Status status) {
            reply(status.ok() ? response : absl::StatusOr<v1::CancelResponse>(status));
          });
}

void Shell::Retry(const v1::RetryRequest& request, Reply<v1::RetryResponse> reply) {
  Effects effects;
  auto response = orchestrator_.OnRetry(request, Now(), effects);
  Deliver(std::move(effects), nullptr,
          [response = std::move(response), reply = std::move(reply)](absl::Status status) {
            reply(status.ok() ? response : absl::StatusOr<v1::RetryResponse>(status));
          });
}

void Shell::Tick() {
  if (stopped_) return;
  armed_.reset();
  Effects effects;
  orchestrator_.Tick(Now(), effects);
  Deliver(std::move(effects), nullptr, nullptr);
  Arm();
}

void Shell::Arm() {
  if (stopped_) return;
  const Timestamp latest = MonotonicNow() + kLongestSleep;
  const std::optional<Timestamp> due = orchestrator_.NextDeadline();
  const Timestamp at = due ? std::min(*due, latest) : latest;
  if (armed_ && *armed_ <= at) return;
  armed_ = at;
  timer_.expires_at(std::chrono::steady_clock::time_point(at.since_start));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

}  // namespace inlier
