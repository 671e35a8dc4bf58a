#include "worker/agent.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status.h"
#include "worker/attempt_folder.h"

namespace inlier {
namespace {

namespace asio = boost::asio;

// A post to the agent's thread that does nothing when the agent is gone.
template <typename Work>
void PostTo(asio::io_context& io, const std::shared_ptr<int>& alive, Work work) {
  asio::post(io, [alive = std::weak_ptr<int>(alive), work = std::move(work)]() mutable {
    if (!alive.expired()) work();
  });
}

constexpr char kLeaseEnding[] = "no answer from the coordinator: the lease is ending";
constexpr char kLeaseOver[] = "no answer from the coordinator for the lease's time";

ArtifactTransfer::Options ArtifactOptions(const Agent::Options& options) {
  ArtifactTransfer::Options artifacts = options.artifacts;
  artifacts.state_dir = options.attempts.state_dir;
  artifacts.channel = ConnectToCoordinator(options.client);
  return artifacts;
}

}  // namespace

Agent::Agent(asio::io_context& io, Options options, Outbox& outbox, WorkerMetrics& metrics,
             std::function<void(const absl::Status&)> on_end)
    : io_(io),
      options_(std::move(options)),
      outbox_(outbox),
      metrics_(metrics),
      on_end_(std::move(on_end)),
      hold_(options_.hold),
      delivery_timer_(io),
      hold_timer_(io),
      artifacts_(ArtifactOptions(options_), metrics,
                 [this] {
                   PostTo(io_, alive_, [this] {
                     for (const auto& [token, supervisor] : running_) supervisor->Wake();
                   });
                 }),
      client_(
          options_.client, outbox, metrics,
          {.fill =
               [this](v1::WorkerSync& sync) {
                 sync = identity_;
                 if (artifacts_.mode() == ArtifactMode::kStreamed) sync.set_keeps_artifacts(true);
                 board_.Fill(sync);
               },
           .on_answer =
               [this](const v1::CoordinatorSync& answer) {
                 PostTo(io_, alive_, [this, answer] { OnAnswer(answer); });
               },
           .on_lease =
               [this](LeaseGuard::State state) { PostTo(io_, alive_, [this, state] { OnLease(state); }); },
           .on_refused =
               [this](const absl::Status& status) {
                 PostTo(io_, alive_, [this, status] { OnRefused(status); });
               }}) {
  identity_.set_incarnation(options_.incarnation);
  identity_.set_name(options_.name);
  identity_.set_host(options_.host);
  identity_.set_version(options_.version);
  identity_.set_data_dir(options_.attempts.data_dir.string());
  for (const SlotPlan& slot : options_.slots) {
    v1::Slot& shown = *identity_.add_slots();
    shown.set_index(slot.index);
    shown.set_device(slot.device);
    shown.set_threads(slot.threads);
    if (slot.device_memory_mib > 0) shown.set_device_memory_mib(slot.device_memory_mib);
  }
  if (options_.memory_mib > 0) identity_.set_memory_mib(options_.memory_mib);
  metrics_.slots.Set(static_cast<double>(options_.slots.size()));
}

Agent::~Agent() {
  client_.Stop();
  artifacts_.Stop();
  disk_.join();
}

void Agent::Start() {
  artifacts_.Start();
  client_.Start();
}

void Agent::OnAnswer(const v1::CoordinatorSync& answer) {
  if (finished_) return;
  desired_.clear();
  for (const v1::Assignment& assignment : answer.desired()) desired_.emplace(assignment.token(), assignment);
  Forget(answer.acknowledged_sequence());
  if (const absl::Status compacted = outbox_.Compact(); !compacted.ok()) {
    spdlog::warn("outbox_not_compacted reason={}", LogText(compacted.message()));
  }
  std::map<std::uint64_t, std::string> reasons;
  for (const v1::Stop& stop : answer.stop()) reasons[stop.token()] = stop.reason();
  for (const auto& [token, supervisor] : running_) {
    // A token says which stage, as long as it is of this database; one that was made anew counts anew.
    const auto desired = desired_.find(token);
    const bool wanted =
        desired != desired_.end() && desired->second.stage_id() == supervisor->assignment().stage_id();
    if (supervisor->stopping()) {
      if (!wanted) supervisor->Abandon();
      continue;
    }
    AttemptHold::Fate fate = wanted ? AttemptHold::Fate::kStays : AttemptHold::Fate::kKilled;
    const bool suspended = supervisor->suspended();
    if (suspended) fate = AttemptHold::OfSuspended(wanted, client_.lease_end(), MonotonicNow());
    if (fate == AttemptHold::Fate::kGoesOn) supervisor->Continue();
    if (fate != AttemptHold::Fate::kKilled) continue;
    const auto reason = reasons.find(token);
    // Its stage may run elsewhere by now: one that is suspended must not run on, not even to end.
    supervisor->Stop(StopKind::kNotDesired,
                     reason == reasons.end() ? "the coordinator does not want it any more" : reason->second,
                     suspended ? Duration::zero() : options_.attempts.stop_grace);
  }
  Reconcile();
  MaybeFinishDrain();
}

std::optional<std::uint32_t> Agent::FreeSlot(const v1::Assignment& assignment) const {
  const auto busy = [this](std::uint32_t slot) {
    return std::any_of(running_.begin(), running_.end(),
                       [slot](const auto& entry) { return entry.second->slot() == slot; });
  };
  if (assignment.has_slot() && assignment.slot() < options_.slots.size()) {
    return busy(assignment.slot()) ? std::nullopt : std::optional<std::uint32_t>(assignment.slot());
  }
  for (std::uint32_t slot = 0; slot < options_.slots.size(); ++slot) {
    if (!busy(slot)) return slot;
  }
  return std::nullopt;
}

void Agent::Reconcile() {
  if (draining_ || finished_ || lease_ == LeaseGuard::State::kEnding || lease_ == LeaseGuard::State::kExpired)
    return;
  for (const auto& [token, assignment] : desired_) {
    if (running_.count(token) > 0 || ended_.count(token) > 0) continue;
    // A slot whose last child is still ending is taken when it is gone.
    if (const std::optional<std::uint32_t> slot = FreeSlot(assignment)) StartAttempt(assignment, *slot);
  }
}

void Agent::StartAttempt(const v1::Assignment& assignment, std::uint32_t slot) {
  const auto nudge = [this](CoordinatorClient::Urgency urgency) { client_.Nudge(urgency); };
  auto supervisor =
      std::make_shared<Supervisor>(options_.attempts,
                                   WorkerParts{io_, disk_, outbox_, board_, metrics_, artifacts_, nudge,
                                               [this] { return client_.connected(); }},
                                   options_.slots[slot], assignment);
  running_.emplace(assignment.token(), supervisor);
  const auto on_done = [](std::exception_ptr error) {
    if (error)
      std::rethrow_exception(
          error);  // Out of memory, or a bug: the process ends, its attempts are leased again.
  };
  asio::co_spawn(io_, RunAttempt(std::move(supervisor)), on_done);
  client_.Nudge(CoordinatorClient::Urgency::kPoint);
}

asio::awaitable<void> Agent::RunAttempt(std::shared_ptr<Supervisor> supervisor) {
  const std::weak_ptr<int> alive = alive_;
  const Supervisor::Result result = co_await supervisor->Run();
  if (!alive.expired()) OnEnded(*supervisor, result);
}

void Agent::OnEnded(Supervisor& supervisor, const Supervisor::Result& result) {
  Ended& ended = ended_[supervisor.token()];
  ended.stage_id = supervisor.assignment().stage_id();
  ended.outcome_sequence = result.outcome_sequence;
  ended.succeeded = result.outcome.kind() == v1::Outcome::SUCCEEDED;
  board_.Remove(supervisor.token());
  running_.erase(supervisor.token());
  client_.Nudge(CoordinatorClient::Urgency::kResult);
  Reconcile();
  MaybeFinishDrain();
}

void Agent::Forget(std::uint64_t acknowledged) {
  for (auto at = ended_.begin(); at != ended_.end();) {
    Ended& ended = at->second;
    if (ended.outcome_sequence > acknowledged) {
      ++at;
      continue;
    }
    if (ended.succeeded && !std::exchange(ended.cleaned, true)) {
      asio::post(disk_, [state_dir = options_.attempts.state_dir, stage = ended.stage_id, token = at->first] {
        const absl::Status removed = RemoveOldCheckpoints(state_dir, stage, token);
        if (!removed.ok())
          spdlog::warn("old_checkpoints_kept stage={} reason={}", stage, LogText(removed.message()));
      });
    }
    at = desired_.count(at->first) > 0 ? std::next(at) : ended_.erase(at);
  }
}

void Agent::OnLease(LeaseGuard::State state) {
  lease_ = state;
  if (finished_) return;
  if (state == LeaseGuard::State::kExpired) {
    desired_.clear();
    if (!running_.empty()) metrics_.fenced.Increment();
  }
  const auto end_all = [this](const char* reason, Duration grace) {
    for (const auto& [token, supervisor] : running_) supervisor->Stop(StopKind::kFenced, reason, grace);
  };
  switch (hold_.OnLease(state, MonotonicNow())) {
    case AttemptHold::Deed::kNothing:
      hold_timer_.cancel();
      Reconcile();
      break;
    case AttemptHold::Deed::kAskToEnd:
      // Long enough a grace: kExpired is what ends it.
      end_all(kLeaseEnding, options_.attempts.stop_grace);
      break;
    case AttemptHold::Deed::kKill:
      end_all(kLeaseOver, Duration::zero());
      break;
    case AttemptHold::Deed::kSuspend:
      SuspendAll(state == LeaseGuard::State::kEnding ? options_.attempts.stop_grace : Duration::zero());
      break;
  }
}

void Agent::SuspendAll(Duration grace) {
  for (const auto& [token, supervisor] : running_) {
    if (supervisor->Suspend()) continue;
    supervisor->Stop(StopKind::kFenced, grace > Duration::zero() ? kLeaseEnding : kLeaseOver, grace);
  }
  hold_timer_.expires_at(std::chrono::steady_clock::time_point(hold_.GivesUpAt()->since_start));
  hold_timer_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) GiveUpSuspended();
  });
}

