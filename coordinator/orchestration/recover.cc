// Orchestrator: taking over what the store remembers.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/orchestration/orchestrator.h"
#include "proto/spec/canonical.h"

namespace inlier {

void Orchestrator::RecoverSweep(SweepRecord record) {
  Sweep& sweep = sweeps_[record.id];
  sweep.id = record.id;
  sweep.spec = std::move(record.spec);
  sweep.request = RequestOf(sweep.spec.resources());
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
  if (sweep.spec.has_pruning()) sweep.pruner.emplace(sweep.spec.pruning());
  if (!sweep.request_id.empty() && !INLIER_BUG("request_id_forgotten_after_restart"))
    sweep_of_request_.emplace(sweep.request_id, sweep.id);
  sweep.paused = record.paused && !INLIER_BUG("pause_forgotten_after_restart");
  sweep.revision = record.revision;
  sweep.notices_told = record.notices;
  ++sweep_counts_[sweep.state];
  if (sweep.paused && sweep.state == v1::ACTIVE) ++paused_sweeps_;
  scheduler_.AddSweep(sweep.id, RulesOf(sweep));
}

absl::Status Orchestrator::RecoverStage(StageRecord record) {
  Stage& stage = stages_[record.id];
  stage.id = record.id;
  stage.kind = record.kind;
  stage.state = record.state;
  if (!INLIER_BUG("retry_counts_forgotten_after_restart")) stage.failures = record.failures;
  stage.attempts = record.attempts;
  stage.checkpoint = std::move(record.checkpoint);
  if (!IsResult(stage.state)) stage.message = std::move(record.message);  // Kept of failures only.
  if (record.train_stage) {
    stage.train = *record.train_stage;
    stages_.at(stage.train).dependents.push_back(stage.id);
  }
  if (!record.spec.empty() || !record.spec_json.empty()) {
    v1::TrialSpec spec;
    if (record.spec.empty()) {
      absl::StatusOr<v1::TrialSpec> read = TrialSpecFromJson(record.spec_json);
      if (!read.ok()) return Annotate(read.status(), absl::StrCat("while recovering ", stage.id.ToString()));
      spec = *std::move(read);
      record.spec = spec.SerializeAsString();
    } else if (!spec.ParseFromString(record.spec)) {
      return absl::DataLossError(absl::StrCat("the stored specification of ", stage.id.ToString(),
                                              " cannot be read; restore inlier.db from a backup"));
    }
    stage.spec = std::move(record.spec);
    stage.steps = spec.training().steps();
    stage.weight = std::max(1.0, static_cast<double>(stage.steps));
  } else if (record.trained_steps > 0) {
    stage.weight = static_cast<double>(record.trained_steps);
  }
  if (!IsResult(stage.state) && (record.memory_mib > 0 || record.gpu_memory_mib > 0)) {
    raised_[stage.id] = {
        .id = stage.id, .memory_mib = record.memory_mib, .gpu_memory_mib = record.gpu_memory_mib};
  }
  const std::optional<Digest> digest = ParseSha256Hex(record.fingerprint);
  if (!digest) {
    return absl::DataLossError(absl::StrCat("the database is damaged or was edited: ", stage.id.ToString(),
                                            " has no SHA-256 as its fingerprint; restore inlier.db from a "
                                            "backup"));
  }
  if (const auto [first, is_new] = stage_of_fingerprint_.emplace(*digest, stage.id); !is_new) {
    return absl::DataLossError(
        absl::StrCat("the database is damaged or was edited: ", first->second.ToString(), " and ",
                     stage.id.ToString(), " have the same fingerprint; restore inlier.db from a backup"));
  }
  ++stage_counts_[{stage.kind, stage.state}];
  return absl::OkStatus();
}

void Orchestrator::RecoverTrial(TrialRecord record) {
  Sweep& sweep = sweeps_.at(record.sweep);
  Trial& trial = trials_[record.id];
  trial.id = record.id;
  trial.sweep = record.sweep;
  trial.withdrawn = !record.point;
  trial.point = record.point.value_or(0);
  trial.train = record.train_stage.value_or(StageId());
  trial.evaluate = record.evaluate_stage.value_or(StageId());
  trial.state = record.state;
  trial.message = std::move(record.message);
  trial.labels = LabelsFromJson(record.labels_json);
  if (trial.withdrawn) {
    ++sweep.withdrawn;
    return;
  }
  sweep.trials.push_back(trial.id);
  if (trial.point >= sweep.next_point) sweep.ahead.insert(trial.point);
  CountTrial(sweep, std::nullopt, trial.state);
  const double steps = std::max(1.0, static_cast<double>(sweep.spec.base().training().steps()));
  for (const StageId id : {trial.train, trial.evaluate}) {
    if (!id) continue;
    Stage& stage = stages_.at(id);
    RegisterStage(stage, sweep, stage.kind == v1::TRAIN_STAGE ? steps : steps * kEvaluateWeight);
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
  INLIER_CHECK(stage.live == 0 && stage.state == v1::RUNNING);
  INLIER_CHECK(!stage.needed_by.empty());
  stage.live = record.token;
  Attempt& attempt = attempts_[record.token];
  attempt.token = record.token;
  attempt.stage = stage.id;
  // Of a database from before charges were kept: to the first sweep that needs it and has room.
  attempt.sweep = record.sweep ? record.sweep : stage.needed_by.begin()->first;
  for (const auto& [id, needing] : stage.needed_by) {
    if (record.sweep || !scheduler_.HasRoom(id)) continue;
    attempt.sweep = id;
    break;
  }
  const auto needing = stage.needed_by.find(attempt.sweep);
  attempt.trial = *(needing == stage.needed_by.end() ? stage.needed_by.begin() : needing)->second.begin();
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
    assignment.set_checkpoint_sha256(stages_.at(stage.train).checkpoint);
  } else if (!stage.resume_path.empty()) {
    assignment.set_resume_path(stage.resume_path);
    assignment.set_resume_step(stage.resume_step);
    if (!stage.resume_sha256.empty()) assignment.set_resume_sha256(stage.resume_sha256);
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
  stage_of_fingerprint_.reserve(snapshot.stages.size());
  for (RequestRow& row : snapshot.requests) requests_.Restore(std::move(row));
  for (SweepRecord& record : snapshot.sweeps) RecoverSweep(std::move(record));
  for (StageRecord& record : snapshot.stages) RETURN_IF_ERROR(RecoverStage(std::move(record)));
  for (CheckpointRecord& checkpoint : snapshot.checkpoints) {
    Stage& stage = stages_.at(checkpoint.stage);
    if (INLIER_BUG("resume_forgotten_after_restart")) continue;
    stage.resume_path = checkpoint.path;
    stage.resume_step = checkpoint.step;
    stage.resume_sha256 = checkpoint.sha256;
  }
  for (const StageRecord& record : snapshot.stages) {
    Stage& stage = stages_.at(record.id);
    if (stage.kind == v1::EVALUATE_STAGE && stage.weight == 0) stage.weight = stages_.at(stage.train).weight;
    if (stage.kind == v1::EVALUATE_STAGE) stage.weight *= kEvaluateWeight;
  }
  for (TrialRecord& record : snapshot.trials) RecoverTrial(std::move(record));
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
  for (const StageRecord& record : snapshot.stages)
    if (!IsTerminal(record.state)) RefreshReadiness(context, stages_.at(record.id));
  for (auto& [id, sweep] : sweeps_) {
    if (sweep.state != v1::ACTIVE) continue;
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
