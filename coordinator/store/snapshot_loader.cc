#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/store/snapshot.h"
#include "coordinator/store/statement.h"
#include "coordinator/store/sweep_json.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

// REQUIRES: the table's CHECK admits only names of the enum.
v1::TrialState StateNamed(std::string_view name) {
  switch (name.empty() ? '\0' : name.front()) {
    case 'S':
      return v1::SUCCEEDED;
    case 'D':
      return v1::DIVERGED;
    case 'F':
      return v1::FAILED;
    case 'C':
      return v1::CANCELLED;
    default:
      return v1::PENDING;  // RUNNING is not stored: MarkRunning.
  }
}

// REQUIRES: as StateNamed.
StageFate FateNamed(std::string_view name) {
  switch (name.empty() ? '\0' : name.front()) {
    case 'N':
      return StageFate::kNoModel;
    case 'F':
      return StageFate::kFreed;
    case 'E':
      return StageFate::kEmpty;
    default:
      return StageFate::kWhole;
  }
}

std::int64_t OneInteger(SQLite::Database& database, const char* sql) {
  return database.execAndGet(sql).getInt64();
}

absl::Status LoadSweeps(SQLite::Database& database, Snapshot& snapshot) {
  Statement rows(
      database,
      "SELECT id, spec, state, points, trials, trials_known, next_point, request_id, "
      "request_digest, submitted_ms, ended_ms, paused, revision, "
      "(SELECT coalesce(max(notice), 0) FROM event WHERE event.sweep = sweep.id AND notice IS NOT NULL), "
      "trials_at_submit, owner, again, coalesce(attempt_ms, 0), coalesce(gpu_ms, 0), "
      "coalesce(charged_gpu_ms, 0), coalesce(at_ms, submitted_ms), coalesce(log_lines, 0), archived, tags, "
      "note, removed_ms, freed "
      "FROM sweep LEFT JOIN sweep_usage ON sweep_usage.sweep = sweep.id ORDER BY id");
  while (rows.Next()) {
    SweepRow& sweep = snapshot.sweeps.emplace_back();
    std::string spec, state, tags;
    rows.Read(sweep.id, spec, state, sweep.points, sweep.trials, sweep.trials_known, sweep.next_point,
              sweep.request_id, sweep.request_digest, sweep.submitted_at, sweep.ended_at, sweep.paused,
              sweep.revision, sweep.notices, sweep.trials_at_submit, sweep.owner, sweep.again,
              sweep.usage.attempt_ms, sweep.usage.gpu_ms, sweep.usage.charged_gpu_ms, sweep.usage.at,
              sweep.usage.log_lines, sweep.order.archived, tags, sweep.order.note, sweep.order.removed,
              sweep.order.freed);
    for (const nlohmann::json& tag : nlohmann::json::parse(tags, nullptr, /*allow_exceptions=*/false)) {
      if (tag.is_string()) sweep.order.tags.push_back(tag.get<std::string>());
    }
    sweep.usage.id = sweep.id;
    ASSIGN_OR_RETURN(sweep.spec, SweepSpecFromJson(spec));
    v1::SweepState_Parse(state, &sweep.state);
  }
  return absl::OkStatus();
}

absl::Status LoadData(SQLite::Database& database, Snapshot& snapshot) {
  Statement rows(database, "SELECT id, names, digest, worker, at_ms FROM data ORDER BY id");
  while (rows.Next()) {
    DataRow& row = snapshot.data.emplace_back();
    std::string_view digest;
    rows.Read(row.id, row.names, digest, row.worker, row.at);
    if (digest.empty()) continue;
    row.digest = ParseSha256Hex(digest);
    if (!row.digest) return Damaged(row.id.ToString(), " has no SHA-256 as its digest");
  }
  return absl::OkStatus();
}

