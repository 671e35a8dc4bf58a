#include "coordinator/store/snapshot_loader.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <future>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/store/derived_sql.h"
#include "coordinator/store/row_reader.h"
#include "coordinator/store/snapshot_check.h"
#include "google/protobuf/util/json_util.h"
#include "inlier/v1/trial_spec.pb.h"
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

bool HasResult(v1::TrialState state) { return state == v1::SUCCEEDED || state == v1::DIVERGED; }

std::size_t RowsOf(SQLite::Database& database, const char* table) {
  RowReader rows(database, table);
  return rows.Next() ? static_cast<std::size_t>(std::clamp<std::int64_t>(rows.Integer(0), 0, 1 << 24)) : 0;
}

// Takes lists of plain numbers out of the axes, which may have a hundred thousand and which Protobuf reads
// slowly one by one.
std::vector<std::vector<double>> TakeNumbers(nlohmann::json& sweep) {
  std::vector<std::vector<double>> taken;
  if (!sweep.is_object() || !sweep.contains("axes") || !sweep["axes"].is_array()) return taken;
  for (nlohmann::json& axis : sweep["axes"]) {
    std::vector<double>& numbers = taken.emplace_back();
    if (!axis.is_object() || !axis.contains("values") || !axis["values"].is_array()) continue;
    const nlohmann::json& values = axis["values"];
    if (!std::all_of(values.begin(), values.end(), [](const auto& value) { return value.is_number(); }))
      continue;
    for (const nlohmann::json& value : values) numbers.push_back(value.get<double>());
    axis.erase("values");
  }
  return taken;
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

// What a stage without a result runs: the specification of the trial that it was made for.
class SpecLoader {
 public:
  explicit SpecLoader(SQLite::Database& database)
      : packed_(database,
                "SELECT packed, model, attention, data, training, quantization, evaluation FROM trial_spec "
                "WHERE trial = ?1 AND packed IS NOT NULL"),
        whole_(database, absl::StrCat("SELECT ", WholeSpecSql(), " FROM trial_spec", SpecPartsJoin(),
                                      " WHERE trial = ?1")
                             .c_str()),
        of_stage_(database, "SELECT spec FROM stage_spec WHERE stage = ?1"),
        part_(database, "SELECT json FROM spec_part WHERE id = ?1") {}

  void Load(UnfinishedStage& stage) {
    const TrialId trial = stage.spec_of;
    if (trial && trial == latest_) return;
    latest_ = trial;
    if (trial && LoadPacked(trial, stage.spec)) return;
    RowReader& json = trial ? whole_ : of_stage_;
    json.Restart(trial ? trial.value() : stage.stage.value());
    if (json.Next()) stage.spec_json = json.Text(0);
  }

 private:
  // False: it was not kept, or a part of it cannot be read.
  bool LoadPacked(TrialId trial, std::string& spec) {
    packed_.Restart(trial.value());
    if (!packed_.Next()) return false;
    std::string whole(packed_.Text(0));
    for (std::size_t i = 0; i < kSpecGroups.size(); ++i) {
      const int column = static_cast<int>(i) + 1;
      if (packed_.IsNull(column)) continue;
      const std::optional<std::string>& part = Part(i, packed_.Integer(column));
      if (!part) return false;
      whole += *part;
    }
    spec = std::move(whole);
    return true;
  }

  // A TrialSpec of this group alone, serialised: such messages one after the other are the whole.
  const std::optional<std::string>& Part(std::size_t group, std::int64_t id) {
    const auto [at, is_new] = parts_.try_emplace(id);
    if (!is_new) return at->second;
    part_.Restart(id);
    if (!part_.Next()) return at->second;
    v1::TrialSpec spec;
    const std::string json = absl::StrCat("{\"", kSpecGroups[group], "\":", std::string(part_.Text(0)), "}");
    if (google::protobuf::util::JsonStringToMessage(json, &spec).ok()) at->second = spec.SerializeAsString();
    return at->second;
  }

  RowReader packed_, whole_, of_stage_, part_;
  std::unordered_map<std::int64_t, std::optional<std::string>> parts_;
  TrialId latest_;
};

void LoadUnfinishedStages(SQLite::Database& database, StageId from, Snapshot& snapshot) {
  SpecLoader specs(database);
  RowReader last(database, "SELECT coalesce(max(stage), 0) FROM attempt");
  const std::int64_t last_attempted = last.Next() ? last.Integer(0) : 0;
  RowReader attempts(database, "SELECT count(*) FROM attempt WHERE stage = ?1");
  RowReader rows(
      database,
      "SELECT id, state, crashes, out_of_memory, losses, invalid, message, spec_trial, memory_mib, "
      "gpu_memory_mib FROM stage WHERE id >= ?1 AND state NOT IN ('SUCCEEDED', 'DIVERGED') ORDER "
      "BY id");
  rows.Restart(from.value());
  const auto number = [&rows](int column) { return static_cast<std::uint32_t>(rows.Integer(column)); };
  while (rows.Next()) {
    if (HasResult(State(rows.Text(1)))) continue;
    UnfinishedStage& stage = snapshot.unfinished_stages.emplace_back();
    stage.stage = StageId(rows.Integer(0));
    stage.failures = {number(2), number(3), number(4), number(5)};
    stage.message = rows.Text(6);
    stage.spec_of = TrialId(rows.Integer(7));
    stage.memory_mib = static_cast<std::uint64_t>(rows.Integer(8));
    stage.gpu_memory_mib = static_cast<std::uint64_t>(rows.Integer(9));
    specs.Load(stage);
    if (stage.stage.value() > last_attempted) continue;
    attempts.Restart(stage.stage.value());
    if (attempts.Next()) stage.attempts = static_cast<std::uint32_t>(attempts.Integer(0));
  }
}

absl::Status LoadStages(SQLite::Database& database, Snapshot& snapshot) {
  const std::size_t about = RowsOf(database, "SELECT coalesce(max(id), 0) FROM stage");
  snapshot.stages.reserve(about);
  snapshot.trained.reserve(about / 2);
  StageId first_unfinished;
  RowReader rows(
      database, "SELECT id, kind, fingerprint, train_stage, state, steps, checkpoint FROM stage ORDER BY id");
  const auto digest = [&rows](int column, const char* what) -> absl::StatusOr<Digest> {
    const std::optional<Digest> read = ParseSha256Hex(rows.Text(column));
    if (read) return *read;
    return absl::DataLossError(
        absl::StrCat("the database is damaged or was edited: ", StageId(rows.Integer(0)).ToString(),
                     " has no SHA-256 as its ", what, "; restore inlier.db from a backup"));
  };
  while (rows.Next()) {
    StageRecord& stage = snapshot.stages.emplace_back();
    stage.id = StageId(rows.Integer(0));
    stage.kind = rows.Text(1).starts_with('T') ? v1::TRAIN_STAGE : v1::EVALUATE_STAGE;
    ASSIGN_OR_RETURN(stage.fingerprint, digest(2, "fingerprint"));
    stage.train_stage = StageId(rows.Integer(3));
    stage.state = State(rows.Text(4));
    stage.steps = static_cast<std::uint32_t>(rows.Integer(5));
    if (!HasResult(stage.state) && !first_unfinished) first_unfinished = stage.id;
    if (stage.state != v1::SUCCEEDED || stage.kind != v1::TRAIN_STAGE) continue;
    ASSIGN_OR_RETURN(const Digest checkpoint, digest(6, "checkpoint"));
    snapshot.trained.push_back({stage.id, checkpoint});
  }
  if (first_unfinished) LoadUnfinishedStages(database, first_unfinished, snapshot);
  return absl::OkStatus();
}

// RUNNING is not stored: live attempts say it.
void MarkRunning(Snapshot& snapshot) {
  std::unordered_set<StageId> running;
  for (const LiveAttempt& attempt : snapshot.live_attempts) running.insert(attempt.stage);
  if (running.empty()) return;
  for (StageRecord& stage : snapshot.stages) {
    if (stage.state == v1::PENDING && running.contains(stage.id)) stage.state = v1::RUNNING;
  }
  for (TrialRecord& trial : snapshot.trials) {
    if (trial.state != v1::PENDING) continue;
    if (running.contains(trial.train_stage) || running.contains(trial.evaluate_stage))
      trial.state = v1::RUNNING;
  }
}

void LoadTrials(SQLite::Database& database, Snapshot& snapshot) {
  snapshot.trials.reserve(RowsOf(database, "SELECT coalesce(max(id), 0) FROM trial"));
  RowReader labels(database, "SELECT labels FROM trial_spec WHERE trial = ?1");
  RowReader rows(
      database,
      "SELECT id, sweep, point, train_stage, evaluate_stage, state, message FROM trial ORDER BY id");
  while (rows.Next()) {
    TrialRecord& trial = snapshot.trials.emplace_back();
    trial.id = TrialId(rows.Integer(0));
    trial.sweep = SweepId(rows.Integer(1));
    if (const std::int64_t point = rows.Integer(2); point >= 0)
      trial.point = static_cast<std::uint64_t>(point);
    trial.train_stage = StageId(rows.Integer(3));
    trial.evaluate_stage = StageId(rows.Integer(4));
    trial.state = State(rows.Text(5));
    if (HasResult(trial.state)) continue;
    UnfinishedTrial& unfinished = snapshot.unfinished_trials.emplace_back();
    unfinished.trial = trial.id;
    unfinished.message = rows.Text(6);
    labels.Restart(trial.id.value());
    if (labels.Next()) unfinished.labels_json = labels.Text(0);
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
         rows.getColumn(8).getString(),
         rows.getColumn(9).getString(),
         static_cast<std::uint64_t>(rows.getColumn(10).getInt64()),
         {rows.getColumn(11).getUInt(), static_cast<std::uint64_t>(rows.getColumn(12).getInt64()),
          static_cast<std::uint64_t>(rows.getColumn(13).getInt64())}});
  }
}

