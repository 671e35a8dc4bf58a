// Oracle: the rows of the database, read after each transaction that changed them.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "coordinator/store/ids.h"
#include "tests/simulation/oracle.h"

namespace inlier {
namespace {

constexpr const char* kTables[] = {"sweep",         "stage",       "trial",  "attempt",
                                   "measurement",   "artifact",    "worker", "pruning_decision",
                                   "trial_pruning", "search_point"};

bool IsResultName(const std::string& state) { return state == "SUCCEEDED" || state == "DIVERGED"; }

}  // namespace

struct Oracle::Statements {
  explicit Statements(SQLite::Database& db)
      : sweep(db,
              "SELECT state, points, trials, next_point, coalesce(spec->>'$.max_parallel', 0), "
              "coalesce(spec->>'$.retry.max_crashes', 2), coalesce(spec->>'$.retry.max_out_of_memory', 3), "
              "coalesce(spec->>'$.retry.max_losses', 20), coalesce(request_id, ''), paused, revision, spec, "
              "owner, "
              "coalesce(spec->>'$.limits.attempt_hours', 0), coalesce(spec->>'$.limits.sweep_hours', 0), "
              "removed_ms IS NOT NULL, freed "
              "FROM sweep WHERE id = ?"),
        stage(
            db,
            "SELECT kind, state, coalesce(checkpoint, ''), coalesce(train_stage, 0), coalesce(result_token, "
            "0), crashes, out_of_memory, losses, invalid, coalesce(start_stage, 0), fate FROM stage WHERE id "
            "= ?"),
        trial(db,
              "SELECT sweep, coalesce(train_stage, 0), coalesce(evaluate_stage, 0), state, point, "
              "labels FROM trial WHERE id = ?"),
        attempt(db,
                "SELECT stage, number, worker, slot, ended_ms IS NOT NULL, coalesce(outcome, ''), "
                "coalesce(failure, ''), message, coalesce(sweep, 0), gpu_thousandths, "
                "memory_mib, coalesce(yields, ''), further_slots FROM attempt WHERE token = ?"),
        measurement(db, "SELECT token, value FROM measurement WHERE id = ?"),
        artifact(db, "SELECT token, sha256, path, final FROM artifact WHERE id = ?"),
        worker(db, "SELECT incarnation, slots, acknowledged_sequence, held FROM worker WHERE rowid = ?"),
        pruning_decision(db,
                         "SELECT sweep, stage, token, rung, value, verdict, others, threshold, bracket FROM "
                         "pruning_decision WHERE id = ?"),
        search_point(db, "SELECT sweep, number, point_values, told FROM search_point WHERE id = ?"),
        trial_pruning(db, "SELECT state FROM trial_pruning WHERE trial = ?"),
        data_of_stage(db,
                      "SELECT coalesce(attempt.dataset_digest, ''), coalesce(data.digest, '') FROM stage "
                      "JOIN attempt ON attempt.token = stage.result_token "
                      "JOIN stage AS train ON train.id = coalesce(stage.train_stage, stage.id) "
                      "JOIN data ON data.id = train.data WHERE stage.id = ?"),
        data_of_trial(
            db,
            "SELECT coalesce(data.digest, '') FROM trial JOIN stage ON stage.id = trial.train_stage "
            "JOIN data ON data.id = stage.data WHERE trial.id = ?") {}
  SQLite::Statement sweep, stage, trial, attempt, measurement, artifact, worker, pruning_decision,
      search_point, trial_pruning, data_of_stage, data_of_trial;
};

// The fields that an edit can change, and a check of verdicts needs.
static void ReadSpec(const std::string& text, Oracle::SweepRow& sweep) {
  const nlohmann::json spec = nlohmann::json::parse(text);
  sweep.axes.clear();
  sweep.processes.insert(spec.value("resources", nlohmann::json::object()).value("processes", 1));
  for (const nlohmann::json& axis : spec.value("axes", nlohmann::json::array())) {
    if (spec.contains("sampling")) break;
    std::vector<std::string> labels;
    if (axis.contains("variants")) {
      for (const nlohmann::json& variant : axis.at("variants")) labels.push_back(variant.at("label"));
      sweep.axes.emplace_back(axis.at("name"), std::move(labels));
      continue;
    }
    const std::string field = axis.at("field");
    for (const nlohmann::json& value : axis.at("values")) labels.push_back(absl::StrCat(value.get<int>()));
    sweep.axes.emplace_back(field.substr(field.rfind('.') + 1), std::move(labels));
  }
  if (!spec.contains("pruning")) return;
  const nlohmann::json& pruning = spec.at("pruning");
  if (pruning.value("goal", "") == "MAXIMIZE") sweep.pruning.set_goal(v1::PruningSpec::MAXIMIZE);
  if (pruning.contains("median"))
    sweep.pruning.mutable_median()->set_min_trials(pruning["median"].value("min_trials", 5u));
  if (pruning.contains("asha"))
    sweep.pruning.mutable_asha()->set_reduction(pruning["asha"].value("reduction", 3u));
}

static void ReadLabels(const std::string& text, std::map<std::string, std::string>& labels) {
  const nlohmann::json object = nlohmann::json::parse(text);
  for (const auto& [axis, label] : object.items()) labels[axis] = label.get<std::string>();
}

// One row, read by its number; false: it is not there.
static bool Read(SQLite::Statement& statement, std::int64_t row) {
  statement.reset();
  statement.bind(1, row);
  return statement.executeStep();
}

Oracle::Oracle(World& world) : world_(world) {}
Oracle::~Oracle() { Unwatch(); }

void Oracle::Watch(SQLite::Database& connection) {
  connection_ = &connection;
  sql_ = std::make_unique<Statements>(connection);
  sqlite3_update_hook(
      connection.getHandle(),
      [](void* self, int, const char*, const char* table, sqlite3_int64 row) {
        static_cast<Oracle*>(self)->OnChange(table, row);
      },
      this);
}

void Oracle::Unwatch() {
  if (connection_ == nullptr) return;
  sqlite3_update_hook(connection_->getHandle(), nullptr, nullptr);
  sql_.reset();
  connection_ = nullptr;
}

void Oracle::OnChange(const std::string& table, std::int64_t row) { changed_[table].insert(row); }
void Oracle::RolledBack() { changed_.clear(); }

void Oracle::Committed() {
  ReadChanged();
  CheckWhole();
  changed_.clear();
}

void Oracle::ReadChanged() {
  for (const std::int64_t row : changed_["worker"]) ReadWorker(row);
  for (const std::int64_t id : changed_["sweep"]) ReadSweep(id);
  for (const std::int64_t id : changed_["search_point"]) ReadSearchPoint(id);
  // A trial and an attempt are checked by the rows of the same transaction, and a stage by those of its attempts.
  const std::set<std::int64_t>& stages = changed_["stage"];
  for (const std::int64_t id : stages) {
    if (Read(sql_->stage, id)) {
      StageRow& stage = stages_[id];
      stage.kind = sql_->stage.getColumn(0).getString();
      stage.train = sql_->stage.getColumn(3).getInt64();
      stage.start = sql_->stage.getColumn(9).getInt64();
    }
    sql_->stage.reset();
  }
  for (const std::int64_t id : changed_["trial"]) ReadTrial(id);
  for (const std::int64_t id : changed_["artifact"]) ReadArtifact(id);
  std::set<std::int64_t> gone;
  for (const std::int64_t id : changed_["measurement"]) {
    if (!ReadMeasurement(id)) gone.insert(id);
  }
  for (const std::int64_t id : changed_["attempt"]) ReadAttempt(id);
  for (const std::int64_t id : changed_["trial_pruning"]) ReadTrialPruning(id);
  for (const std::int64_t id : changed_["pruning_decision"]) ReadPruningDecision(id);
  for (const std::int64_t id : changed_["trial_pruning"]) {
    const TrialRow& trial = trials_.at(id);
    bool judged = false;  // Its training, or one that it starts from.
    for (std::int64_t stage = trial.train; stage != 0; stage = stages_.at(stage).start)
      judged = judged || prune_.contains({trial.sweep, stage});
    Must(pruned_[id] != "PRUNED" || (trial.state == "CANCELLED" && judged),
         absl::StrCat("trial ", id, " is pruned, is ", trial.state, ", and has no verdict"));
  }
  for (const std::int64_t id : stages) ReadStage(id);
  CheckMeasurementsGone(gone);  // A stage may be freed and emptied in one transaction.
}

void Oracle::ReadAll() {
  if (connection_ == nullptr) return;
  std::map<std::string, std::set<std::int64_t>> all;
  for (const char* table : kTables) {
    SQLite::Statement rows(*connection_, absl::StrCat("SELECT rowid FROM ", table));
    while (rows.executeStep()) all[table].insert(rows.getColumn(0).getInt64());
  }
  const auto vanished = [&](const std::string& table, const auto& known) {
    for (const auto& entry : known) {
      std::int64_t id = 0;
      if constexpr (std::is_same_v<std::decay_t<decltype(entry)>, std::int64_t>) {
        id = entry;
      } else {
        id = entry.first;
      }
      Must(all[table].contains(id), absl::StrCat("row ", id, " of ", table, " was committed and is gone"));
    }
  };
  vanished("sweep", sweeps_);
  vanished("stage", stages_);
  vanished("trial", trials_);
  vanished("attempt", attempts_);
  std::set<std::int64_t> gone;
  for (const auto& [id, token] : measurements_) {
    if (!all["measurement"].contains(id)) gone.insert(id);
  }
  for (const std::int64_t id : all["stage"]) {
    if (Read(sql_->stage, id)) stages_[id].fate = sql_->stage.getColumn(10).getString();
    sql_->stage.reset();
  }
  CheckMeasurementsGone(gone);
  vanished("artifact", artifacts_);
  vanished("pruning_decision", decisions_);
  vanished("search_point", search_rows_);
  changed_ = std::move(all);
  Committed();
}

void Oracle::ReadSweep(std::int64_t id) {
  if (!Read(sql_->sweep, id)) return Must(false, absl::StrCat("sweep ", id, " has gone"));
  SweepRow& sweep = sweeps_[id];
  const bool fresh = sweep.state.empty();
  const SweepRow before = sweep;
  sweep.state = sql_->sweep.getColumn(0).getString();
  sweep.points = sql_->sweep.getColumn(1).getInt64();
  sweep.trials = sql_->sweep.getColumn(2).getInt64();
  sweep.next_point = sql_->sweep.getColumn(3).getInt64();
  sweep.max_parallel = sql_->sweep.getColumn(4).getInt64();
  // An edit may lower what has happened already: the most that ever was allowed.
  sweep.max_crashes = std::max(sweep.max_crashes, sql_->sweep.getColumn(5).getInt64());
  sweep.max_out_of_memory = std::max(sweep.max_out_of_memory, sql_->sweep.getColumn(6).getInt64());
  sweep.max_losses = std::max(sweep.max_losses, sql_->sweep.getColumn(7).getInt64());
  sweep.request_id = sql_->sweep.getColumn(8).getString();
  sweep.paused = sql_->sweep.getColumn(9).getInt() != 0;
  sweep.revision = sql_->sweep.getColumn(10).getInt64();
  sweep.owner = sql_->sweep.getColumn(12).getString();
  v1::LimitsSpec limits;
  if (const double hours = sql_->sweep.getColumn(13).getDouble(); hours > 0) limits.set_attempt_hours(hours);
  if (const double hours = sql_->sweep.getColumn(14).getDouble(); hours > 0) limits.set_sweep_hours(hours);
  sweep.Allow(limits, fresh);
  sweep.removed = sql_->sweep.getColumn(15).getInt() != 0;
  sweep.freed = sql_->sweep.getColumn(16).getInt() != 0;
  sweep.before = before.revision;
  sweep.max_parallel_before = before.max_parallel;
  if (sweep.revision != before.revision) ReadSpec(sql_->sweep.getColumn(11).getString(), sweep);
  sql_->sweep.reset();
  Must(pauses_[id].stored[sweep.paused ? 1 : 0],
       absl::StrCat("sweep ", id, sweep.paused ? " is" : " is not", " paused, and no one asked for it"));
  Must(removals_[id].stored[sweep.removed ? 1 : 0],
       absl::StrCat("sweep ", id, sweep.removed ? " is" : " is not", " removed, and no one asked for it"));
  Must(sweep.freed || !before.freed, absl::StrCat("sweep ", id, " was freed, and is not any more"));
  if (!sweep.request_id.empty()) {
    Must(requests_.emplace(sweep.request_id, id).first->second == id, "two sweeps of one request");
  }
  if (fresh) return;
  Must(sweep.owner == before.owner,
       absl::StrCat("sweep ", id, " belongs to ", sweep.owner, ", and before to ", before.owner));
  const bool edited = sweep.revision != before.revision;
  Must(sweep.revision - before.revision <= static_cast<std::int64_t>(edits_[id]) - (before.revision - 1),
       absl::StrCat("sweep ", id, " is at revision ", sweep.revision, " after ", edits_[id], " edits"));
  Must(edited || sweep.next_point >= before.next_point, absl::StrCat("sweep ", id, " goes back in its grid"));
  if (before.state == "ACTIVE" || before.state == sweep.state) return;
  Must(++sweep.reopens <= Asked(SweepId(id).ToString()),
       absl::StrCat("sweep ", id, " changed from ", before.state, " to ", sweep.state,
                    " without a retry or an edit"));
}

void Oracle::ReadSearchPoint(std::int64_t id) {
  if (!Read(sql_->search_point, id)) return Must(false, absl::StrCat("point ", id, " has gone"));
  const std::int64_t sweep = sql_->search_point.getColumn(0).getInt64();
  const std::int64_t number = sql_->search_point.getColumn(1).getInt64();
  const std::string values = sql_->search_point.getColumn(2).getString();
  const std::string row =
      absl::StrCat(sweep, " ", number, " ", values, " ", sql_->search_point.getColumn(3).getString());
  sql_->search_point.reset();
  const bool fresh = search_rows_.emplace(id, row).second;
  Must(search_rows_[id] == row,
       absl::StrCat("point ", id, " has changed from ", search_rows_[id], " to ", row));
  if (!fresh) return;
  Must(number == 0 || asked_for_.contains({sweep, number - 1}),
       absl::StrCat("sweep ", sweep, " has point ", number, " and not the one before"));
  Must(asked_for_.emplace(std::pair(sweep, number), values).second,
       absl::StrCat("point ", number, " of sweep ", sweep, " is there twice"));
}

void Oracle::ReadTrial(std::int64_t id) {
  if (!Read(sql_->trial, id)) return Must(false, absl::StrCat("trial ", id, " has gone"));
  TrialRow& trial = trials_[id];
  const std::string before = trial.state;
  trial.sweep = sql_->trial.getColumn(0).getInt64();
  trial.train = sql_->trial.getColumn(1).getInt64();
  trial.evaluate = sql_->trial.getColumn(2).getInt64();
  trial.state = sql_->trial.getColumn(3).getString();
  trial.was_withdrawn = !before.empty() && !trial.point;
  const std::int64_t point = sql_->trial.getColumn(4).getInt64();
  trial.point = point < 0 ? std::nullopt : std::optional(point);
  if (before.empty()) ReadLabels(sql_->trial.getColumn(5).getString(), trial.labels);
  sql_->trial.reset();
  Must(!trial.was_withdrawn || (!trial.point && trial.state == before),
       absl::StrCat("trial ", id, " was withdrawn, and changed from ", before, " to ", trial.state));
  Must(trial.point || IsTerminalName(trial.state),
       absl::StrCat("trial ", id, " is withdrawn, and is ", trial.state));
  if (before.empty()) {
    sweeps_[trial.sweep].trial_ids.insert(id);
    for (const std::int64_t stage : {trial.train, trial.evaluate}) {
      if (stage == 0) continue;
      trials_of_stage_[stage].insert(id);
    }
    for (std::int64_t stage = trial.train; stage != 0; stage = stages_.at(stage).start)
      trials_of_stage_[stage].insert(id);
  }
  if (IsResultName(trial.state) && !IsResultName(before)) CheckDataOfTrial(id, trial.sweep);
  if (IsResultName(before)) {
    Must(trial.state == before, absl::StrCat("trial ", id, " changed from ", before, " to ", trial.state));
  } else if (IsTerminalName(before) && !before.empty() && trial.state != before) {
    Must(++trial.reopens <= retries_[TrialId(id).ToString()] + retries_[SweepId(trial.sweep).ToString()],
         absl::StrCat("trial ", id, " changed from ", before, " to ", trial.state, " without a retry"));
  }
}

void Oracle::CheckDataOfTrial(std::int64_t id, std::int64_t sweep) {
  if (!Read(sql_->data_of_trial, id))
    return Must(false, absl::StrCat("trial ", id, " has a result of no data"));
  const std::string digest = sql_->data_of_trial.getColumn(0).getString();
  sql_->data_of_trial.reset();
  const std::optional<Timestamp> gone = world_.GoneSince(digest);
  const auto submitted = submitted_.find(sweep);
  Must(!gone || submitted == submitted_.end() || *gone >= submitted->second,
       absl::StrCat("trial ", id, " ends with a result of data that were gone when sweep ", sweep,
                    " was submitted"));
}

void Oracle::CheckDataOfStage(std::int64_t id) {
  if (!Read(sql_->data_of_stage, id)) return;
  const std::string result = sql_->data_of_stage.getColumn(0).getString();
  const std::string bound = sql_->data_of_stage.getColumn(1).getString();
  sql_->data_of_stage.reset();
  Must(result.empty() || result == bound, absl::StrCat("stage ", id, " has a result of the data ", result,
                                                       ", and its training is bound to ", bound));
}

void Oracle::ReadStage(std::int64_t id) {
  if (!Read(sql_->stage, id)) return Must(false, absl::StrCat("stage ", id, " has gone"));
  StageRow& stage = stages_[id];
  const StageRow before = stage;
  SQLite::Statement& row = sql_->stage;
  stage.state = row.getColumn(1).getString();
  stage.checkpoint = row.getColumn(2).getString();
  stage.result_token = row.getColumn(4).getInt64();
  const std::int64_t stored[4] = {row.getColumn(5).getInt64(), row.getColumn(6).getInt64(),
                                  row.getColumn(7).getInt64(), row.getColumn(8).getInt64()};
  const std::string fate = row.getColumn(10).getString();
  row.reset();
  ReadFate(id, fate);
  const std::string name = absl::StrCat("stage ", id);
  if (!before.state.empty() && IsResultName(before.state)) {
    Must(stage.state == before.state && stage.result_token == before.result_token &&
             stage.checkpoint == before.checkpoint,
         absl::StrCat("the result of ", name, " changed"));
  }
  if (IsResultName(stage.state)) CheckDataOfStage(id);
  if (stage.state == "SUCCEEDED") {
    const auto result = attempts_.find(stage.result_token);
    Must(result != attempts_.end() && result->second.stage == id && result->second.outcome == "SUCCEEDED",
         absl::StrCat(name, " SUCCEEDED, and no attempt of it did"));
    if (stage.kind == "TRAIN_STAGE") {
      Must(final_of_.contains({stage.result_token, stage.checkpoint}),
           absl::StrCat(name, ": its checkpoint is not what its result's attempt saved"));
    }
  } else if (stage.state == "DIVERGED" && stage.result_token == 0) {
    const auto start = stages_.find(stage.start);
    Must(stage.kind == "EVALUATE_STAGE" ||
             (start != stages_.end() &&
              (start->second.state == "DIVERGED" || changed_["stage"].contains(start->first))),
         absl::StrCat(name, " DIVERGED without an attempt"));
  }
  // The retry counts are those of the attempts that failed since someone asked for it (again).
  std::int64_t* const counted[4] = {&stage.crashes, &stage.out_of_memory, &stage.losses, &stage.invalid};
  bool equal = true;
  for (int i = 0; i < 4; ++i) equal = equal && *counted[i] == stored[i];
  if (equal) return;
  Must(++stage.resets <= AskedFor(id),
       absl::StrCat(name, ": its retry counts are not those of its attempts (", stored[0], "/", stored[1],
                    "/", stored[2], "/", stored[3], " stored, ", stage.crashes, "/", stage.out_of_memory, "/",
                    stage.losses, "/", stage.invalid, " counted)"));
  for (int i = 0; i < 4; ++i) *counted[i] = stored[i];
}

void Oracle::ReadAttempt(std::int64_t token) {
  if (!Read(sql_->attempt, token)) return Must(false, absl::StrCat("attempt ", token, " has gone"));
  const auto [at, fresh] = attempts_.emplace(token, AttemptRow());
  AttemptRow& attempt = at->second;
  SQLite::Statement& row = sql_->attempt;
  if (fresh) {
    attempt.stage = row.getColumn(0).getInt64();
    attempt.number = row.getColumn(1).getInt64();
    attempt.worker = row.getColumn(2).getString();
    attempt.slot = row.getColumn(3).getInt64();
    attempt.charged = row.getColumn(8).getInt64();
    attempt.gpu_thousandths = row.getColumn(9).getInt64();
    attempt.memory_mib = row.getColumn(10).getInt64();
    attempt.further_slots =
        nlohmann::json::parse(row.getColumn(12).getString()).get<std::vector<std::int64_t>>();
  }
  const bool ended = row.getColumn(4).getInt() != 0;
  const std::string outcome = row.getColumn(5).getString();
  const std::string failure = row.getColumn(6).getString();
  if (attempt.ended) {
    Must(ended && outcome == attempt.outcome && failure == attempt.failure,
         absl::StrCat("attempt ", token, " had ended and changed"));
    row.reset();
    return;
  }
  attempt.outcome = outcome;
  attempt.failure = failure;
  attempt.message = row.getColumn(7).getString();
  attempt.ended = ended;
  attempt.yields = row.getColumn(11).getString();
  row.reset();
  if (fresh) CheckNewAttempt(token, attempt);
  if (ended) {
    live_.erase(token);
    CheckEnded(token, attempt);
  }
}

bool Oracle::ReadMeasurement(std::int64_t id) {
  const bool known = measurements_.contains(id);
  if (!Read(sql_->measurement, id)) return false;
  const Token token = static_cast<Token>(sql_->measurement.getColumn(0).getInt64());
  const std::string mark = absl::StrCat(sql_->measurement.getColumn(1).getInt64());
  sql_->measurement.reset();
  if (known) return true;
  measurements_.emplace(id, token);
  CheckStoredEvent(token, mark, "measurement");
  return true;
}

void Oracle::ReadArtifact(std::int64_t id) {
  if (!artifacts_.insert(id).second) return;
  Read(sql_->artifact, id);
  const Token token = static_cast<Token>(sql_->artifact.getColumn(0).getInt64());
  const std::string sha256 = sql_->artifact.getColumn(1).getString();
  paths_.insert(sql_->artifact.getColumn(2).getString());
  if (sql_->artifact.getColumn(3).getInt() != 0) final_of_.emplace(static_cast<std::int64_t>(token), sha256);
  sql_->artifact.reset();
  CheckStoredEvent(token, sha256, "checkpoint");
}

void Oracle::ReadTrialPruning(std::int64_t trial) {
  if (!Read(sql_->trial_pruning, trial))
    return Must(false, absl::StrCat("trial ", trial, ": its pruning has gone"));
  pruned_[trial] = sql_->trial_pruning.getColumn(0).getString();
  sql_->trial_pruning.reset();
}

void Oracle::ReadPruningDecision(std::int64_t id) {
  if (!decisions_.insert(id).second) return;
  Read(sql_->pruning_decision, id);
  SQLite::Statement& row = sql_->pruning_decision;
  Verdict verdict{.id = id,
                  .sweep = row.getColumn(0).getInt64(),
                  .stage = row.getColumn(1).getInt64(),
                  .token = row.getColumn(2).getInt64(),
                  .bracket = row.getColumn(8).getInt64(),
                  .rung = row.getColumn(3).getInt64(),
                  .others = row.getColumn(6).getInt64(),
                  .value = row.getColumn(4).getDouble(),
                  .prune = row.getColumn(5).getString() == "PRUNE",
                  .threshold = {}};
  if (!row.getColumn(7).isNull()) verdict.threshold = row.getColumn(7).getDouble();
  row.reset();
  JudgeAgain(verdict);
}

void Oracle::ReadWorker(std::int64_t number) {
  if (!Read(sql_->worker, number)) return;
  const std::string incarnation = sql_->worker.getColumn(0).getString();
  WorkerView& worker = workers_[incarnation];
  if (std::find(worker_ids_.begin(), worker_ids_.end(), incarnation) == worker_ids_.end())
    worker_ids_.push_back(incarnation);
  worker.slots = sql_->worker.getColumn(1).getUInt();
  worker.held = sql_->worker.getColumn(3).getInt() != 0;
  Must(holds_[incarnation].stored[worker.held ? 1 : 0],
       absl::StrCat("worker ", incarnation, worker.held ? " is" : " is not",
                    " drained, and no one asked for it"));
  const std::uint64_t acknowledged = static_cast<std::uint64_t>(sql_->worker.getColumn(2).getInt64());
  sql_->worker.reset();
  Must(acknowledged >= worker.acknowledged,
       absl::StrCat("worker ", incarnation, ": acknowledged less than before"));
  Must(acknowledged <= worker.emitted.size(),
       absl::StrCat("worker ", incarnation, ": acknowledged event ", acknowledged, ", and it has reported ",
                    worker.emitted.size()));
  worker.acknowledged = acknowledged;
}

}  // namespace inlier
