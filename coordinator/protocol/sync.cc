#include "coordinator/protocol/sync.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "base/version_skew.h"
#include "coordinator/data/data_check.h"
#include "coordinator/scheduling/job_ends.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/state/reported_text.h"
#include "coordinator/state/transitions.h"
#include "spec/schema/plain_name.h"

namespace inlier {
namespace {

// Sync period of a worker with a free slot; with more workers each syncs less often.
constexpr Duration kIdleSync = std::chrono::milliseconds(200);
constexpr int kWorkersAtIdleSync = 20;
// How often "last seen" is written for a worker of which nothing else changes.
constexpr std::int64_t kLastSeenWrittenMs = 60'000;
constexpr std::size_t kGpuNameBytesMax = 128;
constexpr std::size_t kJobBytesMax = 128;
constexpr std::size_t kTroubleBytesMax = 500;

bool IsTraining(const v1::Progress& progress) { return progress.phase() == "train"; }

// Who may sync as this worker, `known` or a new one, and whether the caller may have one more.
absl::Status CheckCaller(const State& state, const WorkerEntry* known, const v1::WorkerSync& sync,
                         const std::string& caller) {
  if (known != nullptr && !caller.empty() && !known->owner.empty() && known->owner != caller) {
    return absl::PermissionDeniedError(absl::StrCat("this incarnation of a worker does not belong to ",
                                                    caller,
                                                    "; a worker gets a new incarnation at each start"));
  }
  if (known != nullptr && known->connected) return absl::OkStatus();
  const WorkerRegistry::Share share = state.workers.ShareOf(caller);
  const std::string who = caller.empty() ? "callers without a name" : caller;
  if (share.workers >= state.options.workers_per_caller_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(share.workers, " workers of ", who,
                     " are connected, the most of one caller; stop some, give them another token, or raise "
                     "workers_per_caller_max of the coordinator"));
  }
  if (share.slots + static_cast<std::uint64_t>(sync.slots_size()) > state.options.slots_per_caller_max) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "worker ", sync.name(), " has ", sync.slots_size(), " slots, and the connected workers of ", who,
        " have ", share.slots, " of at most ", state.options.slots_per_caller_max,
        "; stop some, give them another token, or raise slots_per_caller_max of the "
        "coordinator"));
  }
  return absl::OkStatus();
}

// As users may be shown them.
std::vector<v1::DeviceReading> Readings(const v1::WorkerSync& sync) {
  std::vector<v1::DeviceReading> gpus(
      sync.gpus().begin(), sync.gpus().begin() + std::min(sync.gpus_size(), WorkerEntry::kGpusMax));
  for (v1::DeviceReading& gpu : gpus) {
    gpu.set_device(Shortened(gpu.device(), kGpuNameBytesMax));
    if (gpu.has_name()) gpu.set_name(Shortened(gpu.name(), kGpuNameBytesMax));
  }
  return gpus;
}

void TakeReadings(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync) {
  DeviceHistory& history = context.state.workers.devices();
  if (sync.gpus_size() > 0) {
    worker.gpus = Readings(sync);
    history.Take(worker.incarnation, worker.gpus, context.now.wall);
  }
  if (sync.has_machine()) {
    worker.machine = sync.machine();
    worker.machine.set_device("cpu");
    worker.machine.clear_name();
    history.Take(worker.incarnation, {&worker.machine, 1}, context.now.wall);
  }
}

}  // namespace

