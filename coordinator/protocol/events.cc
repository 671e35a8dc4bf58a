#include "coordinator/protocol/events.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/deliberate_bug.h"
#include "base/digest.h"
#include "base/time.h"
#include "base/utf8.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/data/data_binding.h"
#include "coordinator/logs/logs.h"
#include "coordinator/pruning/pruning.h"
#include "coordinator/scheduling/job_ends.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/reported_text.h"
#include "coordinator/state/transitions.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/program/measurement_list.h"
#include "spec/schema/limits.h"

namespace inlier {
namespace {

// The store's integers end here; above it memory and store would differ.
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::int64_t>::max();
constexpr Duration kModelWanted = std::chrono::minutes(10);
constexpr std::uint64_t kRanMsMax = std::chrono::milliseconds(std::chrono::years(10)).count();
constexpr std::size_t kLostModelsMax = 100;

// A path inside the attempt's own folder: relative, without "..", and of visible characters.
bool IsInnerPath(const std::string& path) {
  if (path.size() > 512 || !IsUtf8(path) || std::ranges::any_of(path, absl::ascii_iscntrl)) return false;
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

void TakeCheckpoint(Context& context, Attempt& attempt, const v1::CheckpointSaved& saved, WallTime at) {
  State& state = context.state;
  Stage& stage = state.stages.at(attempt.stage);
  const bool sound = stage.kind == v1::TRAIN_STAGE && saved.step() <= kNumberMax &&
                     (saved.final() || IsInnerPath(saved.path())) &&
                     (IsSha256Hex(saved.sha256()) || (!saved.final() && saved.sha256().empty()));
  if (!sound) {
    ++state.stats.events_invalid;
    context.Log("event_invalid token=", attempt.token, " reason=\"checkpoint path, digest or step\"");
    return;
  }
  const std::string path =
      absl::StrCat("attempts/", stage.id.ToString(), "/", attempt.token, "/", saved.path());
  if (!INLIER_BUG("checkpoint_not_stored"))
    context.out.changes.Add(CheckpointRow{.token = attempt.token,
                                          .step = saved.step(),
                                          .path = saved.final() ? "" : path,
                                          .sha256 = saved.sha256(),
                                          .bytes = saved.bytes(),
                                          .final = saved.final(),
                                          .at = at});
  attempt.times.saved = context.now.at;
  if (const WorkerEntry* worker = state.workers.Find(attempt.worker)) stage.edit().holder = worker->number;
  if (saved.final()) {
    attempt.final_checkpoint.digest = saved.sha256();
    attempt.final_checkpoint.step = saved.step();
  } else {
    stage.edit().AddResumePoint({.path = path, .step = saved.step(), .sha256 = saved.sha256()});
  }
}

void TakePeak(Context& context, Attempt& attempt, const v1::Outcome& outcome) {
  attempt.memory.gpu_ran_out = outcome.gpu_out_of_memory();
  if (!outcome.has_peak_memory_mib() && !outcome.has_peak_gpu_memory_mib()) return;
  AttemptPeak peak{.token = attempt.token};
  if (outcome.has_peak_memory_mib()) peak.memory_mib = std::min(outcome.peak_memory_mib(), kNumberMax);
  if (outcome.has_peak_gpu_memory_mib())
    peak.gpu_memory_mib = std::min(outcome.peak_gpu_memory_mib(), kNumberMax);
  attempt.memory.peak_mib = peak.memory_mib.value_or(0);
  attempt.memory.peak_gpu_mib = peak.gpu_memory_mib.value_or(0);
  context.out.changes.Add(peak);
}

void TakeStarted(Context& context, WorkerEntry& worker, Attempt& attempt, const v1::Started& started,
                 WallTime at) {
  attempt.resumed.step = started.resumed_step();
  context.out.changes.Add(AttemptInfo{.token = attempt.token, .started = AsUtf8(started), .at = at});
  // On other data it proves nothing about checkpoints.
  if (!TakeDigest(context, attempt, worker, started.dataset_digest())) return;
  if (Stage& stage = context.state.stages.at(attempt.stage);
      attempt.resumed.step < stage.detail().resume_step()) {
    stage.edit().ResumedAt(attempt.resumed.step);
    attempt.resumed.trouble =
        absl::StrCat("attempt ", attempt.assignment.attempt(), " began at step ", attempt.resumed.step,
                     ", not at ", attempt.assignment.resume_step(), started.has_resume_trouble() ? ": " : "",
                     Shortened(started.resume_trouble(), Limits::kMessageBytesMax));
    NoticeOfStage(context, stage, "checkpoint_passed_over", attempt.resumed.trouble, attempt.token);
  }
}

// False: no attempt on its data has reported a digest.
bool KnowsItsData(const State& state, const Attempt& attempt) {
  return state.data.IsKnown(state.stages.BoundFor(state.stages.at(attempt.stage)).data);
}

// Workers are asked for a copy of a model that the bucket has lost, until the one that missed it has loaded it or
// the time is over. That others have a result says nothing of the bucket: they may have a copy of their own.
void NoteModel(State& state, const Attempt& attempt, const v1::Outcome& outcome, Timestamp now) {
  const std::string& sha256 = attempt.assignment.checkpoint_sha256();
  if (sha256.empty()) return;
  if (outcome.kind() != v1::Outcome::FAILED) {
    const auto lost = state.models.lost.find(sha256);
    if (lost != state.models.lost.end() && lost->second.finder == attempt.worker)
      state.models.lost.erase(lost);
  } else if (outcome.model_is_lost() && state.models.lost.size() < kLostModelsMax) {
    state.models.lost[sha256] = {.until = now + kModelWanted, .finder = attempt.worker};
  }
}

void TakeOutcome(Context& context, WorkerEntry& worker, Attempt& live, const v1::Outcome& outcome) {
  State& state = context.state;
  if (!KnowsItsData(state, live) && outcome.kind() != v1::Outcome::FAILED &&
      !TakeDigest(context, live, worker, ""))
    return;
  TakePeak(context, live, outcome);
  // How long it ran before this process was started, its worker alone knows.
  if (live.recovered && outcome.has_ran_ms())
    live.times.began =
        context.now.at - std::chrono::milliseconds(std::min<std::uint64_t>(outcome.ran_ms(), kRanMsMax));
  NoteModel(state, live, outcome, context.now.at);
  const Attempt attempt = live;  // EndAttempt forgets it.
  Stage& stage = state.stages.at(attempt.stage);
  const std::string message = Shortened(outcome.message().empty() ? live.resumed.trouble : outcome.message(),
                                        Limits::kMessageBytesMax);
  const auto failed = [&](v1::FailureClass failure, std::string why) {
    ForEachFeature(&Feature::attempt_fails, context, attempt, failure, why);
    EndAttempt(context, attempt.token, v1::FAILED, failure, why, "ended");
    AttemptFailed(context, stage, attempt, failure, why);
  };
  if (outcome.kind() == v1::Outcome::FAILED) {
    // A machine that cannot start it, and a worker whose job ends or is preempted, are not the trial's fault: others decide
    // how often that happens.
    if (outcome.not_started() ||
        (outcome.failure() == v1::PREEMPTED && (!attempt.yield.why.empty() || !worker.job.empty()))) {
      Yielded(context, attempt, attempt.yield.why.empty() ? message : attempt.yield.why);
    } else {
      // What it reported as its data was taken: no other worker is better.
      const bool other = outcome.failure() == v1::OTHER_DATA;
      failed(other ? v1::INVALID_SPEC : outcome.has_failure() ? outcome.failure() : v1::CRASHED, message);
    }
    return;
  }
  if (outcome.kind() == v1::Outcome::DIVERGED) {
    EndAttempt(context, attempt.token, v1::DIVERGED, std::nullopt, message, "ended");
    StageDiverged(context, stage);
    return;
  }
  const bool train = stage.kind == v1::TRAIN_STAGE;
  if (train && attempt.final_checkpoint.digest.empty()) {
    failed(v1::CRASHED, "it reported SUCCEEDED without a final checkpoint");
    return;
  }
  if (!attempt.recovered) {
    const double seconds = ToSeconds(context.now.at - attempt.times.started);
    const std::uint64_t from = std::min(attempt.resumed.step, attempt.final_checkpoint.step);
    const double units = train ? static_cast<double>(attempt.final_checkpoint.step - from) : 1;
    if (train && seconds > 0 && units > 0) context.out.train_steps_per_second.push_back(units / seconds);
    for (const Dependent& dependent : stage.Dependents()) {
      StageTally& tally = state.sweeps.at(dependent.sweep).TallyOf(stage);
      tally.seconds += seconds;
      tally.units += units;
    }
    if (!train) NoteTimeNeeded(context, stage, context.now.at - attempt.times.started);
  }
  EndAttempt(context, attempt.token, v1::SUCCEEDED, std::nullopt, message, "ended");
  StageSucceeded(context, stage, attempt);
}

// The model that the attempt measures, see SweepValue.
std::string SettingOf(const Stage& stage) {
  v1::TrialSpec spec;
  const bool quantized = stage.kind == v1::EVALUATE_STAGE &&
                         spec.ParseFromString(PackedSpec(stage.detail().spec)) && spec.has_quantization();
  const v1::QuantizationSpec& quantization = spec.quantization();
  return quantized ? SettingText(quantization.has_weights() ? quantization.weights().bits() : 0,
                                 quantization.has_activations() ? quantization.activations().bits() : 0)
                   : SettingText(0, 0);
}

// Kept by the attempt and by the sweeps that need it, for users who watch. Points of single modules are left out.
void NoteLivePoint(State& state, Attempt& attempt, const MeasurementInfo& info,
                   const v1::MeasurementPoint& point) {
  if (!point.site().empty()) return;
  attempt.latest.Take(info, point.step(), point.value());
  if (!SweepValues::Has(info)) return;
  const Stage& stage = state.stages.at(attempt.stage);
  if (attempt.setting.empty()) attempt.setting = SettingOf(stage);
  for (const Dependent& dependent : stage.Dependents())
    state.sweeps.at(dependent.sweep).values.Take(info, attempt.setting, point.value());
}

// The measurement of that name, if the trials of the attempt's sweeps report it.
const MeasurementInfo* FindMeasurement(const State& state, Attempt& attempt, const std::string& name) {
  if (attempt.measurements == nullptr) {
    const auto sweeps = state.stages.at(attempt.stage).Dependents();
    attempt.measurements =
        sweeps.empty() ? MeasurementList::OfModels() : state.sweeps.at(sweeps.front().sweep).measurements;
  }
  return attempt.measurements->Find(name);
}

void TakeMeasurement(Context& context, Attempt& attempt, const v1::MeasurementPoint& point, WallTime at) {
  OrchestratorStats& stats = context.state.stats;
  const MeasurementInfo* const info = FindMeasurement(context.state, attempt, point.name());
  if (info == nullptr || point.site().size() > Limits::kSiteBytesMax || !IsUtf8(point.site())) {
    ++stats.events_invalid;
    context.Log("event_invalid token=", attempt.token, " reason=\"measurement ", Shortened(point.name(), 64),
                " is not known\"");
    return;
  }
  ++stats.measurements;
  context.out.changes.Add(MeasurementRow{.token = attempt.token,
                                         .name = point.name(),
                                         .step = point.step(),
                                         .value = point.value(),
                                         .site = point.site(),
                                         .final = point.final(),
                                         .at = at});
  NoteLivePoint(context.state, attempt, *info, point);
  JudgePoint(context, attempt, point);  // May end the attempt.
}

void TakeEvent(Context& context, WorkerEntry& worker, const v1::NumberedEvent& numbered) {
  State& state = context.state;
  ++state.stats.events_received;
  auto live = state.attempts.find(numbered.token());
  if (INLIER_BUG("token_check_dropped") && live == state.attempts.end()) {
    live = std::ranges::find_if(state.attempts, [&](const auto& entry) {
      return entry.second.assignment.stage_id() == numbered.stage_id();
    });
  }
  if (live == state.attempts.end() ||
      (live->second.worker != worker.incarnation && !INLIER_BUG("token_check_dropped")) ||
      // Kept by a worker of the coordinator whose database was here before.
      (numbered.has_database_id() && numbered.database_id() != state.options.database_id) ||
      // Its token was given again by a database that was restored from a backup.
      (!numbered.stage_id().empty() && numbered.stage_id() != live->second.assignment.stage_id())) {
    ++state.stats.events_stale;
    const v1::Outcome& outcome = numbered.event().outcome();
    if (numbered.event().has_outcome() && outcome.kind() != v1::Outcome::FAILED) {
      context.Log("result_refused token=", numbered.token(), " worker=", worker.name,
                  " outcome=", v1::Outcome::Kind_Name(outcome.kind()),
                  " reason=\"the token is no longer live\"");
    }
    return;
  }
  Attempt& attempt = live->second;
  const v1::TrialEvent& event = numbered.event();
  const WallTime at = event.has_time_unix_ms() ? WallTime{event.time_unix_ms()} : context.now.wall;
  NoteProgress(context, attempt);
  switch (event.event_case()) {
    case v1::TrialEvent::kStarted:
      TakeStarted(context, worker, attempt, event.started(), at);  // May end the attempt.
      return;
    case v1::TrialEvent::kProgress:
      attempt.progress = AsUtf8(event.progress());
      Touch(state, state.stages.at(attempt.stage));
      return;
    case v1::TrialEvent::kMeasurement:
      TakeMeasurement(context, attempt, event.measurement(), at);
      return;
    case v1::TrialEvent::kCheckpoint:
      TakeCheckpoint(context, attempt, event.checkpoint(), at);
      return;
    case v1::TrialEvent::kOutcome:
      TakeOutcome(context, worker, attempt, event.outcome());
      return;
    case v1::TrialEvent::kLog:
      TakeLogLine(context, attempt, event.log(), at);
      return;
    case v1::TrialEvent::EVENT_NOT_SET:
      ++state.stats.events_invalid;
      return;
  }
}

}  // namespace

void TakeEvents(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync) {
  State& state = context.state;
  // A worker sends on before it has an answer. When an earlier sync was not taken (no space, another
  // process), this one must not be, either: acknowledging it would acknowledge the missing events. The worker
  // detects that and sends them again.
  if (sync.events_after() > worker.sync.sequence && !INLIER_BUG("gap_in_events_ignored")) return;
  const std::uint64_t before = worker.sync.sequence;
  for (const v1::NumberedEvent& event : sync.events()) {
    if (event.sequence() <= worker.sync.sequence && !INLIER_BUG("event_applied_twice")) {
      ++state.stats.events_doubled;
      continue;
    }
    if (event.sequence() > kNumberMax) {
      ++state.stats.events_invalid;
      continue;
    }
    worker.sync.sequence = event.sequence();
    TakeEvent(context, worker, event);
  }
  if (worker.sync.sequence == before) return;
  context.out.changes.Add(
      WorkerAcknowledged{.incarnation = worker.incarnation, .sequence = worker.sync.sequence});
}

Feature LostModels() {
  return {.due =
              [](const State& state) {
                std::optional<Timestamp> due;
                for (const auto& [sha256, lost] : state.models.lost) due = Earlier(due, lost.until);
                return due;
              },
          .act =
              [](Context& context) {
                std::erase_if(context.state.models.lost,
                              [&](const auto& lost) { return lost.second.until <= context.now.at; });
              }};
}

}  // namespace inlier
