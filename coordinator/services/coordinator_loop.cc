#include "coordinator/services/coordinator_loop.h"

#include <algorithm>
#include <future>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "coordinator/state/feature.h"

namespace inlier {
namespace {

// The timer fires at least this often.
constexpr Duration kLongestSleep = std::chrono::seconds(1);
// Where it did not for so long, the process was stopped and could not hear its workers.
constexpr Duration kStandstill = std::chrono::seconds(3);

}  // namespace

absl::Status StoreWaits(const absl::Status& health) {
  if (health.ok()) return health;
  return absl::UnavailableError(absl::StrCat("the coordinator cannot store anything now: ", health.message(),
                                             "; it continues by itself when it can"));
}

CoordinatorLoop::CoordinatorLoop(boost::asio::io_context& io, Orchestrator& orchestrator,
                                 Committer& committer, CoordinatorMetrics& metrics,
                                 std::function<void(absl::Status)> fatal)
    : io_(io),
      orchestrator_(orchestrator),
      committer_(committer),
      metrics_(metrics),
      fatal_(std::move(fatal)),
      timer_(io) {}

void CoordinatorLoop::Run(std::function<void()> call) {
  INLIER_CHECK(!io_.get_executor().running_in_this_thread());
  std::packaged_task<void()> work(std::move(call));
  auto done = work.get_future();
  Post(std::move(work));
  done.get();
}

absl::StatusOr<ClusterView> CoordinatorLoop::DrainJobs(const JobDrain& drain) {
  auto view = std::make_shared<std::promise<absl::StatusOr<ClusterView>>>();
  Post([this, drain, view] {
    Effects effects;
    auto seen = std::make_shared<ClusterView>(orchestrator_.OnJobDrain(drain, Now(), effects));
    seen->can_store = StoreHealth().status.ok();
    Deliver(std::move(effects));
    if (drain.yield.empty()) return view->set_value(std::move(*seen));
    AfterCommitForUser([seen, view](const absl::Status& status) {
      view->set_value(status.ok() ? absl::StatusOr<ClusterView>(std::move(*seen)) : status);
    });
  });
  return view->get_future().get();
}

void CoordinatorLoop::Start(Effects effects) {
  stopped_ = false;
  ticked_ = MonotonicNow();
  Deliver(std::move(effects));
}

void CoordinatorLoop::Stop() {
  stopped_ = true;
  timer_.cancel();
}

void CoordinatorLoop::OnStoreWaits(const absl::Status& reason, Store& store) {
  std::shared_ptr<Orchestrator> stored;
  if (!reason.ok()) {
    stored = std::make_shared<Orchestrator>(orchestrator_.state().options);
    absl::StatusOr<Snapshot> snapshot = store.Load();
    Effects decided;  // By a start, which this is not.
    const absl::Status read =
        snapshot.ok() ? stored->Recover(*std::move(snapshot), Now(), decided) : snapshot.status();
    if (!read.ok()) {
      spdlog::warn("stored_state_unreadable reason=\"{}\"", std::string(read.message()));
      stored = nullptr;
    }
  }
  Post([this, reason, stored = std::move(stored)]() mutable {
    stored_ = std::move(stored);
    gate_.SetStoreWaits(StoreWaits(reason));
  });
}

absl::Status CoordinatorLoop::CheckStore() const {
  return Annotate(StoreWaits(StoreHealth().status), "nothing was changed; ask again then");
}

void CoordinatorLoop::Abandon(const absl::Status& reason) {
  if (gate_.Close(reason) && !absl::IsUnavailable(reason)) fatal_(reason);
}

void CoordinatorLoop::Listen(const std::string& incarnation, Listeners::Place place) {
  listeners_.Add(incarnation, std::move(place));
  orchestrator_.SetListening(incarnation, true);
  // Offers the work that became ready while the sync was being answered.
  Deliver(Effects());
}

void CoordinatorLoop::Unlisten(const std::string& incarnation, const Listener* ended) {
  if (listeners_.Remove(incarnation, ended)) orchestrator_.SetListening(incarnation, false);
}

void CoordinatorLoop::Deliver(Effects effects, const std::string* worker, ReleaseGate::Reply reply) {
  if (!stopped_) orchestrator_.Offer(Now(), committer_.Health().status.ok(), effects);
  metrics_.ObserveEffects(effects);
  const std::uint64_t number = gate_.Decided(effects, worker, std::move(reply));
  for (auto& [incarnation, push] : effects.pushes) {
    const Listeners::Place* place = listeners_.Find(incarnation);
    if (place == nullptr) continue;
    gate_.AfterAll([place = *place, push = std::move(push)](const absl::Status& status) mutable {
      if (status.ok()) place.Push(std::move(push));
    });
  }
  if (number != 0) {
    committer_.Submit(std::move(effects.changes), [this, number](const absl::Status& status) {
      Post([this, number, status] {
        // Only a fault of the disk or the end of the process causes that.
        if (!status.ok()) return Abandon(status);
        Failpoint("reply.before");
        gate_.Settled(number, status);
      });
    });
  }
  if (!effects.log.empty()) {
    const LogBatch batch;
    for (const std::string& line : effects.log) spdlog::info("{}", line);
  }
  Arm();
}

void CoordinatorLoop::Sync(const v1::WorkerSync& sync, bool by_stream, const std::string& caller,
                           Reply<v1::CoordinatorSync> reply) {
  Orchestrator::SyncLimits limits = SyncLimitsUnder(committer_.Health());
  limits.by_stream = by_stream;
  limits.caller = caller;
  Effects effects;
  // Held by pointer: an answer can be large, and a waiting reply may be copied.
  auto response = std::make_shared<absl::StatusOr<v1::CoordinatorSync>>(
      orchestrator_.OnSync(sync, Now(), limits, effects));
  if (response->ok()) listeners_.Remove(sync.incarnation());
  const std::string worker = sync.incarnation();
  Deliver(std::move(effects), &worker, [response, reply = std::move(reply)](absl::Status status) {
    reply(status.ok() ? std::move(*response) : absl::StatusOr<v1::CoordinatorSync>(status));
  });
}

void CoordinatorLoop::Tick() {
  if (stopped_) return;
  armed_.reset();
  Effects effects;
  const Moment now = Now();
  if (const Duration gap = now.at - std::exchange(ticked_, now.at); gap > kStandstill) {
    spdlog::warn(
        "standstill length=\"{}\" reason=\"this process was stopped or got no CPU: all leases get a fresh "
        "term\"",
        FormatDuration(gap));
    orchestrator_.OnStandstill(now, effects);
  }
  orchestrator_.Tick(now, effects);
  Deliver(std::move(effects));
}

void CoordinatorLoop::Arm() {
  if (stopped_) return;
  const Timestamp latest = MonotonicNow() + kLongestSleep;
  const Timestamp at = std::min(NextDeadline(orchestrator_.state()).value_or(latest), latest);
  if (armed_ && *armed_ <= at) return;
  armed_ = at;
  timer_.expires_at(std::chrono::steady_clock::time_point(at.since_start));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

}  // namespace inlier
