// The writer of a store: every change as rows, inside a transaction of Store::Apply.
#ifndef INLIER_COORDINATOR_STORE_CHANGE_WRITER_H_
#define INLIER_COORDINATOR_STORE_CHANGE_WRITER_H_

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordinator/store/import_writer.h"
#include "coordinator/store/row_inserter.h"
#include "coordinator/store/statement.h"
#include "coordinator/store/store.h"
#include "coordinator/store/sweep_json.h"
#include "nlohmann/json.hpp"

namespace inlier {

inline std::string Json(const v1::SweepSpec& spec) {
  absl::StatusOr<std::string> json = SweepSpecToJson(spec);
  if (!json.ok()) throw SQLite::Exception(std::string(json.status().message()), SQLITE_INTERNAL);
  return *std::move(json);
}

// A value of TrialState as it is stored: PENDING for RUNNING, which a live attempt implies.
inline const std::string& StoredState(v1::TrialState state) {
  return v1::TrialState_Name(state == v1::RUNNING ? v1::PENDING : state);
}

// Writes changes inside the transaction of Store::Apply: one change with one or two statements, which are
// prepared once; new attempts, stages, trials and measurements with many rows a statement. The statement of a
// change that comes from a worker requires the live attempt of its token. Errors are SQLite::Exception.
class Store::Writer {
 public:
  // `leftovers` gets the stages that StageGone has emptied in part.
  Writer(SQLite::Database& database, std::set<StageId>& leftovers)
      : database_(database), leftovers_(leftovers) {}

  // Applies the first of `changes` and returns their number. `live` becomes false when they were dropped
  // because their token's attempt is not live.
  std::size_t ApplyFirst(std::span<const Change> changes, bool& live) {
    live = true;
    if (const auto* first = std::get_if<MeasurementRow>(&changes.front())) {
      const std::size_t run = RunOf(changes, [first](const Change& change) {
        const auto* row = std::get_if<MeasurementRow>(&change);
        return row != nullptr && row->token == first->token;
      });
      live = Insert(RowsOf<MeasurementRow>(changes.first(run)));
      return run;
    }
    if (const std::size_t run = RunOf(changes, [](const Change& change) {
          return std::holds_alternative<StageRow>(change) || std::holds_alternative<TrialRow>(change);
        })) {
      Insert(RowsOf<StageRow>(changes.first(run)));  // First: the trials name them.
      Insert(RowsOf<TrialRow>(changes.first(run)));
      return run;
    }
    if (const std::size_t run =
            RunOf(changes, [](const Change& change) { return std::holds_alternative<AttemptRow>(change); })) {
      Insert(RowsOf<AttemptRow>(changes.first(run)));
      return run;
    }
    live = std::visit([this](const auto& change) { return Apply(change); }, changes.front());
    return 1;
  }

  // Deletes a part of the rows of a stage that is EMPTY; true when nothing of it is left.
  bool Thin(StageId stage) {
    // Not the latest row: the numbers of rows only grow.
    const int measurements = Run(
        "DELETE FROM measurement WHERE id IN (SELECT id FROM measurement WHERE token IN (SELECT token FROM "
        "attempt WHERE stage = (SELECT id FROM stage WHERE id = ?1 AND fate = 'EMPTY')) "
        "AND id < (SELECT max(id) FROM measurement) LIMIT ?2)",
        stage, kRowsThinned);
    const int lines =
        Run("DELETE FROM log WHERE id IN (SELECT id FROM log WHERE token IN (SELECT token FROM "
            "attempt WHERE stage = (SELECT id FROM stage WHERE id = ?1 AND fate = 'EMPTY')) "
            "AND id < (SELECT max(id) FROM log) LIMIT ?2)",
            stage, kRowsThinned);
    return measurements < kRowsThinned && lines < kRowsThinned;
  }

  // Stores, before COMMIT, what depends on the whole transaction.
  void Finish() {
    if (next_token_ != 0) Run("UPDATE meta SET value = max(value, ?1) WHERE key = 'next_token'", next_token_);
    next_token_ = 0;
  }

