#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/decisions/orchestrator.h"
#include "coordinator/scheduling/grant.h"
#include "coordinator/scheduling/live_attempts.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/scheduling/sources.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/transitions.h"

namespace inlier {
namespace {

void RecoverSweep(Context& context, SweepRow record) {
  State& state = context.state;
  const Moment now = context.now;
  Sweep made;
  made.id = record.id;
  made.SetSpec(std::move(record.spec));
  made.owner = std::move(record.owner);
  made.order = std::move(record.order);
  Sweep& sweep = state.sweeps.Add(std::move(made));
  sweep.state = record.state;
  sweep.expansion.points = record.points;
  sweep.expansion.kept = record.trials;
  sweep.submission.trials = record.trials_at_submit;
  sweep.submission.known = record.trials_known;
  sweep.expansion.next_point = record.next_point;
  sweep.submission.request_id = std::move(record.request_id);
  sweep.submission.digest = std::move(record.request_digest);
  sweep.submission.at = record.submitted_at;
  sweep.began = now.at - std::chrono::milliseconds(
                             std::max<std::int64_t>(0, now.wall.unix_ms - sweep.submission.at.unix_ms));
  sweep.time.stored = record.usage;
  sweep.time.log_lines = record.usage.log_lines;
  sweep.ended = record.ended_at;
  if (sweep.spec.has_pruning()) sweep.pruning.pruner = std::make_unique<Pruner>(sweep.spec.pruning());
  if (!sweep.submission.request_id.empty()) state.sweeps.RememberRequest(sweep);
  sweep.paused = record.paused;
  sweep.submission.again = record.again;
  sweep.bound.since = state.next_token;  // Digests found before are not known any more.
  sweep.revision = record.revision;
  sweep.notice_log.last = record.notices;
  if (sweep.state == v1::ACTIVE) state.active.insert(sweep.id);
  ++state.counts.sweeps[sweep.state];
  if (sweep.paused && sweep.state == v1::ACTIVE) ++state.counts.paused_sweeps;
  state.ready.AddSweep(sweep.id, RulesOf(state, sweep));
  ForEachFeature(&Feature::sweep_began, context, sweep);
}

absl::Status RecoverStage(State& state, StageRow record) {
  Stage made;
  made.id = record.id;
  made.kind = record.kind;
  made.fingerprint = record.fingerprint;
  made.state = record.state;
  if (!record.spec_json.empty()) made.edit().spec = std::move(record.spec_json);
  made.attempts = record.attempts;
  made.steps = record.steps;
  made.train = record.train_stage;
  made.start = record.start_stage;
  made.data = record.data;
  made.fate = record.fate;
  if (made.fate == StageFate::kFreed) state.models.freed.insert(made.id);
  if (record.failures != StageFailures()) made.edit().failures = record.failures;
  if (record.ran_ms > 0) made.edit().ran_ms = record.ran_ms;
  made.SetMessage(record.message);
  if (made.train) {
    Stage& train = state.stages.at(made.train);
    train.evaluations.push_back(made.id);
    if (!IsResult(made.state)) ++train.open_evaluations;
  }
  if (const auto [stage, added] = state.stages.Add(std::move(made)); !added) {
    return absl::DataLossError(absl::StrCat("the database is damaged or was edited: ", stage->id.ToString(),
                                            " and ", record.id.ToString(),
                                            " have the same fingerprint; restore inlier.db from a backup"));
  }
  ++state.counts.stages[{record.kind, record.state}];
  if (record.checkpoint) state.models.trained[record.id].checkpoint = *record.checkpoint;
  if (record.memory_mib > 0 || record.gpu_memory_mib > 0) {
    state.raised_memory[record.id] = {
        .id = record.id, .memory_mib = record.memory_mib, .gpu_memory_mib = record.gpu_memory_mib};
  }
  return absl::OkStatus();
}

void RecoverTrial(State& state, TrialRow record) {
  Sweep& sweep = state.sweeps.at(record.sweep);
  Trial& trial = state.trials.Add(Trial(record.id));
  trial.sweep = record.sweep;
  trial.withdrawn = !record.point;
  trial.point = record.point.value_or(0);
  trial.train = record.train_stage;
  trial.evaluate = record.evaluate_stage;
  trial.state = record.state;
  trial.known = record.known;
  trial.labels_json = std::move(record.labels_json);
  trial.SetMessage(record.message);
  for (const StageId id : {trial.train, trial.evaluate}) {
    const DataId data = id ? state.stages.at(id).data : DataId();
    if (data && state.data.IsKnown(data)) sweep.bound.of_source.emplace(state.data.SourceOf(data), data);
  }
  if (trial.withdrawn) {
    ++sweep.withdrawn;
    return;
  }
  sweep.trials.push_back(trial.id);
  if (trial.known) ++sweep.known;
  if (trial.point >= sweep.expansion.next_point) sweep.expansion.ahead.insert(trial.point);
  CountTrial(state, sweep, std::nullopt, trial.state);
  for (const StageId id : {trial.train, trial.evaluate}) {
    if (!id) continue;
    Stage& stage = state.stages.at(id);
    RegisterStage(state, stage, sweep);
    if (!IsTerminal(trial.state) && stage.state != v1::SUCCEEDED) AddDependent(state, stage, trial);
  }
  if (IsTerminal(trial.state)) return;
  for (const StageId id : OpenSources(state, state.stages.at(trial.train)))
    AddDependent(state, state.stages.at(id), trial);
}

void RecoverWorker(State& state, WorkerRow record, Moment now) {
  WorkerEntry& worker = state.workers.FindOrAdd(record.incarnation);
  worker.name = std::move(record.name);
  worker.host = std::move(record.host);
  worker.version = std::move(record.version);
  worker.unavailable.draining = record.draining;
  worker.unavailable.held = record.held;
  worker.used = record.used;
  worker.sync.sequence = record.acknowledged_sequence;
  std::vector<v1::Slot> slots(record.slots);
  for (std::uint32_t i = 0; i < record.slots; ++i) {
    slots[i].set_index(i);
    if (i < record.devices.size()) slots[i].set_device(record.devices[i]);
    if (i < record.device_memory_mib.size()) slots[i].set_device_memory_mib(record.device_memory_mib[i]);
  }
  state.workers.SetSlots(worker, std::move(slots), record.memory_mib);
  worker.seen.at = now.at;
  worker.seen.wall = record.last_seen;
  worker.seen.written_ms = record.last_seen.unix_ms;
  // One that was connected when the last coordinator ended has a full term to come back.
  if (record.connected)
    state.workers.Seen(worker, now.at, record.last_seen);
  else
    state.workers.NoteSilent(worker);
}

void RecoverAttempt(const AttemptRow& record, Context& context) {
  State& state = context.state;
  Stage& stage = state.stages.at(record.stage);
  INLIER_CHECK(stage.live() == 0 && stage.state == v1::RUNNING);
  const auto dependents = stage.Dependents();
  INLIER_CHECK(!dependents.empty());
  Attempt attempt;
  attempt.token = record.token;
  attempt.stage = stage.id;
  attempt.sweep = record.sweep;
  attempt.trial = stage.FirstDependentOf(attempt.sweep).value_or(dependents.front().trial);
  attempt.worker = record.worker;
  attempt.request = record.request;
  attempt.gpu_thousandths = record.gpu_share_thousandths;
  std::vector<std::uint32_t> slots = {record.slot};
  slots.insert(slots.end(), record.further_slots.begin(), record.further_slots.end());
  attempt.times.started = attempt.times.progressed = attempt.times.saved = context.now.at;
  attempt.times.leased = record.started_at;
  attempt.times.began = context.now.at - std::chrono::milliseconds(std::max<std::int64_t>(
                                             0, context.now.wall.unix_ms - record.started_at.unix_ms));
  attempt.recovered = true;
  attempt.unclaimed = true;
  attempt.resumed.step = record.resume_step;
  attempt.yield.why = record.yields;
  attempt.yield.timed_out = record.timed_out;
  attempt.final_checkpoint.digest = record.final_checkpoint;
  attempt.final_checkpoint.step = record.final_step;
  SetAssignment(state, stage, slots, record.number, attempt);
  const Duration grace = INLIER_BUG("no_grace_after_restart") ? Duration(0) : state.options.lease_ttl;
  BeginAttempt(context, std::move(attempt), slots, context.now.at + grace - state.options.lease_ttl);
}

}  // namespace

absl::Status Recover(Context& context, Snapshot snapshot) {
  State& state = context.state;
  INLIER_CHECK(state.sweeps.size() == 0 && state.workers.all().empty());
  state.next_token =
      snapshot.next_token - (INLIER_BUG("token_reused_after_restart") && snapshot.next_token > 1 ? 1 : 0);
  for (RequestRow& row : snapshot.requests) state.requests.Remember(std::move(row));
  state.next_analysis = snapshot.next_analysis;
  for (SweepRow& record : snapshot.sweeps) RecoverSweep(context, std::move(record));
  for (SearchPointRow& record : snapshot.search_points)
    *state.sweeps.at(record.sweep).expansion.asked.Add() = std::move(record.point);
  for (DataRow& record : snapshot.data) state.data.Add(std::move(record));
  state.stages.Reserve(snapshot.stages.size());
  for (StageRow& record : snapshot.stages) RETURN_IF_ERROR(RecoverStage(state, std::move(record)));
  for (CheckpointRow& checkpoint : snapshot.checkpoints) {
    Stage& stage = state.stages.at(checkpoint.stage);
    stage.edit().resume_points.push_back({.path = std::move(checkpoint.path),
                                          .step = checkpoint.step,
                                          .sha256 = std::move(checkpoint.sha256)});
    NoteInterruption(state, stage);
  }
  for (TrialRow& record : snapshot.trials) RecoverTrial(state, std::move(record));
  for (const TrialPruning& record : snapshot.trial_prunings) {
    Trial& trial = state.trials.at(record.id);
    Sweep& sweep = state.sweeps.at(trial.sweep);
    SetPruning(sweep, trial, record.state);
    if (trial.withdrawn && record.state == TrialPruningState::kPruned) ++sweep.pruning.withdrawn;
  }
  for (const PruningDecision& decision : snapshot.pruning_decisions) {
    if (const auto& pruner = state.sweeps.at(decision.sweep).pruning.pruner) pruner->Record(decision);
  }
  for (WorkerRow& record : snapshot.workers) RecoverWorker(state, std::move(record), context.now);
  for (const AttemptRow& record : snapshot.live_attempts) RecoverAttempt(record, context);
  for (const StageRow& record : snapshot.stages) {
    if (!IsTerminal(record.state)) RefreshReadiness(context, state.stages.at(record.id));
  }
  for (const Sweep& sweep : state.sweeps)
    ForEachFeature(&Feature::sweep_changed, context, state.sweeps.at(sweep.id));
  for (const SweepId id : state.active) {
    // Its grid is made when the coordinator serves calls.
    if (!state.sweeps.at(id).Exhausted()) state.expanding.insert(id);
    context.settle.insert(id);
  }
  context.Log("recovered sweeps=", state.sweeps.size(), " trials=", state.trials.size(),
              " stages=", state.stages.size(), " live_attempts=", state.attempts.size(),
              " workers=", state.workers.all().size(), " next_token=", state.next_token);
  return absl::OkStatus();
}

}  // namespace inlier
