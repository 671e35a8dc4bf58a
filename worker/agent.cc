#include "worker/agent.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/message_form.h"
#include "worker/attempt_folder.h"
#include "worker/disk_work.h"

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

std::uint32_t SecondsUntil(Timestamp end) {
  return static_cast<std::uint32_t>(std::max(0.0, ToSeconds(end - MonotonicNow())));
}

ArtifactTransferOptions ArtifactOptions(const AgentOptions& options) {
  ArtifactTransferOptions artifacts = options.artifacts;
  artifacts.state_dir = options.attempts.state_dir;
  artifacts.channel = ConnectToCoordinator(options.client);
  return artifacts;
}

}  // namespace

Agent::Agent(asio::io_context& io, AgentOptions options, Outbox& outbox, WorkerMetrics& metrics,
             std::function<void(const absl::Status&)> on_end)
    : io_(io),
      options_(std::move(options)),
      outbox_(outbox),
      metrics_(metrics),
      on_end_(std::move(on_end)),
      slots_{.waiting_children = {},
             .idle_cpus = IdleCpus(io, options_.slots,
                                   [this](std::uint32_t slot, const std::vector<int>& cpus) {
                                     for (const auto& [token, supervisor] : running_)
                                       if (supervisor->Uses(slot)) supervisor->BindTo(cpus);
                                   }),
             .start_trouble = StartTrouble(io, disk_, options_.attempts,
                                           [this](const std::string& why) {
                                             board_.SetTrouble(why);
                                             client_.RequestSync(CoordinatorClient::Urgency::kResult);
                                           })},
      data_checker_(io, options_.attempts, board_, slots_.start_trouble,
                    [this] { client_.RequestSync(CoordinatorClient::Urgency::kResult); }),
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
                 if (artifacts_.MovesFiles()) sync.set_keeps_artifacts(true);
                 if (options_.job.ends) sync.set_job_seconds_left(SecondsUntil(*options_.job.ends));
                 board_.Fill(sync);
               },
           .on_answer =
               [this](const v1::CoordinatorSync& answer, bool knows) {
                 PostTo(io_, alive_, [this, answer, knows] {
                   ending_.known |= knows;
                   OnAnswer(answer);
                 });
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
  identity_.set_spec_form(FormDigest(*v1::TrialSpec::descriptor()));
  identity_.set_data_dir(options_.attempts.data_dir.string());
  for (const SlotPlan& slot : options_.slots) {
    slots_.waiting_children.emplace_back(io_);
    v1::Slot& shown = *identity_.add_slots();
    shown.set_index(slot.index);
    shown.set_device(slot.device);
    shown.set_threads(slot.threads);
    if (slot.device_memory_mib > 0) shown.set_device_memory_mib(slot.device_memory_mib);
  }
  if (options_.memory_mib > 0) identity_.set_memory_mib(options_.memory_mib);
  if (!options_.job.id.empty()) identity_.set_job(options_.job.id);
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
  if (ending_.phase == Phase::kFinished) return;
  if (answer.has_database_id() && !outbox_.SetDatabase(answer.database_id())) {
    // Its tokens mean other attempts. The next worker process starts with the new database.
    if (ending_.status.ok())
      OnRefused(absl::FailedPreconditionError("the coordinator has another database now"));
    return;
  }
  desired_.clear();
  for (const v1::Assignment& assignment : answer.desired()) desired_.emplace(assignment.token(), assignment);
  Forget(answer.acknowledged_sequence());
  if (const absl::Status compacted = outbox_.Compact(); !compacted.ok()) {
    spdlog::warn("outbox_not_compacted reason={}", LogText(compacted.message()));
  }
  std::map<std::uint64_t, std::string> reasons;
  for (const v1::Stop& stop : answer.stop()) reasons[stop.token()] = stop.reason();
  for (const auto& [token, supervisor] : running_) {
    // A token names its stage only within one database: another one counts from 1 again.
    const auto desired = desired_.find(token);
    if (desired != desired_.end() && desired->second.stage_id() == supervisor->assignment().stage_id())
      continue;
    if (supervisor->stopping()) {
      supervisor->Abandon();
      continue;
    }
    const auto reason = reasons.find(token);
    supervisor->Stop(StopKind::kNotDesired,
                     reason == reasons.end() ? "the coordinator does not want it any more" : reason->second,
                     options_.attempts.stop_grace);
  }
  if (ending_.phase == Phase::kRunning)
    data_checker_.Want({answer.check_data().begin(), answer.check_data().end()});
  artifacts_.SetWanted({answer.wanted_artifacts().begin(), answer.wanted_artifacts().end()});
  Reconcile();
  MaybeFinishDrain();
}

