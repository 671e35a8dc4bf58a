#include "coordinator/services/coordinator_loop.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"

namespace inlier {
namespace {

// The timer fires at least this often.
constexpr Duration kLongestSleep = std::chrono::seconds(60);

}  // namespace

CoordinatorLoop::CoordinatorLoop(boost::asio::io_context& io, Orchestrator& orchestrator,
                                 Committer& committer, CoordinatorMetrics& metrics,
                                 std::function<void(absl::Status)> fatal)
    : executor_(io),
      orchestrator_(orchestrator),
      committer_(committer),
      metrics_(metrics),
      fatal_(std::move(fatal)),
      timer_(io) {}

void CoordinatorLoop::Start(Effects effects) {
  stopped_ = false;
  Deliver(std::move(effects), nullptr, nullptr);
  Arm();
}

void CoordinatorLoop::Stop() {
  stopped_ = true;
  timer_.cancel();
}

void CoordinatorLoop::Fail(const absl::Status& status) {
  if (gate_.Close(status) && !absl::IsUnavailable(status)) fatal_(status);
}

// A batch that will never be durable ends the process: memory and store would differ. Only a fault of the disk
// or the end of the process causes that.
void CoordinatorLoop::Settled(std::uint64_t number, const absl::Status& status) {
  if (status.ok()) {
    Failpoint("reply.before");
    gate_.Settled(number, status);
  } else {
    Fail(status);
  }
}

void CoordinatorLoop::PushWhenCommitted(std::map<std::string, v1::CoordinatorSync> pushes) {
  for (auto& [incarnation, push] : pushes) {
    const Listeners::Place* place = listeners_.Find(incarnation);
    if (place == nullptr) continue;
    gate_.AfterAll([place = *place, push = std::move(push)](const absl::Status& status) mutable {
      if (status.ok()) place.Push(std::move(push));
    });
  }
}

void CoordinatorLoop::Listen(const std::string& incarnation, Listeners::Place place) {
  listeners_.Add(incarnation, std::move(place));
  orchestrator_.SetListening(incarnation, true);
  // Offers the work that became ready while the sync was being answered.
  Deliver(Effects(), nullptr, nullptr);
}

void CoordinatorLoop::Unlisten(const std::string& incarnation, const Listener* ended) {
  if (listeners_.Remove(incarnation, ended)) orchestrator_.SetListening(incarnation, false);
}

void CoordinatorLoop::Deliver(Effects effects, const std::string* worker, ReleaseGate::Reply reply) {
  if (!stopped_) orchestrator_.Offer(Now(), committer_.Health().status.ok(), effects);
  metrics_.ObserveEffects(effects);
  std::map<std::string, v1::CoordinatorSync> pushes = std::move(effects.pushes);
  const std::uint64_t number = gate_.Decided(effects, worker, std::move(reply));
  PushWhenCommitted(std::move(pushes));
  if (number != 0) {
    committer_.Submit(std::move(effects.changes), [this, number](const absl::Status& status) {
      Post([this, number, status] { Settled(number, status); });
    });
  }
  if (!effects.log.empty()) {
    const LogBatch batch;
    for (const std::string& line : effects.log) spdlog::info("{}", line);
  }
  Arm();
}

void CoordinatorLoop::AfterCommit(std::function<void(absl::Status)> call) { gate_.AfterAll(std::move(call)); }

void CoordinatorLoop::Submit(const v1::SubmitSweepRequest& request, SweepGrid grid,
                             Reply<v1::SubmitSweepResponse> reply) {
  if (const absl::Status store = committer_.Health().status; !store.ok()) {
    reply(
        Annotate(store, "while storing the sweep; nothing was stored, submit it again when there is space"));
    return;
  }
  Answer<v1::SubmitSweepResponse>(
      [&](Effects& effects) { return orchestrator_.OnSubmit(request, Now(), effects, std::move(grid)); },
      std::move(reply));
}

void CoordinatorLoop::Edit(const v1::EditSweepRequest& request, SweepGrid grid,
                           Reply<v1::EditSweepResponse> reply) {
  Answer<v1::EditSweepResponse>(
      [&](Effects& effects) { return orchestrator_.OnEdit(request, Now(), effects, std::move(grid)); },
      std::move(reply));
}

void CoordinatorLoop::Sync(const v1::WorkerSync& sync, bool by_stream, Reply<v1::CoordinatorSync> reply) {
  listeners_.Remove(sync.incarnation());
  const CommitterHealth health = committer_.Health();
  Orchestrator::SyncLimits limits = SyncLimitsUnder(health);
  limits.by_stream = by_stream;
  Effects effects;
  // Held by pointer: an answer can be large, and a waiting reply may be copied.
  auto response = std::make_shared<absl::StatusOr<v1::CoordinatorSync>>(
      orchestrator_.OnSync(sync, Now(), limits, effects));
  const std::string worker = sync.incarnation();
  Deliver(std::move(effects), &worker, [response, reply = std::move(reply)](absl::Status status) {
    reply(status.ok() ? std::move(*response) : absl::StatusOr<v1::CoordinatorSync>(status));
  });
}

void CoordinatorLoop::Tick() {
  if (stopped_) return;
  armed_.reset();
  Effects effects;
  orchestrator_.Tick(Now(), effects);
  Deliver(std::move(effects), nullptr, nullptr);
  Arm();
}

void CoordinatorLoop::Arm() {
  if (stopped_) return;
  const Timestamp latest = MonotonicNow() + kLongestSleep;
  const Timestamp at = std::min(orchestrator_.NextDeadline().value_or(latest), latest);
  if (armed_ && *armed_ <= at) return;
  armed_ = at;
  timer_.expires_at(std::chrono::steady_clock::time_point(at.since_start));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

}  // namespace inlier