// Reads the specification of each training that has its result and an evaluation without one.
void LoadSpecsOfTrained(SQLite::Database& database, std::span<StageRow> stages) {
  Statement specs(database, "SELECT spec FROM stage WHERE id = ?1");
  for (const StageRow& stage : stages) {
    if (!stage.train_stage || IsResult(stage.state)) continue;
    const auto train = std::lower_bound(stages.begin(), stages.end(), stage.train_stage,
                                        [](const StageRow& row, StageId id) { return row.id < id; });
    if (train == stages.end() || train->id != stage.train_stage || !train->spec_json.empty()) continue;
    specs.Restart(train->id);
    if (specs.Next()) specs.Read(train->spec_json);
  }
}

absl::Status LoadStages(SQLite::Database& database, Snapshot& snapshot) {
  const StageId last_attempted(OneInteger(database, "SELECT coalesce(max(stage), 0) FROM attempt"));
  Statement attempts(database, "SELECT count(*) FROM attempt WHERE stage = ?1");
  Statement rows(database,
                 "SELECT id, kind, fingerprint, train_stage, state, steps, checkpoint, crashes, "
                 "out_of_memory, losses, invalid, message, memory_mib, gpu_memory_mib, spec, data, ran_ms, "
                 "start_stage, fate FROM stage ORDER BY id");
  const auto lacks = [](const StageRow& stage, const char* what) {
    return Damaged(stage.id.ToString(), " has no SHA-256 as its ", what);
  };
  while (rows.Next()) {
    StageRow& stage = snapshot.stages.emplace_back();
    std::string_view kind, fingerprint, state, checkpoint, message, spec, fate;
    StageFailures failures;
    std::uint64_t memory_mib = 0, gpu_memory_mib = 0;
    std::int64_t ran_ms = 0;
    rows.Read(stage.id, kind, fingerprint, stage.train_stage, state, stage.steps, checkpoint,
              failures.crashes, failures.out_of_memory, failures.losses, failures.invalid, message,
              memory_mib, gpu_memory_mib, spec, stage.data, ran_ms, stage.start_stage, fate);
    stage.fate = FateNamed(fate);
    stage.kind = kind.starts_with('T') ? v1::TRAIN_STAGE : v1::EVALUATE_STAGE;
    if (fingerprint.size() != stage.fingerprint.size()) return lacks(stage, "fingerprint");
    std::copy(fingerprint.begin(), fingerprint.end(), stage.fingerprint.begin());
    stage.state = StateNamed(state);
    if (stage.state == v1::SUCCEEDED && stage.kind == v1::TRAIN_STAGE) {
      stage.checkpoint = ParseSha256Hex(checkpoint);
      if (!stage.checkpoint) return lacks(stage, "checkpoint");
    }
    if (IsResult(stage.state)) continue;
    stage.failures = failures;
    stage.ran_ms = ran_ms;
    stage.message = message;
    stage.memory_mib = memory_mib;
    stage.gpu_memory_mib = gpu_memory_mib;
    stage.spec_json = spec;
    if (stage.id > last_attempted) continue;
    attempts.Restart(stage.id);
    if (attempts.Next()) attempts.Read(stage.attempts);
  }
  LoadSpecsOfTrained(database, snapshot.stages);
  return absl::OkStatus();
}

// RUNNING is not stored: a live attempt implies it.
void MarkRunning(Snapshot& snapshot) {
  std::unordered_set<StageId> running;
  for (const AttemptRow& attempt : snapshot.live_attempts) running.insert(attempt.stage);
  if (running.empty()) return;
  for (StageRow& stage : snapshot.stages) {
    if (stage.state == v1::PENDING && running.contains(stage.id)) stage.state = v1::RUNNING;
  }
  for (TrialRow& trial : snapshot.trials) {
    if (trial.state != v1::PENDING) continue;
    if (running.contains(trial.train_stage) || running.contains(trial.evaluate_stage))
      trial.state = v1::RUNNING;
  }
}