 private:
  // Runs `sql`, which is a literal; returns the number of rows it changed.
  template <typename... Values>
  int Run(std::string_view sql, const Values&... values) {
    return statements_.try_emplace(sql, database_, sql).first->second.Run(values...);
  }
  // Runs `sql` for the row that ?1 names. A missing row is a programmer's error: it fails the transaction.
  template <typename Tag, typename... Values>
  bool Update(std::string_view sql, StrongId<Tag> id, const Values&... values) {
    return RequireOneRow(Run(sql, id, values...), id.ToString());
  }
  static bool RequireOneRow(int changed, const std::string& row) {
    if (changed != 1) throw SQLite::Exception(absl::StrCat(row, " is not in the database"), SQLITE_INTERNAL);
    return true;
  }

  bool Insert(const std::vector<const MeasurementRow*>& rows) {
    is_live_.Restart(rows.front()->token);
    const bool live = is_live_.Next();
    is_live_.Restart();
    if (!live) return false;
    measurements_.Insert(std::span(rows), BindMeasurement);
    return true;
  }

  void Insert(const std::vector<const StageRow*>& rows) {
    stages_.Insert(std::span(rows), [](const StageRow& row, Statement& values) {
      values.Bind(row.id, v1::StageKind_Name(row.kind), row.fingerprint, OrNull(row.train_stage),
                  OrNull(row.start_stage), row.spec_json, row.steps, OrNull(row.data), OrNull(row.previous));
    });
  }

  void Insert(const std::vector<const TrialRow*>& rows) {
    trials_.Insert(std::span(rows), [](const TrialRow& row, Statement& values) {
      values.Bind(row.id, row.sweep, row.point, OrNull(row.train_stage), OrNull(row.evaluate_stage),
                  StoredState(row.state), row.message, row.labels_json, row.known, OrNull(row.spec_json));
    });
  }

  void Insert(const std::vector<const AttemptRow*>& rows) {
    attempts_.Insert(std::span(rows), [](const AttemptRow& row, Statement& values) {
      values.Bind(row.token, row.stage, row.number, row.worker, row.slot, row.resume_step, row.started_at,
                  row.sweep, row.request.gpu_thousandths, row.request.memory_mib, row.request.gpu_memory_mib,
                  row.gpu_share_thousandths, nlohmann::json(row.further_slots).dump());
    });
    for (const AttemptRow* row : rows) {
      if (row->number > 1) Overwrite(row->token, row->resume_step);
      next_token_ = std::max(next_token_, row->token + 1);
    }
  }

  // Resuming from step s overwrites the measurements of earlier attempts after s; from scratch, all of them.
  void Overwrite(Token token, std::uint64_t resume_step) {
    Run("UPDATE OR ROLLBACK attempt SET visible_until = iif(?2 = 0, -1, ?2) "
        "WHERE stage = (SELECT stage FROM attempt WHERE token = ?1) AND token < ?1 "
        "AND (visible_until IS NULL OR visible_until > ?2)",
        token, resume_step);
  }

  // ApplyFirst inserts these in runs.
  template <typename Row>
    requires std::same_as<Row, AttemptRow> || std::same_as<Row, StageRow> || std::same_as<Row, TrialRow> ||
             std::same_as<Row, MeasurementRow>
  bool Apply(const Row&) {
    INLIER_CHECK(false);
  }

  // The specification as it is stored with its sweep. Its program's source has a row of its own.
  std::string Stored(const v1::SweepSpec& spec) {
    if (!spec.program().has_source()) return Json(spec);
    const v1::ProgramUse& program = spec.program();
    Run("INSERT INTO program_source (digest, program, commit_id, diff) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT (digest) DO NOTHING",
        program.digest(), program.name(), program.source().commit(), program.source().diff());
    v1::SweepSpec rest = spec;
    rest.mutable_program()->clear_source();
    return Json(rest);
  }

  bool Apply(const SweepRow& row) {
    Run("INSERT INTO sweep (id, name, spec, points, trials, trials_known, request_id, request_digest, "
        "submitted_ms, trials_at_submit, owner, again) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        row.id, row.spec.name(), Stored(row.spec), row.points, row.trials, row.trials_known,
        OrNull(row.request_id), row.request_digest, row.submitted_at, row.trials_at_submit, row.owner,
        row.again);
    if (row.spec.has_imported()) Run("INSERT INTO import (sweep) VALUES (?1)", row.id);
    return true;
  }