void Agent::GiveUpSuspended() {
  for (const auto& [token, supervisor] : running_) {
    if (!supervisor->suspended()) continue;
    supervisor->Stop(
        StopKind::kFenced,
        absl::StrCat("no answer from the coordinator for ", FormatDuration(options_.hold), " (hold_seconds)"),
        Duration::zero());
  }
}

bool Agent::Leased() const {
  const std::optional<Timestamp> end = client_.lease_end();
  return end && MonotonicNow() < *end;
}

void Agent::OnRefused(const absl::Status& status) {
  spdlog::error("refused reason={}", LogText(status.message()));
  end_status_ = status;
  Drain("refused by the coordinator");
  // Nobody will acknowledge anything.
  if (running_.empty()) End(end_status_);
}

void Agent::Drain(const std::string& reason) {
  if (draining_ || finished_) return;
  draining_ = true;
  board_.SetDraining();
  artifacts_.SetDraining();
  spdlog::info("draining reason=\"{}\" attempts={} events={}", reason, running_.size(), outbox_.size());
  for (const auto& [token, supervisor] : running_) {
    // To write a checkpoint a suspended one would have to run, and it may do so within the lease only.
    const bool may_run = !supervisor->suspended() || Leased();
    supervisor->Stop(StopKind::kDraining, absl::StrCat("the worker is ending (", reason, ")"),
                     may_run ? options_.attempts.stop_grace : Duration::zero());
  }
  client_.Nudge(CoordinatorClient::Urgency::kResult);
  MaybeFinishDrain();
}

