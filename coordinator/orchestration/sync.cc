// Orchestrator: the workers' protocol. Level-triggered: what a worker says replaces what it said before, and
// every reply tells the whole of what it should do, so that a lost, doubled or late message heals at the next
// one.
#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "coordinator/orchestration/orchestrator.h"
#include "proto/spec/measurements.h"

namespace inlier {
namespace {

constexpr int kSlotsMax = 1024;
// The store's integers end here; above it memory and store would differ.
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::int64_t>::max();
constexpr int kAttemptsMax = 4096;
constexpr int kNameBytesMax = 256;
constexpr int kSiteBytesMax = 512;
constexpr std::size_t kMessageBytesMax = 4096;
constexpr std::size_t kLogLineBytesMax = 65536;
// A worker with a free slot asks again so soon; with more workers each asks less often.
constexpr Duration kIdleSync = std::chrono::milliseconds(200);
constexpr int kWorkersAtIdleSync = 20;
// How often "last seen" is written for a worker of which nothing else changes.
constexpr std::int64_t kLastSeenWrittenMs = 60'000;

// A path inside the attempt's own folder: relative, without "..", and of characters that a person can see.
bool IsInnerPath(const std::string& path) {
  if (path.empty() || path.size() > 512 || path[0] == '/' || !IsUtf8(path)) return false;
  if (std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return false;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

// What a trial or a worker says, as it is stored: UTF-8, whatever they send.
std::string Shortened(const std::string& text, std::size_t bytes) {
  const std::string_view part = CutUtf8(text, bytes);
  std::string shown = ReplaceInvalidUtf8(part);
  if (part.size() < text.size()) shown += " ...";
  return shown;
}

// The texts of `message` likewise.
template <typename Message>
Message AsUtf8(Message message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->is_repeated() || field->type() != google::protobuf::FieldDescriptor::TYPE_STRING) continue;
    std::string scratch;
    const std::string& text = reflection.GetStringReference(message, field, &scratch);
    if (!IsUtf8(text)) reflection.SetString(&message, field, ReplaceInvalidUtf8(text));
  }
  return message;
}

// Whether `batch` may wait in the committer's bulk lane.
bool IsBulk(const ChangeBatch& batch) {
  return std::all_of(batch.changes.begin(), batch.changes.end(), [](const Change& change) {
    return std::holds_alternative<MeasurementRow>(change) || std::holds_alternative<LogRow>(change) ||
           std::holds_alternative<WorkerAcknowledged>(change);
  });
}

}  // namespace

absl::Status Orchestrator::CheckSync(const v1::WorkerSync& sync) {
  if (sync.version() != options_.version) {
    ++stats_.syncs_refused;
    return absl::FailedPreconditionError(absl::StrCat("worker ", sync.name(), " runs inlier ", sync.version(),
                                                      " and this coordinator inlier ", options_.version,
                                                      "; install the same version on both"));
  }
  std::string problem;
  std::set<std::uint32_t> indices;
  for (const v1::Slot& slot : sync.slots()) indices.insert(slot.index());
  if (sync.incarnation().empty() || sync.incarnation().size() > kNameBytesMax) {
    problem = "incarnation must be a fresh uuid of the worker process";
  } else if (sync.name().size() > kNameBytesMax || sync.host().size() > kNameBytesMax) {
    problem = absl::StrCat("name and host may have ", kNameBytesMax, " bytes");
  } else if (sync.slots_size() > kSlotsMax) {
    problem = absl::StrCat(sync.slots_size(), " slots; at most ", kSlotsMax, " are allowed");
  } else if (static_cast<int>(indices.size()) != sync.slots_size()) {
    problem = "two slots have the same index";
  } else if (!indices.empty() && *indices.rbegin() >= indices.size()) {
    problem = "slots are numbered from 0 without gaps";
  } else if (sync.attempts_size() > kAttemptsMax) {
    problem = absl::StrCat(sync.attempts_size(), " attempts; at most ", kAttemptsMax, " are allowed");
  }
  if (problem.empty()) return absl::OkStatus();
  ++stats_.syncs_refused;
  return absl::InvalidArgumentError(absl::StrCat("sync of worker ", sync.name(), ": ", problem));
}

void Orchestrator::CommitWorker(Context& context, const WorkerEntry& worker) {
  WorkerRow row{.incarnation = worker.incarnation,
                .name = worker.name,
                .host = worker.host,
                .version = worker.version,
                .slots = static_cast<std::uint32_t>(worker.slots.size()),
                .devices = {},
                .draining = worker.draining,
                .connected = worker.connected,
                .last_seen = worker.last_seen_wall,
                .held = worker.held};
  for (const v1::Slot& slot : worker.slots) row.devices.push_back(slot.device());
  context.out.changes.Add(std::move(row));
  context.out.workers.insert(worker.incarnation);
}

void Orchestrator::UpdateWorker(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync,
                                bool is_new) {
  const bool joined = !worker.connected || is_new;
  const bool changed = joined || worker.draining != sync.draining() || worker.name != sync.name() ||
                       worker.host != sync.host() ||
                       context.now.wall.unix_ms - worker.last_seen_written_ms >= kLastSeenWrittenMs;
  const bool told_now = !worker.slots_told;
  if (told_now) {
    workers_.SetSlots(worker, {sync.slots().begin(), sync.slots().end()}, sync.memory_mib());
    worker.slots_told = true;
  }
  worker.name = sync.name();
  worker.host = sync.host();
  worker.version = sync.version();
  worker.draining = sync.draining();
  worker.keeps_artifacts = sync.keeps_artifacts();
  if (INLIER_BUG("drain_ended_by_the_next_sync")) worker.held = false;
  worker.sync_id = sync.sync_id();
  if (sync.events_thinned() > worker.events_thinned) {
    stats_.events_thinned += sync.events_thinned() - worker.events_thinned;
    worker.events_thinned = sync.events_thinned();
  }
  workers_.Seen(worker, context.now.at, context.now.wall);
  if (!INLIER_BUG("lease_not_renewed")) leases_.Renew(worker.incarnation, context.now.at);
  if (joined) {
    context.out.log.push_back(absl::StrCat("worker_joined worker=", worker.name,
                                           " incarnation=", worker.incarnation, " host=", worker.host,
                                           " slots=", worker.slots.size()));
  }
  if (changed) {
    worker.last_seen_written_ms = context.now.wall.unix_ms;
    CommitWorker(context, worker);
  }
  if (!told_now || (worker.resources.memory_mib() == 0 && worker.resources.gpus().empty())) return;
  WorkerCapacity capacity{.incarnation = worker.incarnation, .memory_mib = worker.resources.memory_mib()};
  for (const v1::Slot& slot : worker.slots)
    capacity.device_memory_mib.push_back(worker.resources.gpu_memory_mib(slot.index()));
  context.out.changes.Add(std::move(capacity));
}

void Orchestrator::TakeReports(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync) {
  worker.occupied.clear();
  std::map<Token, std::string> reasons;
  for (const v1::AttemptReport& report : sync.attempts()) {
    worker.occupied.insert(report.slot());
    const auto known = worker.stop_reasons.find(report.token());
    if (known != worker.stop_reasons.end()) reasons.insert(*known);
    const auto at = attempts_.find(report.token());
    if (at == attempts_.end() || at->second.worker != worker.incarnation) continue;
    Attempt& attempt = at->second;
    if (attempt.unclaimed) {
      attempt.unclaimed = false;
      ++stats_.attempts_adopted;
      context.out.log.push_back(absl::StrCat("attempt_adopted trial=", attempt.trial.ToString(),
                                             " stage=", attempt.stage.ToString(), " token=", attempt.token,
                                             " worker=", worker.name));
    }
    const v1::Progress& progress = report.progress();
    // One that stands still does not stall: that is its worker's doing, and it goes on.
    if (report.suspended()) NoteProgress(context, attempt);
    if (progress.phase() != attempt.progress.phase() || progress.step() != attempt.progress.step()) {
      NoteProgress(context, attempt);
      Touch(stages_.at(attempt.stage));
      attempt.progress = AsUtf8(progress);
    }
  }
  worker.stop_reasons = std::move(reasons);
  ReleaseGone(worker, &sync);
}

void Orchestrator::TakeCheckpoint(Context& context, Attempt& attempt, const v1::CheckpointSaved& saved,
                                  WallTime at) {
  Stage& stage = stages_.at(attempt.stage);
  const bool sound = stage.kind == v1::TRAIN_STAGE && saved.step() <= kNumberMax &&
                     (saved.final() || IsInnerPath(saved.path())) &&
                     (IsSha256Hex(saved.sha256()) || (!saved.final() && saved.sha256().empty()));
  if (!sound) {
    ++stats_.events_invalid;
    context.out.log.push_back(
        absl::StrCat("event_invalid token=", attempt.token, " reason=\"checkpoint path, digest or step\""));
    return;
  }
  const std::string path =
      saved.final() ? absl::StrCat("artifacts/", saved.sha256(), ".safetensors")
                    : absl::StrCat("attempts/", stage.id.ToString(), "/", attempt.token, "/", saved.path());
  if (!INLIER_BUG("checkpoint_not_stored"))
    context.out.changes.Add(CheckpointRow{.token = attempt.token,
                                          .step = saved.step(),
                                          .path = path,
                                          .sha256 = saved.sha256(),
                                          .bytes = saved.bytes(),
                                          .final = saved.final(),
                                          .at = at});
  attempt.saved = context.now.at;
  if (const WorkerEntry* worker = workers_.Find(attempt.worker)) stage.edit().holder = worker->number;
  if (saved.final()) {
    attempt.final_checkpoint = saved.sha256();
    attempt.final_step = saved.step();
  } else if (saved.step() >= stage.detail().resume_step) {
    stage.edit().resume_path = path;
    stage.edit().resume_step = saved.step();
    stage.edit().resume_sha256 = saved.sha256();
  }
}

void Orchestrator::TakePeak(Context& context, Attempt& attempt, const v1::Outcome& outcome) {
  attempt.gpu_out_of_memory = outcome.gpu_out_of_memory();
  if (!outcome.has_peak_memory_mib() && !outcome.has_peak_gpu_memory_mib()) return;
  AttemptPeak peak{.token = attempt.token};
  if (outcome.has_peak_memory_mib()) peak.memory_mib = std::min(outcome.peak_memory_mib(), kNumberMax);
  if (outcome.has_peak_gpu_memory_mib())
    peak.gpu_memory_mib = std::min(outcome.peak_gpu_memory_mib(), kNumberMax);
  attempt.peak_memory_mib = peak.memory_mib.value_or(0);
  attempt.peak_gpu_memory_mib = peak.gpu_memory_mib.value_or(0);
  context.out.changes.Add(peak);
}

void Orchestrator::TakeOutcome(Context& context, Attempt& live, const v1::Outcome& outcome) {
  TakePeak(context, live, outcome);
  const Attempt attempt = live;  // EndAttempt forgets it.
  Stage& stage = stages_.at(attempt.stage);
  const std::string message = Shortened(outcome.message(), kMessageBytesMax);
  const auto failed = [&](v1::FailureClass failure, const std::string& why) {
    EndAttempt(context, attempt.token, v1::FAILED, failure, why, "ended");
    AttemptFailed(context, stage, attempt, failure, why);
  };
  switch (outcome.kind()) {
    case v1::Outcome::FAILED:
      if (!attempt.yields.empty() && outcome.failure() == v1::PREEMPTED) {
        Preempted(context, attempt, attempt.yields);
        return;
      }
      failed(outcome.has_failure() ? outcome.failure() : v1::CRASHED, message);
      return;
    case v1::Outcome::DIVERGED:
      EndAttempt(context, attempt.token, v1::DIVERGED, std::nullopt, message, "ended");
      StageDiverged(context, stage);
      return;
    case v1::Outcome::SUCCEEDED:
      break;
  }
  const bool train = stage.kind == v1::TRAIN_STAGE;
  if (train && attempt.final_checkpoint.empty()) {
    failed(v1::CRASHED, "it said SUCCEEDED without a final checkpoint");
    return;
  }
  const double seconds = ToSeconds(context.now.at - attempt.started);
  double units = 1;
  if (train) {
    const std::uint64_t from = attempt.resumed_step;
    units = attempt.final_step > from ? static_cast<double>(attempt.final_step - from) : 0;
    if (seconds > 0 && units > 0 && !attempt.recovered) {
      context.out.train_steps_per_second.push_back(units / seconds);
    }
  }
  if (!attempt.recovered) {
    for (const Needer& needer : stage.Needers()) {
      StageTally& tally = TallyOf(sweeps_.at(needer.sweep), stage);
      tally.seconds += seconds;
      tally.units += units;
    }
  }
  EndAttempt(context, attempt.token, v1::SUCCEEDED, std::nullopt, message, "ended");
  StageSucceeded(context, stage, attempt);
}

void Orchestrator::TakeEvent(Context& context, const WorkerEntry& worker, const v1::NumberedEvent& numbered) {
  ++stats_.events_received;
  auto live = attempts_.find(numbered.token());
  if (INLIER_BUG("token_check_dropped") && live == attempts_.end()) {
    live = std::find_if(attempts_.begin(), attempts_.end(), [&](const auto& entry) {
      return entry.second.assignment.stage_id() == numbered.stage_id();
    });
  }
  if (live == attempts_.end() ||
      (live->second.worker != worker.incarnation && !INLIER_BUG("token_check_dropped"))) {
    ++stats_.events_stale;
    return;
  }
  Attempt& attempt = live->second;
  const v1::TrialEvent& event = numbered.event();
  const WallTime at = event.has_time_unix_ms() ? WallTime{event.time_unix_ms()} : context.now.wall;
  NoteProgress(context, attempt);
  switch (event.event_case()) {
    case v1::TrialEvent::kStarted:
      attempt.resumed_step = event.started().resumed_step();
      context.out.changes.Add(
          AttemptInfo{.token = attempt.token, .started = AsUtf8(event.started()), .at = at});
      return;
    case v1::TrialEvent::kProgress:
      attempt.progress = AsUtf8(event.progress());
      Touch(stages_.at(attempt.stage));
      return;
    case v1::TrialEvent::kMeasurement: {
      const v1::MeasurementPoint& point = event.measurement();
      if (FindMeasurement(point.name()) == nullptr || point.site().size() > kSiteBytesMax ||
          !IsUtf8(point.site())) {
        ++stats_.events_invalid;
        context.out.log.push_back(absl::StrCat("event_invalid token=", attempt.token,
                                               " reason=\"measurement ", Shortened(point.name(), 64),
                                               " is not known\""));
        return;
      }
      ++stats_.measurements;
      context.out.changes.Add(MeasurementRow{.token = attempt.token,
                                             .name = point.name(),
                                             .step = point.step(),
                                             .value = point.value(),
                                             .site = point.site(),
                                             .final = point.final(),
                                             .at = at});
      JudgePoint(context, attempt, point);  // May end the attempt.
      return;
    }
    case v1::TrialEvent::kCheckpoint:
      TakeCheckpoint(context, attempt, event.checkpoint(), at);
      return;
    case v1::TrialEvent::kOutcome:
      TakeOutcome(context, attempt, event.outcome());
      return;
    case v1::TrialEvent::kLog:
      context.out.changes.Add(
          LogRow{.token = attempt.token, .text = Shortened(event.log().text(), kLogLineBytesMax), .at = at});
      return;
    case v1::TrialEvent::EVENT_NOT_SET:
      ++stats_.events_invalid;
      return;
  }
}

void Orchestrator::TakeEvents(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync) {
  // A worker sends on before it has an answer. When an earlier sync was not taken (no space, another
  // process), this one must not be, either: acknowledging it would acknowledge what is missing. The worker
  // sees that and begins again.
  if (sync.events_after() > worker.sequence && !INLIER_BUG("gap_in_events_ignored")) return;
  const std::uint64_t before = worker.sequence;
  for (const v1::NumberedEvent& event : sync.events()) {
    if (event.sequence() <= worker.sequence && !INLIER_BUG("event_applied_twice")) {
      ++stats_.events_doubled;
      continue;
    }
    if (event.sequence() > kNumberMax) {
      ++stats_.events_invalid;
      continue;
    }
    worker.sequence = event.sequence();
    TakeEvent(context, worker, event);
  }
  if (worker.sequence == before) return;
  if (INLIER_BUG("acknowledged_too_far")) ++worker.sequence;
  if (INLIER_BUG("acknowledgement_not_stored")) return;
  context.out.changes.Add(WorkerAcknowledged{.incarnation = worker.incarnation, .sequence = worker.sequence});
}

void Orchestrator::FillSlots(Context& context, WorkerEntry& worker) {
  if (!worker.TakesWork() && !(INLIER_BUG("draining_worker_gets_work") && worker.draining)) return;
  for (const v1::Slot& slot : worker.slots) {
    if (scheduler_.Idle()) return;
    if (!IsFree(worker, slot.index())) continue;
    if (const std::optional<Scheduler::Pick> pick = PickFor(worker, slot.index()))
      Grant(context, worker, slot.index(), *pick);
  }
}

v1::CoordinatorSync Orchestrator::Reply(const WorkerEntry& worker, const v1::WorkerSync& sync,
                                        bool by_stream) const {
  v1::CoordinatorSync reply;
  reply.set_sync_id(sync.sync_id());
  reply.set_acknowledged_sequence(worker.sequence);
  const std::vector<Token> held = leases_.HeldBy(worker.incarnation);
  std::set<Token> known;  // It runs them: it need not be told again what they are.
  for (const v1::AttemptReport& report : sync.attempts()) known.insert(report.token());
  for (const Token token : held) {
    const Attempt& attempt = attempts_.at(token);
    if (attempt.yields.empty()) Desire(attempt, known.contains(token), *reply.add_desired());
  }
  if (INLIER_BUG("lease_of_another_told") && !attempts_.empty())
    Desire(attempts_.begin()->second, /*known=*/false, *reply.add_desired());
  for (const v1::AttemptReport& report : sync.attempts()) {
    const bool is_held = std::find(held.begin(), held.end(), report.token()) != held.end();
    if (is_held && attempts_.at(report.token()).yields.empty()) continue;
    v1::Stop* stop = reply.add_stop();
    stop->set_token(report.token());
    if (is_held) {
      stop->set_reason(attempts_.at(report.token()).yields);
      continue;
    }
    const auto reason = worker.stop_reasons.find(report.token());
    stop->set_reason(reason == worker.stop_reasons.end()
                         ? "fenced: another attempt or none has the right to run"
                         : reason->second);
  }
  const auto ms = [](Duration d) {
    return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
  };
  Duration next = options_.lease_ttl / 3;
  // Who listens is told of work; the others ask for it.
  if (!by_stream && worker.TakesWork() && held.size() < worker.slots.size()) {
    next = std::min(next, kIdleSync * (1 + workers_.connected() / kWorkersAtIdleSync));
  }
  reply.set_lease_ttl_ms(ms(options_.lease_ttl));
  reply.set_next_sync_ms(ms(next));
  return reply;
}

absl::StatusOr<v1::CoordinatorSync> Orchestrator::OnSync(const v1::WorkerSync& sync, Moment now,
                                                         SyncLimits limits, Effects& effects) {
  if (absl::Status status = CheckSync(sync); !status.ok()) return status;
  Context context{now, effects};
  const bool is_new = workers_.Find(sync.incarnation()) == nullptr;
  WorkerEntry& worker = workers_.FindOrAdd(sync.incarnation());
  worker.listening = worker.listening && INLIER_BUG("listens_while_its_sync_is_answered");
  RefreshOffer(worker);
  // A sync that arrives twice or after a later one says nothing new, except for events that the later one
  // left out.
  const bool fresh = is_new || sync.sync_id() > worker.sync_id || INLIER_BUG("stale_sync_accepted");
  if (fresh) {
    UpdateWorker(context, worker, sync, is_new);
    TakeReports(context, worker, sync);
  }
  if (limits.take_events) TakeEvents(context, worker, sync);
  if (fresh) EndForgottenYields(context, worker, sync);
  SettleSweeps(context);
  if (fresh && limits.grant_leases) FillSlots(context, worker);
  Finish(context);
  if (!effects.changes.empty()) {
    effects.workers.insert(worker.incarnation);
    if (IsBulk(effects.changes)) effects.changes.lane = Lane::kBulk;
  }
  return Reply(worker, sync, limits.by_stream);
}

}  // namespace inlier