  bool Apply(const SweepChange& change) {
    if (change.state)
      Update("UPDATE sweep SET state = ?2, ended_ms = iif(?2 = 'ACTIVE', NULL, ?3) WHERE id = ?1", change.id,
             v1::SweepState_Name(*change.state), change.at);
    if (change.paused) Update("UPDATE sweep SET paused = ?2 WHERE id = ?1", change.id, *change.paused);
    if (change.trials) Update("UPDATE sweep SET trials = ?2 WHERE id = ?1", change.id, *change.trials);
    if (change.next_point)
      Update("UPDATE sweep SET next_point = ?2 WHERE id = ?1", change.id, *change.next_point);
    return true;
  }

  bool Apply(const SweepEdited& change) {
    return Update(
        "UPDATE sweep SET spec = ?2, points = ?3, trials = ?4, next_point = ?5, revision = ?6 WHERE id = ?1",
        change.id, Stored(change.spec), change.points, change.trials, change.next_point, change.revision);
  }

  bool Apply(const SweepLabelled& change) {
    const SweepOrder& order = change.order;
    return Update(
        "UPDATE OR ROLLBACK sweep SET name = ?2, spec = iif(name = ?2, spec, json_set(spec, '$.name', ?2)), "
        "archived = ?3, tags = ?4, note = ?5, removed_ms = ?6, freed = ?7 WHERE id = ?1",
        change.id, change.name, order.archived, nlohmann::json(order.tags).dump(), order.note, order.removed,
        order.freed);
  }

  bool Apply(const StageGone& change) {
    Update("UPDATE OR ROLLBACK stage SET fate = ?2 WHERE id = ?1", change.id, FateName(change.fate));
    if (change.fate == StageFate::kEmpty && !Thin(change.id)) leftovers_.insert(change.id);
    return true;
  }

  bool Apply(const RunImported& run) {
    imports_.Write(run);
    next_token_ = std::max(next_token_, run.token + 2);
    return true;
  }

  // The point of a withdrawn trial is unique, and below every point of the grid.
  bool Apply(const TrialMoved& change) {
    return Update("UPDATE OR ROLLBACK trial SET point = coalesce(?2, -id) WHERE id = ?1", change.id,
                  change.point);
  }

  bool Apply(const TrialChange& change) {
    return Update("UPDATE OR ROLLBACK trial SET state = ?2, message = ?3 WHERE id = ?1", change.id,
                  StoredState(change.state), change.message);
  }

  bool Apply(const StageChange& change) {
    const StageFailures& failures = change.failures;
    return Update(
        "UPDATE OR ROLLBACK stage SET state = ?2, crashes = ?3, out_of_memory = ?4, losses = ?5, "
        "invalid = ?6, message = ?7, ran_ms = ?8 WHERE id = ?1",
        change.id, StoredState(change.state), failures.crashes, failures.out_of_memory, failures.losses,
        failures.invalid, change.message, change.ran_ms);
  }

  bool Apply(const StageMemory& change) {
    return Update("UPDATE OR ROLLBACK stage SET memory_mib = ?2, gpu_memory_mib = ?3 WHERE id = ?1",
                  change.id, change.memory_mib, change.gpu_memory_mib);
  }

  bool Apply(const DataRow& row) {
    Run("INSERT INTO data (id, names, digest, worker, at_ms) VALUES (?1, ?2, ?3, ?4, ?5) "
        "ON CONFLICT (id) DO UPDATE SET worker = ?4, at_ms = ?5",
        row.id, row.names, row.digest ? std::optional(HexOf(*row.digest)) : std::nullopt, row.worker, row.at);
    return true;
  }

  bool Apply(const StageData& change) {
    return Update("UPDATE OR ROLLBACK stage SET data = ?2 WHERE id = ?1", change.id, change.data);
  }

