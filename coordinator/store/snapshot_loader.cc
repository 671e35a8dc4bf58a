#include "coordinator/store/snapshot_loader.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/store/row_reader.h"
#include "coordinator/store/snapshot_check.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/store/trial_state.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

WallTime Time(const SQLite::Column& column) { return {column.getInt64()}; }

// REQUIRES: the table's CHECK admits only names of the enum.
v1::TrialState State(std::string_view name) {
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

std::size_t RowsOf(SQLite::Database& database, const char* table) {
  RowReader rows(database, table);
  return rows.Next() ? static_cast<std::size_t>(std::clamp<std::int64_t>(rows.Integer(0), 0, 1 << 24)) : 0;
}

absl::Status LoadSweeps(SQLite::Database& database, Snapshot& snapshot) {
  SQLite::Statement rows(database,
                         "SELECT id, spec, state, points, trials, trials_known, next_point, request_id, "
                         "request_digest, submitted_ms, "
                         "ended_ms, paused, revision, "
                         "(SELECT coalesce(max(notice), 0) FROM event WHERE event.sweep = sweep.id AND "
                         "notice IS NOT NULL), trials_at_submit FROM sweep ORDER BY id");
  while (rows.executeStep()) {
    SweepRow& sweep = snapshot.sweeps.emplace_back();
    sweep.id = SweepId(rows.getColumn(0).getInt64());
    ASSIGN_OR_RETURN(sweep.spec, SweepSpecFromJson(rows.getColumn(1).getString()));
    v1::SweepState_Parse(rows.getColumn(2).getText(), &sweep.state);
    sweep.points = rows.getColumn(3).getInt64();
    sweep.trials = rows.getColumn(4).getInt64();
    sweep.trials_known = rows.getColumn(5).getInt64();
    sweep.next_point = rows.getColumn(6).getInt64();
    sweep.request_id = rows.getColumn(7).getString();
    sweep.request_digest = rows.getColumn(8).getString();
    sweep.submitted_at = Time(rows.getColumn(9));
    if (!rows.getColumn(10).isNull()) sweep.ended_at = Time(rows.getColumn(10));
    sweep.paused = rows.getColumn(11).getInt() == 1;
    sweep.revision = rows.getColumn(12).getInt64();
    sweep.notices = rows.getColumn(13).getInt64();
    sweep.trials_at_submit = rows.getColumn(14).getInt64();
  }
  return absl::OkStatus();
}

// Of each training that has its result and an evaluation without one: its specification, too.
void LoadSpecsOfTrained(SQLite::Database& database, std::span<StageRow> stages) {
  RowReader specs(database, "SELECT spec FROM stage WHERE id = ?1");
  for (const StageRow& stage : stages) {
    if (!stage.train_stage || IsResult(stage.state)) continue;
    const auto train =
        std::lower_bound(stages.begin(), stages.end(), stage.train_stage,
                         [](const StageRow& row, StageId id) { return row.id.value() < id.value(); });
    if (train == stages.end() || train->id != stage.train_stage || !train->spec_json.empty()) continue;
    specs.Restart(train->id.value());
    if (specs.Next()) train->spec_json = specs.Text(0);
  }
}

absl::Status LoadStages(SQLite::Database& database, Snapshot& snapshot) {
  snapshot.stages.reserve(RowsOf(database, "SELECT coalesce(max(id), 0) FROM stage"));
  RowReader last(database, "SELECT coalesce(max(stage), 0) FROM attempt");
  const std::int64_t last_attempted = last.Next() ? last.Integer(0) : 0;
  RowReader attempts(database, "SELECT count(*) FROM attempt WHERE stage = ?1");
  RowReader rows(database,
                 "SELECT id, kind, fingerprint, train_stage, state, steps, checkpoint, crashes, "
                 "out_of_memory, losses, invalid, message, memory_mib, gpu_memory_mib, spec FROM stage "
                 "ORDER BY id");
  const auto number = [&rows](int column) { return static_cast<std::uint32_t>(rows.Integer(column)); };
  const auto digest = [&rows](int column, const char* what) -> absl::StatusOr<Digest> {
    const std::optional<Digest> read = ParseSha256Hex(rows.Text(column));
    if (read) return *read;
    return absl::DataLossError(
        absl::StrCat("the database is damaged or was edited: ", StageId(rows.Integer(0)).ToString(),
                     " has no SHA-256 as its ", what, "; restore inlier.db from a backup"));
  };
  while (rows.Next()) {
    StageRow& stage = snapshot.stages.emplace_back();
    stage.id = StageId(rows.Integer(0));
    stage.kind = rows.Text(1).starts_with('T') ? v1::TRAIN_STAGE : v1::EVALUATE_STAGE;
    ASSIGN_OR_RETURN(stage.fingerprint, digest(2, "fingerprint"));
    stage.train_stage = StageId(rows.Integer(3));
    stage.state = State(rows.Text(4));
    stage.steps = number(5);
    if (stage.state == v1::SUCCEEDED && stage.kind == v1::TRAIN_STAGE) {
      ASSIGN_OR_RETURN(stage.checkpoint, digest(6, "checkpoint"));
    }
    if (IsResult(stage.state)) continue;
    stage.failures = {number(7), number(8), number(9), number(10)};
    stage.message = rows.Text(11);
    stage.memory_mib = static_cast<std::uint64_t>(rows.Integer(12));
    stage.gpu_memory_mib = static_cast<std::uint64_t>(rows.Integer(13));
    stage.spec_json = rows.Text(14);
    if (stage.id.value() > last_attempted) continue;
    attempts.Restart(stage.id.value());
    if (attempts.Next()) stage.attempts = static_cast<std::uint32_t>(attempts.Integer(0));
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
  snapshot.trials.reserve(RowsOf(database, "SELECT coalesce(max(id), 0) FROM trial"));
  RowReader rows(
      database,
      "SELECT id, sweep, point, train_stage, evaluate_stage, state, message, labels FROM trial ORDER BY id");
  while (rows.Next()) {
    TrialRow& trial = snapshot.trials.emplace_back();
    trial.id = TrialId(rows.Integer(0));
    trial.sweep = SweepId(rows.Integer(1));
    if (const std::int64_t point = rows.Integer(2); point >= 0)
      trial.point = static_cast<std::uint64_t>(point);
    trial.train_stage = StageId(rows.Integer(3));
    trial.evaluate_stage = StageId(rows.Integer(4));
    trial.state = State(rows.Text(5));
    if (IsResult(trial.state)) continue;
    trial.message = rows.Text(6);
    trial.labels_json = rows.Text(7);
  }
}

void LoadLiveAttempts(SQLite::Database& database, Snapshot& snapshot) {
  if (INLIER_BUG("live_attempts_forgotten_after_restart")) return;
  SQLite::Statement rows(database,
                         "SELECT attempt.token, stage, number, worker, slot, resume_step, started_ms, "
                         "attempt.sweep, yields, coalesce(artifact.sha256, ''), coalesce(artifact.step, 0), "
                         "gpu_thousandths, memory_mib, gpu_memory_mib FROM attempt "
                         "LEFT JOIN artifact ON artifact.id = (SELECT max(id) FROM artifact AS saved "
                         "WHERE saved.token = attempt.token AND saved.final = 1) "
                         "WHERE ended_ms IS NULL ORDER BY +attempt.token");
  while (rows.executeStep()) {
    snapshot.live_attempts.push_back(
        {static_cast<Token>(rows.getColumn(0).getInt64()),
         StageId(rows.getColumn(1).getInt64()),
         rows.getColumn(2).getUInt(),
         rows.getColumn(3).getString(),
         rows.getColumn(4).getUInt(),
         static_cast<std::uint64_t>(rows.getColumn(5).getInt64()),
         Time(rows.getColumn(6)),
         SweepId(rows.getColumn(7).getInt64()),
         {rows.getColumn(11).getUInt(), static_cast<std::uint64_t>(rows.getColumn(12).getInt64()),
          static_cast<std::uint64_t>(rows.getColumn(13).getInt64())},
         rows.getColumn(8).getString(),
         rows.getColumn(9).getString(),
         static_cast<std::uint64_t>(rows.getColumn(10).getInt64())});
  }
}

// Of each training without a result the latest checkpoint that it can resume from (a final one holds no
// optimizer state).
void LoadCheckpoints(SQLite::Database& database, Snapshot& snapshot) {
  RowReader resumable(database,
                      "SELECT artifact.token, step, path, sha256, bytes FROM attempt JOIN artifact ON "
                      "artifact.token = attempt.token WHERE attempt.stage = ?1 AND final = 0 "
                      "ORDER BY step DESC, artifact.id DESC LIMIT 1");
  for (const StageRow& stage : snapshot.stages) {
    if (stage.attempts == 0) continue;  // As all that have a result; nor has an evaluation any artifact.
    resumable.Restart(stage.id.value());
    if (!resumable.Next()) continue;
    snapshot.checkpoints.push_back({.token = static_cast<Token>(resumable.Integer(0)),
                                    .step = static_cast<std::uint64_t>(resumable.Integer(1)),
                                    .path = std::string(resumable.Text(2)),
                                    .sha256 = std::string(resumable.Text(3)),
                                    .bytes = static_cast<std::uint64_t>(resumable.Integer(4)),
                                    .stage = stage.id});
  }
}

void LoadPruning(SQLite::Database& database, Snapshot& snapshot) {
  SQLite::Statement decisions(
      database,
      "SELECT sweep, stage, token, rung, step, value, verdict = 'PRUNE', others, threshold, "
      "at_ms FROM pruning_decision ORDER BY id");
  while (decisions.executeStep()) {
    PruningDecision& decision = snapshot.pruning_decisions.emplace_back();
    decision.sweep = SweepId(decisions.getColumn(0).getInt64());
    decision.stage = StageId(decisions.getColumn(1).getInt64());
    decision.token = static_cast<Token>(decisions.getColumn(2).getInt64());
    decision.rung = static_cast<std::uint64_t>(decisions.getColumn(3).getInt64());
    decision.step = static_cast<std::uint64_t>(decisions.getColumn(4).getInt64());
    decision.value = decisions.getColumn(5).isNull() ? std::numeric_limits<double>::quiet_NaN()
                                                     : decisions.getColumn(5).getDouble();
    decision.prune = decisions.getColumn(6).getInt() == 1;
    decision.others = static_cast<std::uint64_t>(decisions.getColumn(7).getInt64());
    if (!decisions.getColumn(8).isNull()) decision.threshold = decisions.getColumn(8).getDouble();
    decision.at = Time(decisions.getColumn(9));
  }
  SQLite::Statement trials(database, "SELECT trial, state = 'PRUNED' FROM trial_pruning ORDER BY trial");
  while (trials.executeStep()) {
    snapshot.trial_prunings.push_back(
        {TrialId(trials.getColumn(0).getInt64()),
         trials.getColumn(1).getInt() == 1 ? TrialPruningState::kPruned : TrialPruningState::kKept});
  }
}

absl::Status LoadWorkers(SQLite::Database& database, Snapshot& snapshot) {
  SQLite::Statement rows(database,
                         "SELECT incarnation, name, host, version, slots, devices, draining, connected, "
                         "last_seen_ms, acknowledged_sequence, held, memory_mib, device_memory_mib "
                         "FROM worker ORDER BY rowid");
  while (rows.executeStep()) {
    WorkerRow& worker = snapshot.workers.emplace_back();
    worker.incarnation = rows.getColumn(0).getString();
    worker.name = rows.getColumn(1).getString();
    worker.host = rows.getColumn(2).getString();
    worker.version = rows.getColumn(3).getString();
    worker.slots = rows.getColumn(4).getUInt();
    const nlohmann::json devices =
        nlohmann::json::parse(rows.getColumn(5).getString(), nullptr, /*allow_exceptions=*/false);
    if (!devices.is_array())
      return absl::DataLossError(absl::StrCat("worker ", worker.incarnation, ": its devices are not a list"));
    for (const nlohmann::json& device : devices)
      worker.devices.push_back(device.is_string() ? device.get<std::string>() : device.dump());
    worker.draining = rows.getColumn(6).getInt() == 1;
    worker.connected = rows.getColumn(7).getInt() == 1;
    worker.last_seen = Time(rows.getColumn(8));
    worker.acknowledged_sequence = rows.getColumn(9).getInt64();
    worker.held = rows.getColumn(10).getInt() == 1;
    worker.memory_mib = static_cast<std::uint64_t>(rows.getColumn(11).getInt64());
    const nlohmann::json memory =
        nlohmann::json::parse(rows.getColumn(12).getString(), nullptr, /*allow_exceptions=*/false);
    for (const nlohmann::json& mib : memory.is_array() ? memory : nlohmann::json::array())
      worker.device_memory_mib.push_back(mib.is_number_unsigned() ? mib.get<std::uint64_t>() : 0);
  }
  return absl::OkStatus();
}

void LoadRequests(SQLite::Database& database, Snapshot& snapshot) {
  SQLite::Statement rows(database,
                         "SELECT number, id, method, digest, answer, at_ms FROM request ORDER BY number");
  while (rows.executeStep()) {
    snapshot.requests.push_back({.number = static_cast<std::uint64_t>(rows.getColumn(0).getInt64()),
                                 .id = rows.getColumn(1).getString(),
                                 .method = rows.getColumn(2).getString(),
                                 .digest = rows.getColumn(3).getString(),
                                 .answer = rows.getColumn(4).getString(),
                                 .at = Time(rows.getColumn(5))});
  }
}

}  // namespace

absl::StatusOr<Snapshot> LoadSnapshot(SQLite::Database& database) {
  Snapshot snapshot;
  RETURN_IF_ERROR(LoadSweeps(database, snapshot));
  RETURN_IF_ERROR(LoadStages(database, snapshot));
  LoadTrials(database, snapshot);
  LoadLiveAttempts(database, snapshot);
  LoadPruning(database, snapshot);
  LoadRequests(database, snapshot);
  RETURN_IF_ERROR(LoadWorkers(database, snapshot));
  LoadCheckpoints(database, snapshot);
  MarkRunning(snapshot);
  if (!snapshot.sweeps.empty()) snapshot.next_sweep = SweepId(snapshot.sweeps.back().id.value() + 1);
  if (!snapshot.stages.empty()) snapshot.next_stage = StageId(snapshot.stages.back().id.value() + 1);
  if (!snapshot.trials.empty()) snapshot.next_trial = TrialId(snapshot.trials.back().id.value() + 1);
  snapshot.next_token = database
                            .execAndGet(
                                "SELECT max((SELECT value FROM meta WHERE key = 'next_token'), "
                                "1 + (SELECT coalesce(max(token), 0) FROM attempt))")
                            .getInt64();
  RETURN_IF_ERROR(CheckSnapshot(snapshot));
  return snapshot;
}

}  // namespace inlier