void LoadTrials(SQLite::Database& database, Snapshot& snapshot) {
  Statement rows(database,
                 "SELECT id, sweep, point, train_stage, evaluate_stage, state, message, labels, known FROM "
                 "trial ORDER BY id");
  while (rows.Next()) {
    TrialRow& trial = snapshot.trials.emplace_back();
    std::int64_t point = 0;
    std::string_view state, message, labels;
    rows.Read(trial.id, trial.sweep, point, trial.train_stage, trial.evaluate_stage, state, message, labels,
              trial.known);
    if (point >= 0) trial.point = static_cast<std::uint64_t>(point);
    trial.state = StateNamed(state);
    if (IsResult(trial.state)) continue;
    trial.message = message;
    trial.labels_json = labels;
  }
}

void LoadLiveAttempts(SQLite::Database& database, Snapshot& snapshot) {
  Statement rows(database,
                 "SELECT attempt.token, stage, number, worker, slot, resume_step, started_ms, attempt.sweep, "
                 "gpu_thousandths, memory_mib, gpu_memory_mib, yields, artifact.sha256, artifact.step, "
                 "gpu_share_thousandths, timed_out, further_slots "
                 "FROM attempt LEFT JOIN artifact ON artifact.id = (SELECT max(id) FROM artifact AS saved "
                 "WHERE saved.token = attempt.token AND saved.final = 1) "
                 "WHERE ended_ms IS NULL ORDER BY +attempt.token");
  while (rows.Next()) {
    AttemptRow& attempt = snapshot.live_attempts.emplace_back();
    ResourceRequest& request = attempt.request;
    std::string further_slots;
    rows.Read(attempt.token, attempt.stage, attempt.number, attempt.worker, attempt.slot, attempt.resume_step,
              attempt.started_at, attempt.sweep, request.gpu_thousandths, request.memory_mib,
              request.gpu_memory_mib, attempt.yields, attempt.final_checkpoint, attempt.final_step,
              attempt.gpu_share_thousandths, attempt.timed_out, further_slots);
    for (const nlohmann::json& slot : nlohmann::json::parse(further_slots, nullptr, false)) {
      if (slot.is_number_unsigned()) attempt.further_slots.push_back(slot.get<std::uint32_t>());
    }
    request.processes = 1 + static_cast<std::uint32_t>(attempt.further_slots.size());
  }
}

// Reads, for each training without a result, the latest checkpoints that it can resume from (a final one
// holds no optimizer state).
void LoadCheckpoints(SQLite::Database& database, Snapshot& snapshot) {
  Statement resumable(database,
                      absl::StrCat("SELECT artifact.token, step, path, sha256, bytes FROM attempt JOIN "
                                   "artifact ON artifact.token = attempt.token WHERE attempt.stage = ?1 AND "
                                   "final = 0 AND NOT ",
                                   kWasPassedOver, " ORDER BY step DESC, artifact.id DESC LIMIT ?2"));
  for (const StageRow& stage : snapshot.stages) {
    if (stage.attempts == 0) continue;  // A stage with a result, too; an evaluation has no artifact.
    resumable.Restart(stage.id, kResumePointsMax);
    while (resumable.Next()) {
      CheckpointRow& row = snapshot.checkpoints.emplace_back();
      resumable.Read(row.token, row.step, row.path, row.sha256, row.bytes);
      row.stage = stage.id;
    }
  }
}

absl::Status LoadSearchPoints(SQLite::Database& database, Snapshot& snapshot) {
  Statement rows(database,
                 "SELECT sweep, number, point_values, told, at_ms FROM search_point ORDER BY sweep, number");
  while (rows.Next()) {
    SearchPointRow& row = snapshot.search_points.emplace_back();
    std::string values, told;
    rows.Read(row.sweep, row.number, values, told, row.at);
    ASSIGN_OR_RETURN(row.point, SearchPointFromJson(values, told));
  }
  return absl::OkStatus();
}