  bool Apply(const SweepUsage& row) {
    return Update(
        "INSERT OR REPLACE INTO sweep_usage (sweep, attempt_ms, gpu_ms, charged_gpu_ms, at_ms, log_lines) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        row.id, row.attempt_ms, row.gpu_ms, row.charged_gpu_ms, row.at, row.log_lines);
  }

  bool Apply(const TokenTaken& change) {
    next_token_ = std::max(next_token_, change.token + 1);
    return true;
  }

  bool Apply(const AttemptYields& change) {
    return Run("UPDATE OR ROLLBACK attempt SET yields = ?2, timed_out = ?3 "
               "WHERE token = ?1 AND ended_ms IS NULL",
               change.token, change.reason, change.timed_out) == 1;
  }

  bool Apply(const AttemptInfo& change) {
    const v1::Started& started = change.started;
    const bool live =
        Run("UPDATE OR ROLLBACK attempt SET pid = ?2, build = ?3, torch_version = ?4, cuda_version = ?5, "
            "device = ?6, threads = ?7, host = ?8, resumed_step = ?9, dataset_digest = ?10, parameters = ?11 "
            "WHERE token = ?1 AND ended_ms IS NULL",
            change.token, started.pid(), started.build(), started.torch_version(), started.cuda_version(),
            started.device(), started.threads(), started.host(), started.resumed_step(),
            started.dataset_digest(), started.parameters()) == 1;
    if (live) Overwrite(change.token, started.resumed_step());
    return live;
  }

  bool Apply(const AttemptPeak& change) {
    return Run("UPDATE OR ROLLBACK attempt SET peak_memory_mib = ?2, peak_gpu_memory_mib = ?3 "
               "WHERE token = ?1 AND ended_ms IS NULL",
               change.token, change.memory_mib, change.gpu_memory_mib) == 1;
  }

  bool Apply(const AttemptEnded& change) {
    INLIER_CHECK(change.outcome != v1::PENDING && change.outcome != v1::RUNNING);
    const bool preempted = change.failure == v1::PREEMPTED;
    const std::string& outcome =
        preempted ? v1::FailureClass_Name(v1::PREEMPTED) : v1::TrialState_Name(change.outcome);
    if (change.outcome == v1::SUCCEEDED || change.outcome == v1::DIVERGED) {
      const int stages =
          Run("UPDATE OR ROLLBACK stage SET state = ?2, result_token = ?1, message = ?3, "
              "checkpoint = iif(kind = 'TRAIN_STAGE' AND ?2 = 'SUCCEEDED', "
              "(SELECT sha256 FROM artifact WHERE token = ?1 AND final = 1 ORDER BY id DESC LIMIT 1), NULL) "
              "WHERE id = (SELECT stage FROM attempt WHERE token = ?1 AND ended_ms IS NULL)",
              change.token, outcome, change.message);
      if (stages == 0) return false;
    }
    const std::string failure = change.failure ? v1::FailureClass_Name(*change.failure) : "";
    return Run("UPDATE OR ROLLBACK attempt SET ended_ms = ?2, outcome = ?3, failure = ?4, message = ?5 "
               "WHERE token = ?1 AND ended_ms IS NULL",
               change.token, change.at, outcome, OrNull(failure), change.message) == 1;
  }

  bool Apply(const LogRow& row) {
    return Run("INSERT INTO log (token, at_ms, text) SELECT ?1, ?2, ?3 FROM attempt "
               "WHERE token = ?1 AND ended_ms IS NULL",
               row.token, row.at, row.text) == 1;
  }

  bool Apply(const CheckpointRow& row) {
    return Run("INSERT INTO artifact (token, kind, step, saved_as, sha256, bytes, final, at_ms) "
               "SELECT ?1, 'CHECKPOINT', ?2, ?3, ?4, ?5, ?6, ?7 FROM attempt "
               "WHERE token = ?1 AND ended_ms IS NULL",
               row.token, row.step, OrNull(row.path), row.sha256, row.bytes, row.final, row.at) == 1;
  }

  bool Apply(const EventRow& row) {
    Run("INSERT INTO event (at_ms, kind, sweep, trial, stage, token, worker, message, notice) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        row.at, row.kind, OrNull(row.sweep), OrNull(row.trial), OrNull(row.stage), OrNull(row.token),
        OrNull(row.worker), row.message, OrNull(row.notice));
    return true;
  }

  bool Apply(const WorkerRow& row) {
    // A worker may send any bytes: invalid UTF-8 becomes U+FFFD.
    const std::string devices =
        nlohmann::json(row.devices).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    Run("INSERT INTO worker (incarnation, name, host, version, slots, devices, draining, connected, "
        "last_seen_ms, held, memory_mib, device_memory_mib, used) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (incarnation) DO UPDATE "
        "SET name = ?2, host = ?3, version = ?4, slots = ?5, devices = ?6, draining = ?7, connected = ?8, "
        "last_seen_ms = ?9, held = ?10, memory_mib = ?11, device_memory_mib = ?12, used = ?13",
        row.incarnation, row.name, row.host, row.version, row.slots, devices, row.draining, row.connected,
        row.last_seen, row.held, row.memory_mib, nlohmann::json(row.device_memory_mib).dump(), row.used);
    return true;
  }

  bool Apply(const WorkerForgotten& change) {
    Run("DELETE FROM worker WHERE incarnation = ?1 AND NOT used", change.incarnation);
    return true;
  }

  bool Apply(const WorkerAcknowledged& change) {
    return RequireOneRow(
        Run("UPDATE worker SET acknowledged_sequence = max(acknowledged_sequence, ?2) WHERE incarnation = ?1",
            change.incarnation, change.sequence),
        absl::StrCat("worker ", change.incarnation));
  }

  bool Apply(const PruningDecision& row) {
    return Run("INSERT INTO pruning_decision (sweep, stage, token, rung, step, value, verdict, others, "
               "threshold, at_ms, bracket) SELECT ?1, ?2, ?3, ?4, ?5, ?6, iif(?7, 'PRUNE', 'CONTINUE'), ?8, "
               "?9, "
               "?10, ?11 "
               "FROM attempt WHERE token = ?3 AND ended_ms IS NULL",
               row.sweep, row.stage, row.token, row.rung, row.step, row.value, row.prune, row.others,
               row.threshold, row.at, row.bracket) == 1;
  }

  bool Apply(const SearchPointRow& row) {
    Run("INSERT INTO search_point (sweep, number, point_values, told, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        row.sweep, row.number, ValuesJson(row.point), ToldJson(row.point), row.at);
    return true;
  }

  bool Apply(const TrialPruning& row) {
    INLIER_CHECK(row.state != TrialPruningState::kNone);
    return Update(
        "INSERT INTO trial_pruning (trial, state) VALUES (?1, iif(?2, 'PRUNED', 'KEPT')) "
        "ON CONFLICT (trial) DO UPDATE SET state = excluded.state",
        row.id, row.state == TrialPruningState::kPruned);
  }

  bool Apply(const RequestRow& row) {
    Run("INSERT INTO request (number, id, method, digest, answer, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        row.number, row.id, row.method, row.digest, Blob{row.answer}, row.at);
    if (row.number > kRequestsKept) Run("DELETE FROM request WHERE number <= ?1", row.number - kRequestsKept);
    return true;
  }

  bool Apply(const AuditRow& row) {
    Run("INSERT INTO audit_entry (at_ms, caller, role, peer, method, sweep, trial, worker, outcome, message, "
        "request, digest, calls) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        row.at, row.caller, row.role, row.peer, row.method, OrNull(row.sweep), OrNull(row.trial),
        OrNull(row.worker), row.outcome, row.message, row.request, OrNull(row.digest), row.calls);
    return true;
  }

  bool Apply(const AnalysisRow& row) {
    Run("INSERT INTO analysis (id, model, model_sha256, spec, owner, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        row.id, row.model, OrNull(row.model_sha256), OrNull(row.spec_json), row.owner, row.at);
    for (const v1::AnalysisNumber& number : row.numbers) {
      Run("INSERT INTO analysis_number (analysis, setting, name, site, value) VALUES (?1, ?2, ?3, ?4, ?5)",
          row.id, number.setting(), number.name(), number.site(),
          number.has_value() && std::isfinite(number.value()) ? std::optional(number.value()) : std::nullopt);
    }
    return true;
  }

  bool Apply(const ServiceStatement& change) {
    Statement& statement = statements_.try_emplace(change.sql, database_, change.sql).first->second;
    statement.Restart();
    for (const SqlValue& value : change.values) statement.Bind(value);
    statement.Run();
    return true;
  }

  SQLite::Database& database_;
  std::set<StageId>& leftovers_;
  std::map<std::string_view, Statement> statements_;  // By their SQL.
  Statement is_live_{database_, "SELECT 1 FROM attempt WHERE token = ?1 AND ended_ms IS NULL"};
  RowInserter measurements_{database_, kMeasurementColumns};
  ImportWriter imports_{database_};
  RowInserter stages_{database_,
                      "stage (id, kind, fingerprint, train_stage, start_stage, spec, steps, data, previous)"};
  RowInserter trials_{
      database_,
      "trial (id, sweep, point, train_stage, evaluate_stage, state, message, labels, known, spec)"};
  RowInserter attempts_{database_,
                        "attempt (token, stage, number, worker, slot, resume_step, started_ms, sweep, "
                        "gpu_thousandths, memory_mib, gpu_memory_mib, gpu_share_thousandths, further_slots)"};
  Token next_token_ = 0;  // 0: this transaction starts no attempt.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_CHANGE_WRITER_H_
