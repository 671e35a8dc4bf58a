// Orchestrator: taking over what the store remembers.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/orchestration/orchestrator.h"
#include "proto/spec/canonical.h"

namespace inlier {

void Orchestrator::RecoverSweep(SweepRecord record) {
  Sweep made;
  made.id = record.id;
  made.SetSpec(std::move(record.spec));
  Sweep& sweep = sweeps_.Add(std::move(made));
  sweep.state = record.state;
  sweep.points = record.points;
  sweep.kept = record.trials;
  sweep.trials_told = record.trials_told;
  sweep.trials_known = record.trials_known;
  sweep.next_point = INLIER_BUG("grid_begun_anew_after_restart") ? 0 : record.next_point;
  sweep.request_id = std::move(record.request_id);
  sweep.request_digest = std::move(record.request_digest);
  sweep.submitted = record.submitted_at;
  sweep.ended = record.ended_at;
  if (sweep.spec.has_pruning()) sweep.pruner = std::make_unique<Pruner>(sweep.spec.pruning());
  if (!sweep.request_id.empty() && !INLIER_BUG("request_id_forgotten_after_restart")) RememberRequest(sweep);
  sweep.paused = record.paused && !INLIER_BUG("pause_forgotten_after_restart");
  sweep.revision = record.revision;
  sweep.notices_told = record.notices;
  ++sweep_counts_[sweep.state];
  if (sweep.paused && sweep.state == v1::ACTIVE) ++paused_sweeps_;
  scheduler_.AddSweep(sweep.id, RulesOf(sweep));
  if (sweep.state != v1::ACTIVE) sweeps_.NoteEnd(sweep.id);
}

absl::Status Orchestrator::RecoverStage(const StageRecord& record) {
  Stage& stage = stages_[record.id];
  stage.fingerprint = record.fingerprint;
  stage.state = record.state;
  stage.steps = record.steps;
  if (record.kind == v1::EVALUATE_STAGE) {
    Follow(stage, record.train_stage);
    if (stage.steps == 0 && IsResult(stage.state)) stage.steps = stages_.at(record.train_stage).steps;
  }
  if (const StageId first = stage_of_fingerprint_.Add(stage, stages_)) {
    return absl::DataLossError(absl::StrCat("the database is damaged or was edited: ", first.ToString(),
                                            " and ", stage.id.ToString(),
                                            " have the same fingerprint; restore inlier.db from a backup"));
  }
  ++stage_counts_[{record.kind, record.state}];
  return absl::OkStatus();
}

absl::Status Orchestrator::RecoverUnfinishedStage(UnfinishedStage record, LatestSpec& latest) {
  Stage& stage = stages_.at(record.stage);
  stage.attempts = record.attempts;
  if (record.failures != StageFailures() && !INLIER_BUG("retry_counts_forgotten_after_restart"))
    stage.edit().failures = record.failures;
  stage.SetMessage(record.message);
  if (record.memory_mib > 0 || record.gpu_memory_mib > 0) {
    raised_[stage.id] = {
        .id = stage.id, .memory_mib = record.memory_mib, .gpu_memory_mib = record.gpu_memory_mib};
  }
  if (record.spec.empty() && record.spec_json.empty() && record.spec_of && record.spec_of == latest.of) {
    stage.spec = specs_.Share(latest.handle);
  } else {
    if (record.spec.empty()) {
      absl::StatusOr<v1::TrialSpec> read = TrialSpecFromJson(record.spec_json);
      if (!read.ok()) return Annotate(read.status(), absl::StrCat("while recovering ", stage.id.ToString()));
      latest.spec = *std::move(read);
      record.spec = latest.spec.SerializeAsString();
    } else if (!latest.spec.ParseFromString(record.spec)) {
      return absl::DataLossError(absl::StrCat("the stored specification of ", stage.id.ToString(),
                                              " cannot be read; restore inlier.db from a backup"));
    }
    stage.spec = specs_.Add(record.spec);
  }
  latest.of = record.spec_of;
  latest.handle = stage.spec;
  if (stage.steps == 0) stage.steps = latest.spec.training().steps();  // Stored before its steps were.
  return absl::OkStatus();
}

void Orchestrator::RecoverTrial(const TrialRecord& record) {
  Sweep& sweep = sweeps_.at(record.sweep);
  Trial& trial = trials_[record.id];
  trial.sweep = record.sweep;
  trial.withdrawn = !record.point;
  trial.point = record.point.value_or(0);
  trial.train = record.train_stage;
  trial.evaluate = record.evaluate_stage;
  trial.state = record.state;
  if (trial.withdrawn) {
    ++sweep.withdrawn;
    return;
  }
  sweep.trials.push_back(trial.id);
  if (trial.point >= sweep.next_point) sweep.ahead.insert(trial.point);
  CountTrial(sweep, std::nullopt, trial.state);
  for (const StageId id : {trial.train, trial.evaluate}) {
    if (!id) continue;
    Stage& stage = stages_.at(id);
    // Stored before its steps were.
    if (stage.steps == 0 && !stage.sweep) stage.steps = sweep.steps;
    RegisterStage(stage, sweep);
    if (!IsTerminal(trial.state) && stage.state != v1::SUCCEEDED) Need(stage, trial);
  }
}

void Orchestrator::RecoverWorker(WorkerRecord record, Moment now) {
  WorkerEntry& worker = workers_.FindOrAdd(record.incarnation);
  worker.name = std::move(record.name);
  worker.host = std::move(record.host);
  worker.version = std::move(record.version);
  worker.draining = record.draining;
  worker.held = record.held && !INLIER_BUG("drain_forgotten_after_restart");
  if (!INLIER_BUG("acknowledged_forgotten_after_restart")) worker.sequence = record.acknowledged_sequence;
  std::vector<v1::Slot> slots(record.slots);
  for (std::uint32_t i = 0; i < record.slots; ++i) {
    slots[i].set_index(i);
    if (i < record.devices.size()) slots[i].set_device(record.devices[i]);
    if (i < record.device_memory_mib.size()) slots[i].set_device_memory_mib(record.device_memory_mib[i]);
  }
  workers_.SetSlots(worker, std::move(slots), record.memory_mib);
  worker.last_seen = now.at;
  worker.last_seen_wall = record.last_seen;
  worker.last_seen_written_ms = record.last_seen.unix_ms;
  // One that was connected when the last coordinator ended has a full term to come back.
  if (record.connected) workers_.Seen(worker, now.at, record.last_seen);
}

void Orchestrator::RecoverAttempt(const LiveAttempt& record, Context& context) {
  Stage& stage = stages_.at(record.stage);
  INLIER_CHECK(stage.live() == 0 && stage.state == v1::RUNNING);
  const auto needers = stage.Needers();
  INLIER_CHECK(!needers.empty());
  stage.edit().live = record.token;
  Attempt& attempt = attempts_[record.token];
  attempt.token = record.token;
  attempt.stage = stage.id;
  // Of a database from before charges were kept: to the first sweep that needs it and has room.
  attempt.sweep = record.sweep ? record.sweep : needers.front().sweep;
  for (const auto& [id, first_trial] : needers) {
    if (record.sweep || !scheduler_.HasRoom(id)) continue;
    attempt.sweep = id;
    break;
  }
  attempt.trial = stage.FirstNeederOf(attempt.sweep).value_or(needers.front().trial);
  attempt.worker = record.worker;
  attempt.request = record.request;
  if (WorkerEntry* worker = workers_.Find(record.worker))
    worker->resources.Take(record.token, record.slot, record.request);
  attempt.started = context.now.at;
  attempt.progressed = context.now.at;
  attempt.saved = context.now.at;
  attempt.recovered = true;
  attempt.unclaimed = true;
  attempt.resumed_step = record.resume_step;
  attempt.yields = record.yields;
  if (!attempt.yields.empty()) {
    attempt.yields_until = context.now.at + kYieldTerm;
    yields_due_.emplace(attempt.yields_until, attempt.token);
  }
  if (!INLIER_BUG("final_checkpoint_forgotten_after_restart"))
    attempt.final_checkpoint = record.final_checkpoint;
  attempt.final_step = record.final_step;
  by_progress_.emplace(attempt.progressed, attempt.token);
  v1::Assignment& assignment = attempt.assignment;
  assignment.set_token(record.token);
  assignment.set_stage_id(stage.id.ToString());
  assignment.set_kind(stage.kind);
  assignment.set_slot(record.slot);
  assignment.set_attempt(record.number);
  if (stage.kind == v1::EVALUATE_STAGE) {
    assignment.set_checkpoint_sha256(HexOf(std::as_const(trained_).at(stage.train()).checkpoint));
  } else {
    SetResume(stage, assignment);
  }
  const Duration grace = INLIER_BUG("no_grace_after_restart") ? Duration(0) : options_.lease_ttl;
  leases_.Grant(record.token, record.worker, record.slot, context.now.at + grace - options_.lease_ttl);
  scheduler_.Started(attempt.sweep);
}

absl::Status Orchestrator::Recover(Snapshot snapshot, Moment now, Effects& effects) {
  INLIER_CHECK(sweeps_.empty() && workers_.all().empty());
  Context context{now, effects};
  next_sweep_ = snapshot.next_sweep;
  next_trial_ = snapshot.next_trial;
  next_stage_ = snapshot.next_stage;
  next_token_ =
      snapshot.next_token - (INLIER_BUG("token_reused_after_restart") && snapshot.next_token > 1 ? 1 : 0);
  for (RequestRow& row : snapshot.requests) requests_.Restore(std::move(row));
  for (SweepRecord& record : snapshot.sweeps) RecoverSweep(std::move(record));
  stage_of_fingerprint_.Reserve(snapshot.stages.size());
  for (const StageRecord& record : snapshot.stages) RETURN_IF_ERROR(RecoverStage(record));
  for (const TrainedRecord& record : snapshot.trained)
    trained_[record.stage].checkpoint = record.checkpoint;
  LatestSpec latest;
  for (UnfinishedStage& record : snapshot.unfinished_stages)
    RETURN_IF_ERROR(RecoverUnfinishedStage(std::move(record), latest));
  for (CheckpointRecord& checkpoint : snapshot.checkpoints) {
    if (INLIER_BUG("resume_forgotten_after_restart")) continue;
    StageDetail& detail = stages_.at(checkpoint.stage).edit();
    detail.resume_path = checkpoint.path;
    detail.resume_step = checkpoint.step;
    detail.resume_sha256 = checkpoint.sha256;
  }
  for (const TrialRecord& record : snapshot.trials) RecoverTrial(record);
  for (const UnfinishedTrial& record : snapshot.unfinished_trials) {
    Trial& trial = trials_.at(record.trial);
    trial.labels = label_pool_.Pack(LabelsFromJson(record.labels_json));
    trial.SetMessage(record.message);
  }
  for (const TrialPruning& record : snapshot.trial_prunings) {
    Trial& trial = trials_.at(record.id);
    Sweep& sweep = sweeps_.at(trial.sweep);
    SetPruning(sweep, trial, record.state);
    if (trial.withdrawn && record.state == TrialPruningState::kPruned) ++sweep.withdrawn_pruned;
  }
  for (const PruningDecision& decision : snapshot.pruning_decisions)
    if (Sweep& sweep = sweeps_.at(decision.sweep);
        sweep.pruner && !INLIER_BUG("verdicts_forgotten_after_restart"))
      sweep.pruner->Record(decision);
  for (WorkerRecord& record : snapshot.workers) RecoverWorker(std::move(record), now);
  for (const LiveAttempt& record : snapshot.live_attempts) RecoverAttempt(record, context);
  for (const UnfinishedStage& record : snapshot.unfinished_stages)
    if (Stage& stage = stages_.at(record.stage); !IsTerminal(stage.state)) RefreshReadiness(context, stage);
  std::vector<SweepId> active;
  sweeps_.ForEach([&active](const Sweep& sweep) {
    if (sweep.state == v1::ACTIVE) active.push_back(sweep.id);
  });
  for (const SweepId id : active) {
    Sweep& sweep = sweeps_.at(id);
    if (!sweep.Exhausted()) {
      RETURN_IF_ERROR(Annotate(MakeExpander(sweep), absl::StrCat("while recovering sweep ", id.ToString())));
    }
    context.settle.insert(id);
  }
  effects.log.push_back(absl::StrCat("recovered sweeps=", sweeps_.size(), " trials=", trials_.size(),
                                     " stages=", stages_.size(), " live_attempts=", attempts_.size(),
                                     " workers=", workers_.all().size(), " next_token=", next_token_));
  Finish(context);
  return absl::OkStatus();
}

}  // namespace inlier
