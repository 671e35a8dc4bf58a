#include "coordinator/store/change_applier.h"

#include <sqlite3.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordinator/store/row_inserter.h"
#include "coordinator/store/statement.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/store/trial_writer.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

// A change of a row that is not there is a programmer's error: it fails the transaction.
void RequireOneRow(int changed, const std::string& what) {
  if (changed != 1) throw SQLite::Exception(absl::StrCat(what, " is not in the database"), SQLITE_INTERNAL);
}

template <typename T>
std::optional<T> Unless(bool empty, T value) {
  return empty ? std::nullopt : std::optional<T>(std::move(value));
}

template <typename Tag>
std::optional<std::int64_t> IdOrNull(StrongId<Tag> id) {
  return Unless(!id, id.value());
}

std::string Json(const v1::SweepSpec& spec) {
  absl::StatusOr<std::string> json = SweepSpecToJson(spec);
  if (!json.ok()) throw SQLite::Exception(std::string(json.status().message()), SQLITE_INTERNAL);
  return *std::move(json);
}

// SQLite's integers end at 2^63 - 1.
std::int64_t Clamp(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

struct ChangeApplier::Statements {
  explicit Statements(SQLite::Database& database) : db(database) {}

  SQLite::Database& db;
  BoundStatement new_sweep{db,
                           "INSERT INTO sweep (id, name, spec, points, trials, trials_known, request_id, "
                           "request_digest, submitted_ms, trials_at_submit) "
                           "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"};
  BoundStatement sweep_state{
      db, "UPDATE sweep SET state = ?2, ended_ms = iif(?2 = 'ACTIVE', NULL, ?3) WHERE id = ?1"};
  BoundStatement sweep_point{db, "UPDATE sweep SET next_point = ?2 WHERE id = ?1"};
  BoundStatement sweep_paused{db, "UPDATE sweep SET paused = ?2 WHERE id = ?1"};
  BoundStatement sweep_edited{
      db,
      "UPDATE sweep SET spec = ?2, points = ?3, trials = ?4, next_point = ?5, revision = ?6 WHERE id = ?1"};
  BoundStatement stage_state{
      db,
      "UPDATE OR ROLLBACK stage SET state = ?2, crashes = ?3, out_of_memory = ?4, losses = ?5, "
      "invalid = ?6, message = ?7 "
      "WHERE id = ?1"};
  // Of a trial that is no point any more: unique, and below every point.
  BoundStatement trial_point{db, "UPDATE OR ROLLBACK trial SET point = coalesce(?2, -id) WHERE id = ?1"};
  BoundStatement trial_state{db, "UPDATE OR ROLLBACK trial SET state = ?2, message = ?3 WHERE id = ?1"};

  BoundStatement attempt_yields{
      db, "UPDATE OR ROLLBACK attempt SET yields = ?2 WHERE token = ?1 AND ended_ms IS NULL"};
  RowInserter new_attempts{db,
                           "attempt (token, stage, number, worker, slot, resume_step, started_ms, sweep, "
                           "gpu_thousandths, memory_mib, gpu_memory_mib)"};
  // Resuming from step s overwrites the measurements of earlier attempts after s; from scratch, all of them.
  BoundStatement overwrite{db,
                           "UPDATE OR ROLLBACK attempt SET visible_until = iif(?2 = 0, -1, ?2) "
                           "WHERE stage = (SELECT stage FROM attempt WHERE token = ?1) AND token < ?1 "
                           "AND (visible_until IS NULL OR visible_until > ?2)"};
  BoundStatement attempt_info{
      db,
      "UPDATE OR ROLLBACK attempt SET pid = ?2, build = ?3, torch_version = ?4, cuda_version = "
      "?5, device = ?6, threads = ?7, "
      "host = ?8, resumed_step = ?9, dataset_digest = ?10, parameters = ?11 "
      "WHERE token = ?1 AND ended_ms IS NULL"};
  BoundStatement stage_result{
      db,
      "UPDATE OR ROLLBACK stage SET state = ?2, result_token = ?1, message = ?3, checkpoint = iif(kind = "
      "'TRAIN_STAGE' "
      "AND ?2 = 'SUCCEEDED', "
      "(SELECT sha256 FROM artifact WHERE token = ?1 AND final = 1 ORDER BY id DESC LIMIT 1), NULL) "
      "WHERE id = (SELECT stage FROM attempt WHERE token = ?1 AND ended_ms IS NULL)"};
  BoundStatement attempt_ended{
      db,
      "UPDATE OR ROLLBACK attempt SET ended_ms = ?2, outcome = ?3, failure = ?4, message = ?5 "
      "WHERE token = ?1 AND ended_ms IS NULL"};
  BoundStatement log{db,
                     "INSERT INTO log (token, at_ms, text) SELECT ?1, ?2, ?3 FROM attempt WHERE token = ?1 "
                     "AND ended_ms IS NULL"};
  BoundStatement checkpoint{
      db,
      "INSERT INTO artifact (token, kind, step, path, sha256, bytes, final, at_ms) "
      "SELECT ?1, 'CHECKPOINT', ?2, ?3, ?4, ?5, ?6, ?7 FROM attempt WHERE token = ?1 AND ended_ms IS NULL"};
  BoundStatement event{db,
                       "INSERT INTO event (at_ms, kind, sweep, trial, stage, token, worker, message, notice) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"};
  BoundStatement worker{
      db,
      "INSERT INTO worker (incarnation, name, host, version, slots, devices, draining, connected, "
      "last_seen_ms, held, memory_mib, device_memory_mib) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (incarnation) DO UPDATE SET "
      "name = "
      "excluded.name, "
      "host = excluded.host, version = excluded.version, slots = excluded.slots, devices = excluded.devices, "
      "draining = excluded.draining, connected = excluded.connected, last_seen_ms = excluded.last_seen_ms, "
      "held = excluded.held, memory_mib = excluded.memory_mib, device_memory_mib = "
      "excluded.device_memory_mib"};
  BoundStatement pruning_decision{
      db,
      "INSERT INTO pruning_decision (sweep, stage, token, rung, step, value, verdict, others, threshold, "
      "at_ms) "
      "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM attempt WHERE token = ?3 AND ended_ms IS NULL"};
  BoundStatement trial_pruning{db,
                               "INSERT INTO trial_pruning (trial, state) VALUES (?1, ?2) "
                               "ON CONFLICT (trial) DO UPDATE SET state = excluded.state"};
  BoundStatement acknowledged{
      db, "UPDATE worker SET acknowledged_sequence = max(acknowledged_sequence, ?2) WHERE incarnation = ?1"};
  BoundStatement request{
      db, "INSERT INTO request (number, id, method, digest, answer, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"};
  BoundStatement forget_requests{db, "DELETE FROM request WHERE number <= ?1"};
  BoundStatement attempt_peak{db,
                              "UPDATE OR ROLLBACK attempt SET peak_memory_mib = ?2, peak_gpu_memory_mib = ?3 "
                              "WHERE token = ?1 AND ended_ms IS "
                              "NULL"};
  BoundStatement stage_memory{
      db, "UPDATE OR ROLLBACK stage SET memory_mib = ?2, gpu_memory_mib = ?3 WHERE id = ?1"};
  BoundStatement next_token{db, "UPDATE meta SET value = max(value, ?1) WHERE key = 'next_token'"};
};

ChangeApplier::ChangeApplier(SQLite::Database& database) : sql_(std::make_unique<Statements>(database)) {}
ChangeApplier::~ChangeApplier() = default;

bool ChangeApplier::Apply(const Change& change) {
  return std::visit([this](const auto& alternative) { return Apply(alternative); }, change);
}

void ChangeApplier::Finish() {
  if (next_token_ != 0) sql_->next_token.Run(next_token_);
  next_token_ = 0;
}

bool ChangeApplier::Apply(const SweepRow& change) {
  const std::string spec = Json(change.spec);
  const std::optional<std::string> request = Unless(change.request_id.empty(), change.request_id);
  sql_->new_sweep.Run(change.id, change.spec.name(), spec, Clamp(change.points), Clamp(change.trials),
                      Clamp(change.trials_known), request, change.request_digest, change.submitted_at,
                      Clamp(change.trials_at_submit));
  return true;
}

bool ChangeApplier::Apply(const SweepChange& change) {
  const std::string what = change.id.ToString();
  if (change.state.has_value())
    RequireOneRow(sql_->sweep_state.Run(change.id, v1::SweepState_Name(*change.state), change.at), what);
  if (change.paused.has_value()) RequireOneRow(sql_->sweep_paused.Run(change.id, *change.paused), what);
  if (change.next_point.has_value())
    RequireOneRow(sql_->sweep_point.Run(change.id, Clamp(*change.next_point)), what);
  return true;
}

bool ChangeApplier::Apply(const SweepEdited& change) {
  RequireOneRow(
      sql_->sweep_edited.Run(change.id, Json(change.spec), Clamp(change.points), Clamp(change.trials),
                             Clamp(change.next_point), Clamp(change.revision)),
      change.id.ToString());
  return true;
}

bool ChangeApplier::Apply(const TrialMoved& change) {
  std::optional<std::int64_t> point;
  if (change.point.has_value()) point = Clamp(*change.point);
  RequireOneRow(sql_->trial_point.Run(change.id, point), change.id.ToString());
  return true;
}

bool ChangeApplier::Apply(const TrialChange& change) {
  RequireOneRow(sql_->trial_state.Run(change.id, StoredState(change.state), change.message),
                change.id.ToString());
  return true;
}

bool ChangeApplier::Apply(const StageChange& change) {
  const StageFailures& failures = change.failures;
  RequireOneRow(
      sql_->stage_state.Run(change.id, StoredState(change.state), failures.crashes, failures.out_of_memory,
                            failures.losses, failures.invalid, change.message),
      change.id.ToString());
  return true;
}

void ChangeApplier::Start(std::span<const Change> run) {
  sql_->new_attempts.Insert(run, [](const Change& change, RowValues& values) {
    const auto& start = std::get<AttemptRow>(change);
    values.Integer(start.token)
        .Integer(start.stage)
        .Integer(start.number)
        .Text(start.worker)
        .Integer(start.slot);
    values.Integer(start.resume_step).Integer(start.started_at.unix_ms).Integer(start.sweep);
    values.Integer(start.request.gpu_thousandths).Integer(start.request.memory_mib);
    values.Integer(start.request.gpu_memory_mib);
  });
  for (const Change& change : run) {
    const auto& start = std::get<AttemptRow>(change);
    if (start.number > 1) sql_->overwrite.Run(start.token, Clamp(start.resume_step));
    next_token_ = std::max(next_token_, start.token + 1);
  }
}

bool ChangeApplier::Apply(const AttemptYields& change) {
  return sql_->attempt_yields.Run(change.token, change.reason) == 1;
}

bool ChangeApplier::Apply(const AttemptInfo& change) {
  const v1::Started& started = change.started;
  const bool live = sql_->attempt_info.Run(change.token, started.pid(), started.build(),
                                           started.torch_version(), started.cuda_version(), started.device(),
                                           started.threads(), started.host(), started.resumed_step(),
                                           started.dataset_digest(), Clamp(started.parameters())) == 1;
  if (live) sql_->overwrite.Run(change.token, started.resumed_step());
  return live;
}

bool ChangeApplier::Apply(const AttemptEnded& change) {
  INLIER_CHECK(change.outcome != v1::PENDING && change.outcome != v1::RUNNING);
  const std::string& outcome = v1::TrialState_Name(change.outcome);
  if (change.outcome == v1::SUCCEEDED || change.outcome == v1::DIVERGED) {
    if (sql_->stage_result.Run(change.token, outcome, change.message) == 0) return false;
  }
  std::optional<std::string> failure;
  if (change.failure.has_value()) failure = v1::FailureClass_Name(*change.failure);
  return sql_->attempt_ended.Run(change.token, change.at, outcome, failure, change.message) == 1;
}

bool ChangeApplier::Apply(const LogRow& change) {
  return sql_->log.Run(change.token, change.at, change.text) == 1;
}

bool ChangeApplier::Apply(const CheckpointRow& change) {
  return sql_->checkpoint.Run(change.token, Clamp(change.step), change.path, change.sha256,
                              Clamp(change.bytes), change.final, change.at) == 1;
}

bool ChangeApplier::Apply(const EventRow& change) {
  sql_->event.Run(change.at, change.kind, IdOrNull(change.sweep), IdOrNull(change.trial),
                  IdOrNull(change.stage), Unless(change.token == 0, change.token),
                  Unless(change.worker.empty(), change.worker), change.message,
                  Unless(change.notice == 0, Clamp(change.notice)));
  return true;
}

bool ChangeApplier::Apply(const WorkerRow& change) {
  // A worker may send any bytes: invalid UTF-8 is shown as U+FFFD instead of ending the process.
  const std::string devices =
      nlohmann::json(change.devices).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  sql_->worker.Run(change.incarnation, change.name, change.host, change.version, change.slots, devices,
                   change.draining, change.connected, change.last_seen, change.held, Clamp(change.memory_mib),
                   nlohmann::json(change.device_memory_mib).dump());
  return true;
}

bool ChangeApplier::Apply(const WorkerAcknowledged& change) {
  RequireOneRow(sql_->acknowledged.Run(change.incarnation, Clamp(change.sequence)),
                absl::StrCat("worker ", change.incarnation));
  return true;
}

bool ChangeApplier::Apply(const PruningDecision& change) {
  return sql_->pruning_decision.Run(change.sweep, change.stage, change.token, Clamp(change.rung),
                                    Clamp(change.step), change.value,
                                    std::string(change.prune ? "PRUNE" : "CONTINUE"), Clamp(change.others),
                                    change.threshold, change.at) == 1;
}

bool ChangeApplier::Apply(const TrialPruning& change) {
  INLIER_CHECK(change.state != TrialPruningState::kNone);
  const std::string state = change.state == TrialPruningState::kPruned ? "PRUNED" : "KEPT";
  RequireOneRow(sql_->trial_pruning.Run(change.id, state), change.id.ToString());
  return true;
}

bool ChangeApplier::Apply(const RequestRow& change) {
  sql_->request.Run(Clamp(change.number), change.id, change.method, change.digest, Blob{change.answer},
                    change.at);
  if (change.number > kRequestsKept) sql_->forget_requests.Run(Clamp(change.number - kRequestsKept));
  return true;
}

bool ChangeApplier::Apply(const AttemptPeak& change) {
  const auto known = [](std::optional<std::uint64_t> mib) {
    return mib ? std::optional<std::int64_t>(Clamp(*mib)) : std::nullopt;
  };
  return sql_->attempt_peak.Run(change.token, known(change.memory_mib), known(change.gpu_memory_mib)) == 1;
}

bool ChangeApplier::Apply(const StageMemory& change) {
  RequireOneRow(sql_->stage_memory.Run(change.id, Clamp(change.memory_mib), Clamp(change.gpu_memory_mib)),
                change.id.ToString());
  return true;
}

}  // namespace inlier