std::vector<std::uint32_t> Agent::FreeSlots(const v1::Assignment& assignment) const {
  const auto busy = [this](std::uint32_t slot) {
    return std::ranges::any_of(running_, [slot](const auto& entry) { return entry.second->Uses(slot); });
  };
  if (assignment.has_slot() && assignment.slot() < options_.slots.size()) {
    std::vector<std::uint32_t> slots = {assignment.slot()};
    slots.insert(slots.end(), assignment.further_slots().begin(), assignment.further_slots().end());
    const bool taken = std::ranges::any_of(
        slots, [&](std::uint32_t slot) { return slot >= options_.slots.size() || busy(slot); });
    return taken ? std::vector<std::uint32_t>() : slots;
  }
  for (std::uint32_t slot = 0; slot < options_.slots.size(); ++slot) {
    if (!busy(slot)) return {slot};
  }
  return {};
}

void Agent::Reconcile() {
  if (ending_.phase != Phase::kRunning || !Leased()) return;
  for (const auto& [token, assignment] : desired_) {
    if (running_.count(token) > 0 || ended_.count(token) > 0) continue;
    // A slot whose last child is still ending is used when that is gone.
    const std::vector<std::uint32_t> slots = FreeSlots(assignment);
    if (!slots.empty()) StartAttempt(assignment, slots);
  }
}

void Agent::StartAttempt(const v1::Assignment& assignment, const std::vector<std::uint32_t>& slots) {
  std::vector<RankProcesses::Place> further;
  for (auto slot = slots.begin() + 1; slot != slots.end(); ++slot)
    further.push_back({options_.slots[*slot], &slots_.waiting_children[*slot]});
  const auto request_sync = [this](CoordinatorClient::Urgency urgency) { client_.RequestSync(urgency); };
  auto supervisor = std::make_shared<Supervisor>(
      options_.attempts,
      WorkerParts{io_, disk_, outbox_, board_, metrics_, artifacts_, request_sync,
                  [this] { return client_.connected(); }, [this] { return Leased(); },
                  [this](std::uint32_t slot) { slots_.idle_cpus.TrainingRuns(slot); }},
      options_.slots[slots[0]], slots_.waiting_children[slots[0]], std::move(further), assignment);
  for (const std::uint32_t slot : slots) slots_.idle_cpus.AttemptStarts(slot);
  running_.emplace(assignment.token(), supervisor);
  StartWork(io_, RunAttempt(std::move(supervisor)));
  client_.RequestSync(CoordinatorClient::Urgency::kPoint);
}

asio::awaitable<void> Agent::RunAttempt(std::shared_ptr<Supervisor> supervisor) {
  const std::weak_ptr<int> alive = alive_;
  const Supervisor::Result result = co_await supervisor->Run();
  if (!alive.expired()) OnEnded(*supervisor, result);
}

void Agent::OnEnded(Supervisor& supervisor, const Supervisor::Result& result) {
  EndedAttempt& ended = ended_[supervisor.token()];
  ended.stage_id = supervisor.assignment().stage_id();
  ended.outcome_sequence = result.outcome_sequence;
  ended.succeeded = result.outcome.kind() == v1::Outcome::SUCCEEDED;
  if (result.outcome.not_started())
    slots_.start_trouble.NotStarted(result.outcome.message());
  else
    slots_.start_trouble.Started();
  board_.Remove(supervisor.token());
  running_.erase(supervisor.token());
  for (const std::uint32_t slot : supervisor.slots()) slots_.idle_cpus.AttemptEnded(slot);
  client_.RequestSync(CoordinatorClient::Urgency::kResult);
  Reconcile();
  MaybeFinishDrain();
}