// Of each training without a result the latest checkpoint that it can go on from (a final one holds no
// optimizer state).
void LoadCheckpoints(SQLite::Database& database, Snapshot& snapshot) {
  RowReader resumable(database,
                      "SELECT artifact.token, step, path, sha256, bytes FROM attempt JOIN artifact ON "
                      "artifact.token = attempt.token WHERE attempt.stage = ?1 AND final = 0 "
                      "ORDER BY step DESC, artifact.id DESC LIMIT 1");
  for (const UnfinishedStage& stage : snapshot.unfinished_stages) {
    if (stage.attempts == 0) continue;  // Nor has an evaluation any artifact.
    resumable.Restart(stage.stage.value());
    if (!resumable.Next()) continue;
    snapshot.checkpoints.push_back({stage.stage, static_cast<Token>(resumable.Integer(0)),
                                    static_cast<std::uint64_t>(resumable.Integer(1)),
                                    std::string(resumable.Text(2)), std::string(resumable.Text(3)),
                                    static_cast<std::uint64_t>(resumable.Integer(4))});
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

absl::StatusOr<Snapshot> LoadSnapshot(SQLite::Database& database, SQLite::Database* second) {
  Snapshot snapshot;
  const auto load_others = [&snapshot](SQLite::Database& from) {
    RETURN_IF_ERROR(LoadSweeps(from, snapshot));
    LoadTrials(from, snapshot);
    LoadLiveAttempts(from, snapshot);
    LoadPruning(from, snapshot);
    LoadRequests(from, snapshot);
    return LoadWorkers(from, snapshot);
  };
  if (second == nullptr) {
    RETURN_IF_ERROR(LoadStages(database, snapshot));
    RETURN_IF_ERROR(load_others(database));
  } else {
    // They fill different parts of the snapshot.
    std::future<absl::Status> others =
        std::async(std::launch::async, [&load_others, second] { return load_others(*second); });
    const absl::Status stages = LoadStages(database, snapshot);
    const absl::Status rest = others.get();
    RETURN_IF_ERROR(stages);
    RETURN_IF_ERROR(rest);
  }
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

absl::StatusOr<v1::SweepSpec> SweepSpecFromJson(const std::string& json) {
  v1::SweepSpec spec;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  nlohmann::json parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  const std::vector<std::vector<double>> numbers = TakeNumbers(parsed);
  const auto status = google::protobuf::util::JsonStringToMessage(
      numbers.empty() ? json : parsed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), &spec,
      options);
  if (!status.ok())
    return absl::DataLossError(
        absl::StrCat("the stored specification of a sweep cannot be read: ", status.ToString()));
  for (std::size_t i = 0; i < numbers.size() && i < static_cast<std::size_t>(spec.axes_size()); ++i) {
    auto& values = *spec.mutable_axes(static_cast<int>(i))->mutable_values();
    values.Reserve(values.size() + static_cast<int>(numbers[i].size()));
    for (const double number : numbers[i]) values.Add()->set_number_value(number);
  }
  return spec;
}

}  // namespace inlier