void LoadPruning(SQLite::Database& database, Snapshot& snapshot) {
  Statement decisions(database,
                      "SELECT sweep, stage, token, bracket, rung, step, value, verdict = 'PRUNE', others, "
                      "threshold, at_ms FROM pruning_decision ORDER BY id");
  while (decisions.Next()) {
    PruningDecision& row = snapshot.pruning_decisions.emplace_back();
    decisions.Read(row.sweep, row.stage, row.token, row.bracket, row.rung, row.step, row.value, row.prune,
                   row.others, row.threshold, row.at);
  }
  Statement trials(database, "SELECT trial, state = 'PRUNED' FROM trial_pruning ORDER BY trial");
  while (trials.Next()) {
    TrialPruning& trial = snapshot.trial_prunings.emplace_back();
    bool pruned = false;
    trials.Read(trial.id, pruned);
    trial.state = pruned ? TrialPruningState::kPruned : TrialPruningState::kKept;
  }
}

absl::Status LoadWorkers(SQLite::Database& database, Snapshot& snapshot) {
  Statement rows(database,
                 "SELECT incarnation, name, host, version, slots, draining, connected, last_seen_ms, "
                 "acknowledged_sequence, held, memory_mib, used, devices, device_memory_mib FROM worker "
                 "ORDER BY rowid");
  while (rows.Next()) {
    WorkerRow& worker = snapshot.workers.emplace_back();
    std::string_view devices_json, memory_json;
    rows.Read(worker.incarnation, worker.name, worker.host, worker.version, worker.slots, worker.draining,
              worker.connected, worker.last_seen, worker.acknowledged_sequence, worker.held,
              worker.memory_mib, worker.used, devices_json, memory_json);
    const auto devices = nlohmann::json::parse(devices_json, nullptr, /*allow_exceptions=*/false);
    if (!devices.is_array()) return Damaged("the devices of worker ", worker.incarnation, " are not a list");
    for (const nlohmann::json& device : devices)
      worker.devices.push_back(device.is_string() ? device.get<std::string>() : device.dump());
    const auto memory = nlohmann::json::parse(memory_json, nullptr, /*allow_exceptions=*/false);
    for (const nlohmann::json& mib : memory.is_array() ? memory : nlohmann::json::array())
      worker.device_memory_mib.push_back(mib.is_number_unsigned() ? mib.get<std::uint64_t>() : 0);
  }
  return absl::OkStatus();
}

void LoadRequests(SQLite::Database& database, Snapshot& snapshot) {
  Statement rows(database, "SELECT number, id, method, digest, answer, at_ms FROM request ORDER BY number");
  while (rows.Next()) {
    RequestRow& row = snapshot.requests.emplace_back();
    rows.Read(row.number, row.id, row.method, row.digest, row.answer, row.at);
  }
}

}  // namespace

absl::StatusOr<Snapshot> LoadSnapshot(SQLite::Database& database) {
  Snapshot snapshot;
  RETURN_IF_ERROR(LoadSweeps(database, snapshot));
  RETURN_IF_ERROR(LoadData(database, snapshot));
  RETURN_IF_ERROR(LoadStages(database, snapshot));
  LoadTrials(database, snapshot);
  LoadLiveAttempts(database, snapshot);
  RETURN_IF_ERROR(LoadSearchPoints(database, snapshot));
  LoadPruning(database, snapshot);
  LoadRequests(database, snapshot);
  RETURN_IF_ERROR(LoadWorkers(database, snapshot));
  LoadCheckpoints(database, snapshot);
  MarkRunning(snapshot);
  snapshot.next_analysis =
      static_cast<std::uint64_t>(OneInteger(database, "SELECT 1 + coalesce(max(id), 0) FROM analysis"));
  snapshot.next_token =
      static_cast<Token>(OneInteger(database,
                                    "SELECT max((SELECT value FROM meta WHERE key = 'next_token'), "
                                    "1 + (SELECT coalesce(max(token), 0) FROM attempt))"));
  RETURN_IF_ERROR(CheckSnapshot(snapshot));
  return snapshot;
}

}  // namespace inlier