void Agent::Forget(std::uint64_t acknowledged) {
  for (auto at = ended_.begin(); at != ended_.end();) {
    EndedAttempt& ended = at->second;
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
  if (ending_.phase == Phase::kFinished) return;
  switch (state) {
    case LeaseGuard::State::kIdle:
      break;
    case LeaseGuard::State::kHeld:
      for (const auto& [token, supervisor] : running_) supervisor->Wake();
      Reconcile();
      break;
    case LeaseGuard::State::kAway:
      if (running_.empty()) break;
      metrics_.leases_lost.Increment();
      spdlog::warn("lease_lost attempts={} run_on_for=\"{}\"", running_.size(),
                   FormatDuration(options_.client.hold));
      break;
    case LeaseGuard::State::kEnding:
      StopAll(StopKind::kLeaseLost,
              options_.client.hold > Duration::zero()
                  ? absl::StrCat("no answer from the coordinator for ", FormatDuration(options_.client.hold),
                                 " after the lease (hold_seconds)")
                  : "no answer from the coordinator: the lease is ending",
              options_.attempts.stop_grace);
      break;
    case LeaseGuard::State::kOver:
      if (!running_.empty()) metrics_.leases_lost.Increment();
      StopAll(StopKind::kLeaseLost, "no answer from the coordinator for the lease's time", Duration::zero());
      break;
  }
}

void Agent::StopAll(StopKind kind, const std::string& reason, Duration grace) {
  for (const auto& [token, supervisor] : running_) supervisor->Stop(kind, reason, grace);
}

void Agent::OnRefused(const absl::Status& status) {
  spdlog::error("refused reason={}", LogText(status.message()));
  ending_.status = status;
  Drain("refused by the coordinator");
  // No event will be acknowledged any more.
  if (running_.empty()) End(ending_.status);
}

void Agent::Drain(const std::string& reason) {
  if (ending_.phase != Phase::kRunning) return;
  ending_.phase = Phase::kDraining;
  board_.SetDraining();
  artifacts_.SetDraining();
  data_checker_.Stop();
  for (WaitingChild& child : slots_.waiting_children) child.Kill();
  spdlog::info("draining reason=\"{}\" attempts={} events={}", reason, running_.size(), outbox_.size());
  StopAll(StopKind::kDraining, absl::StrCat("the worker is ending (", reason, ")"),
          options_.attempts.stop_grace);
  client_.RequestSync(CoordinatorClient::Urgency::kResult);
  MaybeFinishDrain();
}

void Agent::MaybeFinishDrain() {
  if (ending_.phase != Phase::kDraining || !running_.empty()) return;
  const bool known = ending_.known || !client_.connected();
  if ((outbox_.size() == 0 && known) || !ending_.status.ok()) return End(ending_.status);
  if (ending_.delivery) return;
  const bool long_wait = outbox_.size() > 0 && client_.connected();
  ending_.delivery.emplace(io_, long_wait ? options_.delivery_wait : options_.delivery_wait_alone);
  ending_.delivery->async_wait(
      [this, alive = std::weak_ptr<int>(alive_)](const boost::system::error_code& error) {
        if (error || alive.expired()) return;
        if (outbox_.size() > 0) {
          spdlog::warn("events_undelivered count={} kept_in={} remedy=\"none: the next worker sends them\"",
                       outbox_.size(), (options_.attempts.state_dir / "outbox").string());
        }
        End(ending_.status);
      });
}

void Agent::Abort(const std::string& reason) {
  if (ending_.phase == Phase::kFinished) return;
  spdlog::warn("aborting reason=\"{}\" attempts={}", reason, running_.size());
  StopAll(StopKind::kDraining, reason, Duration::zero());
  data_checker_.Stop();
  for (WaitingChild& child : slots_.waiting_children) child.Kill();
  End(absl::AbortedError(reason));
}

void Agent::End(const absl::Status& status) {
  if (std::exchange(ending_.phase, Phase::kFinished) == Phase::kFinished) return;
  if (ending_.delivery) ending_.delivery->cancel();
  client_.Stop();
  on_end_(status);
}

void Agent::ShowDevices(const DeviceReadings& readings) {
  board_.SetDevices(readings);
  metrics_.SetGpus(readings.gpus);
}

void Agent::UpdateMetrics() {
  std::size_t busy = 0;
  for (const auto& [token, supervisor] : running_) busy += supervisor->slots().size();
  metrics_.slots_busy.Set(static_cast<double>(busy));
  metrics_.outbox_events.Set(static_cast<double>(outbox_.size()));
  metrics_.events_thinned.Increment(static_cast<double>(outbox_.thinned()) - metrics_.events_thinned.Value());
  std::int64_t resident = 0;
  for (const auto& [token, supervisor] : running_) {
    supervisor->CountCpu(supervisor->CpuSeconds());
    resident += supervisor->ResidentBytes();
  }
  metrics_.child_resident_bytes.Set(static_cast<double>(resident));
}

}  // namespace inlier