void Agent::MaybeFinishDrain() {
  if (!draining_ || finished_ || !running_.empty()) return;
  if (outbox_.size() == 0 || !end_status_.ok()) return End(end_status_);
  if (delivery_armed_) return;
  delivery_armed_ = true;
  delivery_timer_.expires_after(client_.connected() ? options_.delivery_wait : options_.delivery_wait_alone);
  delivery_timer_.async_wait(
      [this, alive = std::weak_ptr<int>(alive_)](const boost::system::error_code& error) {
        if (error || alive.expired()) return;
        spdlog::warn("events_undelivered count={} kept_in={} remedy=\"none: the next worker sends them\"",
                     outbox_.size(), (options_.attempts.state_dir / "outbox").string());
        End(end_status_);
      });
}

void Agent::Abort(const std::string& reason) {
  if (finished_) return;
  spdlog::warn("aborting reason=\"{}\" attempts={}", reason, running_.size());
  for (const auto& [token, supervisor] : running_) {
    supervisor->Stop(StopKind::kDraining, reason, Duration::zero());
  }
  End(absl::AbortedError(reason));
}

void Agent::End(const absl::Status& status) {
  if (std::exchange(finished_, true)) return;
  delivery_timer_.cancel();
  hold_timer_.cancel();
  client_.Stop();
  on_end_(status);
}

void Agent::UpdateMetrics() {
  metrics_.slots_busy.Set(static_cast<double>(running_.size()));
  metrics_.suspended.Set(static_cast<double>(std::count_if(
      running_.begin(), running_.end(), [](const auto& entry) { return entry.second->suspended(); })));
  metrics_.outbox_events.Set(static_cast<double>(outbox_.size()));
  const std::uint64_t thinned = outbox_.thinned();
  metrics_.events_thinned.Increment(static_cast<double>(thinned - std::exchange(thinned_counted_, thinned)));
  std::int64_t resident = 0;
  for (const auto& [token, supervisor] : running_) {
    supervisor->CountCpu(supervisor->CpuSeconds());
    resident += supervisor->ResidentBytes();
  }
  metrics_.child_resident_bytes.Set(static_cast<double>(resident));
}

}  // namespace inlier