absl::StatusOr<WorkerEntry*> CheckSync(State& state, const v1::WorkerSync& sync, const std::string& caller) {
  RETURN_IF_ERROR(
      CheckVersionSkew(absl::StrCat("worker ", sync.name(), " runs"), sync.version(), state.options.version));
  std::string problem;
  std::set<std::uint32_t> indices;
  for (const v1::Slot& slot : sync.slots()) indices.insert(slot.index());
  if (sync.incarnation().empty()) {
    problem = "incarnation must be a fresh uuid of the worker process";
  } else if (!sync.name().empty() && !IsPlainName(sync.name())) {
    problem =
        absl::StrCat("name: a worker's name has ", kPlainNameForm, "; set another in its configuration");
  } else if (static_cast<int>(indices.size()) != sync.slots_size()) {
    problem = "two slots have the same index";
  } else if (!indices.empty() && *indices.rbegin() >= indices.size()) {
    problem = "slots are numbered from 0 without gaps";
  }
  if (!problem.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sync of worker \"", absl::CEscape(sync.name()), "\": ", problem));
  }
  WorkerEntry* const known = state.workers.Find(sync.incarnation());
  RETURN_IF_ERROR(CheckCaller(state, known, sync, caller));
  return known;
}

void UpdateWorker(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync, bool is_new) {
  State& state = context.state;
  const bool joined = !worker.connected || is_new;
  const bool reports_slots = !worker.slots_reported;
  const bool changed = joined || reports_slots || worker.unavailable.draining != sync.draining() ||
                       worker.name != sync.name() || worker.host != sync.host() ||
                       context.now.wall.unix_ms - worker.seen.written_ms >= kLastSeenWrittenMs;
  if (reports_slots) {
    state.workers.SetSlots(worker, {sync.slots().begin(), sync.slots().end()}, sync.memory_mib());
    worker.slots_reported = true;
  }
  worker.name = sync.name();
  worker.host = sync.host();
  worker.version = sync.version();
  worker.unavailable.outdated =
      sync.version() != state.options.version && sync.spec_form() != state.options.spec_form;
  worker.unavailable.draining = sync.draining();
  if (const std::string trouble = Shortened(sync.trouble(), kTroubleBytesMax);
      worker.unavailable.trouble != trouble) {
    worker.unavailable.trouble = trouble;
    context.out.log.push_back(
        trouble.empty() ? absl::StrCat("worker_able worker=", worker.name)
                        : absl::StrCat("worker_unable worker=", worker.name, " reason=\"", trouble, "\""));
  }
  worker.keeps_artifacts = sync.keeps_artifacts();
  worker.job = Shortened(sync.job(), kJobBytesMax);
  // Also of one that has just connected.
  worker.unavailable.job_drained =
      state.jobs.drained.contains(worker.job) && !INLIER_BUG("drained_job_takes_work");
  if (sync.has_job_seconds_left()) {
    worker.resources.SetSecondsLeft(sync.job_seconds_left());
    state.jobs.longest = std::max(state.jobs.longest, sync.job_seconds_left());
  }
  if (INLIER_BUG("drain_ended_by_the_next_sync")) worker.unavailable.held = false;
  worker.sync.id = sync.sync_id();
  if (sync.events_thinned() > worker.sync.events_thinned) {
    state.stats.events_thinned += sync.events_thinned() - worker.sync.events_thinned;
    worker.sync.events_thinned = sync.events_thinned();
  }
  TakeReadings(context, worker, sync);
  state.workers.Seen(worker, context.now.at, context.now.wall);
  if (worker.unavailable.draining) ForgetDataChecks(state, worker.incarnation);  // It gives them up.
  state.leases.Renew(worker.incarnation, context.now.at);
  if (joined) {
    context.Log("worker_joined worker=", worker.name, " incarnation=", worker.incarnation,
                " host=", worker.host, " slots=", worker.slots.size());
    if (worker.unavailable.outdated)
      context.Log("worker_outdated worker=", worker.name, " version=", worker.version,
                  " reason=\"it finishes what it runs and gets nothing new: "
                  "upgrade it\"");
  }
  if (changed) {
    worker.seen.written_ms = context.now.wall.unix_ms;
    CommitWorker(context, worker);
  }
}

