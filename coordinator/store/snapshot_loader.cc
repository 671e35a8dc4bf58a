#include "coordinator/store/snapshot_loader.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/store/derived_sql.h"
#include "coordinator/store/snapshot_check.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

WallTime Time(const SQLite::Column& column) { return {column.getInt64()}; }

template <typename Id>
std::optional<Id> OptionalId(const SQLite::Column& column) {
  if (column.isNull()) return std::nullopt;
  return Id(column.getInt64());
}

// REQUIRES of all: the table's CHECK admits only names of the enum.
v1::TrialState State(const SQLite::Column& column) {
  v1::TrialState state = v1::PENDING;
  v1::TrialState_Parse(column.getText(), &state);
  return state;
}

absl::Status LoadSweeps(SQLite::Database& database, Snapshot& snapshot) {
  SQLite::Statement rows(database,
                         "SELECT id, spec, state, points, trials, trials_known, next_point, request_id, "
                         "request_digest, submitted_ms, "
                         "ended_ms, paused, revision, "
                         "(SELECT coalesce(max(notice), 0) FROM event WHERE event.sweep = sweep.id AND "
                         "notice IS NOT NULL), coalesce(trials_told, trials) FROM sweep ORDER BY id");
  while (rows.executeStep()) {
    SweepRecord& sweep = snapshot.sweeps.emplace_back();
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
    sweep.trials_told = rows.getColumn(14).getInt64();
  }
  return absl::OkStatus();
}

void LoadStages(SQLite::Database& database, Snapshot& snapshot) {
  const std::string open_spec = absl::StrCat("(SELECT ", WholeSpecSql(), " FROM trial_spec", SpecPartsJoin(),
                                             " WHERE trial_spec.trial = spec_trial)");
  SQLite::Statement rows(
      database,
      absl::StrCat(
          "SELECT id, kind, fingerprint, train_stage, ", StageStateSql(),
          ", crashes, out_of_memory, losses, invalid, "
          "(SELECT count(*) FROM attempt WHERE attempt.stage = stage.id), result_token, checkpoint, message, "
          "CASE WHEN state IN ('SUCCEEDED', 'DIVERGED') THEN '' "
          "WHEN spec_trial IS NULL THEN (SELECT spec FROM stage_spec WHERE stage_spec.stage = stage.id) "
          "ELSE ",
          open_spec, " END, memory_mib, gpu_memory_mib FROM stage ORDER BY id"));
  while (rows.executeStep()) {
    StageRecord& stage = snapshot.stages.emplace_back();
    stage.id = StageId(rows.getColumn(0).getInt64());
    v1::StageKind_Parse(rows.getColumn(1).getText(), &stage.kind);
    stage.fingerprint = rows.getColumn(2).getString();
    stage.train_stage = OptionalId<StageId>(rows.getColumn(3));
    stage.state = State(rows.getColumn(4));
    stage.failures = {rows.getColumn(5).getUInt(), rows.getColumn(6).getUInt(), rows.getColumn(7).getUInt(),
                      rows.getColumn(8).getUInt()};
    stage.attempts = rows.getColumn(9).getUInt();
    stage.result_token = rows.getColumn(10).getInt64();
    stage.checkpoint = rows.getColumn(11).getString();
    stage.message = rows.getColumn(12).getString();
    stage.spec_json = rows.getColumn(13).getString();
    stage.memory_mib = static_cast<std::uint64_t>(rows.getColumn(14).getInt64());
    stage.gpu_memory_mib = static_cast<std::uint64_t>(rows.getColumn(15).getInt64());
  }
}

void LoadTrials(SQLite::Database& database, Snapshot& snapshot) {
  SQLite::Statement rows(
      database,
      absl::StrCat(
          "SELECT id, sweep, point, train_stage, evaluate_stage, ", TrialStateSql(),
          ", message, iif(state IN ('SUCCEEDED', 'DIVERGED'), '', "
          "(SELECT labels FROM trial_spec WHERE trial_spec.trial = trial.id)) FROM trial ORDER BY id"));
  while (rows.executeStep()) {
    TrialRecord& trial = snapshot.trials.emplace_back();
    trial.id = TrialId(rows.getColumn(0).getInt64());
    trial.sweep = SweepId(rows.getColumn(1).getInt64());
    if (const std::int64_t point = rows.getColumn(2).getInt64(); point >= 0) trial.point = point;
    trial.train_stage = OptionalId<StageId>(rows.getColumn(3));
    trial.evaluate_stage = OptionalId<StageId>(rows.getColumn(4));
    trial.state = State(rows.getColumn(5));
    trial.message = rows.getColumn(6).getString();
    trial.labels_json = rows.getColumn(7).getString();
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
                         "WHERE ended_ms IS NULL ORDER BY attempt.token");
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
         rows.getColumn(8).getString(),
         rows.getColumn(9).getString(),
         static_cast<std::uint64_t>(rows.getColumn(10).getInt64()),
         {rows.getColumn(11).getUInt(), static_cast<std::uint64_t>(rows.getColumn(12).getInt64()),
          static_cast<std::uint64_t>(rows.getColumn(13).getInt64())}});
  }
}

// Of a stage with a result its product; of another the latest checkpoint that a training can go on from (a
// final one holds no optimizer state).
void LoadCheckpoints(SQLite::Database& database, Snapshot& snapshot) {
  SQLite::Statement rows(
      database,
      "SELECT stage.id, best.token, best.step, best.path, best.sha256, best.bytes, best.final FROM stage "
      "JOIN artifact AS best ON best.id = (SELECT artifact.id FROM attempt JOIN artifact ON artifact.token = "
      "attempt.token "
      "WHERE attempt.stage = stage.id AND (stage.result_token IS NULL OR attempt.token = stage.result_token) "
      "AND artifact.final = (stage.result_token IS NOT NULL) ORDER BY artifact.step DESC, artifact.id DESC "
      "LIMIT 1) "
      "WHERE stage.kind = 'TRAIN_STAGE' ORDER BY stage.id");
  while (rows.executeStep()) {
    snapshot.checkpoints.push_back(
        {StageId(rows.getColumn(0).getInt64()), static_cast<Token>(rows.getColumn(1).getInt64()),
         static_cast<std::uint64_t>(rows.getColumn(2).getInt64()), rows.getColumn(3).getString(),
         rows.getColumn(4).getString(), static_cast<std::uint64_t>(rows.getColumn(5).getInt64()),
         rows.getColumn(6).getInt() == 1});
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
    WorkerRecord& worker = snapshot.workers.emplace_back();
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
  LoadStages(database, snapshot);
  LoadTrials(database, snapshot);
  LoadLiveAttempts(database, snapshot);
  LoadCheckpoints(database, snapshot);
  LoadPruning(database, snapshot);
  RETURN_IF_ERROR(LoadWorkers(database, snapshot));
  LoadRequests(database, snapshot);
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

absl::StatusOr<v1::SweepSpec> SweepSpecFromJson(const std::string& json) {
  v1::SweepSpec spec;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &spec, options);
  if (!status.ok())
    return absl::DataLossError(
        absl::StrCat("the stored specification of a sweep cannot be read: ", status.ToString()));
  return spec;
}

}  // namespace inlier