void TakeReports(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync) {
  State& state = context.state;
  std::map<Token, std::string> reasons;
  for (const v1::AttemptReport& report : sync.attempts()) {
    const auto known = worker.stop_reasons.find(report.token());
    if (known != worker.stop_reasons.end()) reasons.insert(*known);
    const auto at = state.attempts.find(report.token());
    if (at == state.attempts.end() || at->second.worker != worker.incarnation) continue;
    Attempt& attempt = at->second;
    if (attempt.unclaimed) {
      attempt.unclaimed = false;
      ++state.stats.attempts_adopted;
      context.Log("attempt_adopted trial=", attempt.trial.ToString(), " stage=", attempt.stage.ToString(),
                  " token=", attempt.token, " worker=", worker.name);
    }
    const v1::Progress& progress = report.progress();
    if (progress.phase() != attempt.progress.phase() || progress.step() != attempt.progress.step()) {
      NoteProgress(context, attempt);
      if (!attempt.recovered && IsTraining(progress) && !IsTraining(attempt.progress))
        NoteTimeNeeded(context, state.stages.at(attempt.stage), context.now.at - attempt.times.started);
      Touch(state, state.stages.at(attempt.stage));
      attempt.progress = AsUtf8(progress);
    }
  }
  worker.stop_reasons = std::move(reasons);
  ReleaseGone(state, worker, &sync);
}

void FillAnswer(const State& state, const WorkerEntry& worker, const v1::WorkerSync* sync,
                v1::CoordinatorSync& answer) {
  std::map<Token, std::string> stops;
  std::set<Token> reported;
  if (sync != nullptr) {
    for (const v1::AttemptReport& report : sync->attempts()) {
      reported.insert(report.token());
      stops[report.token()] = "fenced: another attempt or none has the right to run";
    }
  }
  for (const auto& [token, reason] : worker.stop_reasons)
    if (sync == nullptr || reported.contains(token)) stops[token] = reason;
  for (const Token token : state.leases.HeldBy(worker.incarnation)) {
    const Attempt& attempt = state.attempts.at(token);
    if (attempt.yield.why.empty() || INLIER_BUG("yielding_attempt_wanted_again")) {
      v1::Assignment& assignment = *answer.add_desired();
      assignment = attempt.assignment;
      stops.erase(token);
      if (reported.contains(token)) continue;
      const Stage& stage = state.stages.at(attempt.stage);
      if (stage.kind == v1::EVALUATE_STAGE)
        assignment.set_spec(PackedSpec(state.stages.at(stage.train).detail().spec));
      assignment.mutable_spec()->append(PackedSpec(stage.detail().spec));
    } else if (sync == nullptr || reported.contains(token)) {
      stops[token] = attempt.yield.why;
    }
  }
  FillDataChecks(state, worker, answer);
  if (worker.keeps_artifacts) {
    for (const auto& [sha256, lost] : state.models.lost) answer.add_wanted_artifacts(sha256);
  }
  for (auto& [token, reason] : stops) {
    v1::Stop& stop = *answer.add_stop();
    stop.set_token(token);
    stop.set_reason(std::move(reason));
  }
}

v1::CoordinatorSync AnswerSync(const State& state, const WorkerEntry& worker, const v1::WorkerSync& sync,
                               bool by_stream) {
  v1::CoordinatorSync reply;
  reply.set_sync_id(sync.sync_id());
  reply.set_acknowledged_sequence(worker.sync.sequence);
  if (!state.options.database_id.empty()) reply.set_database_id(state.options.database_id);
  FillAnswer(state, worker, &sync, reply);
  const auto ms = [](Duration d) {
    return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
  };
  Duration next = state.options.lease_ttl / 3;
  // Work is pushed to a worker with a stream; the others poll for it.
  if (!by_stream && !worker.unavailable.Any() && SlotsLeased(state, worker) < worker.slots.size()) {
    next = std::min(next, kIdleSync * (1 + state.workers.connected() / kWorkersAtIdleSync));
  }
  reply.set_lease_ttl_ms(ms(state.options.lease_ttl));
  reply.set_next_sync_ms(ms(next));
  return reply;
}

}  // namespace inlier
