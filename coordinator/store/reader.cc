#include "coordinator/store/reader.h"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/status.h"
#include "coordinator/store/database.h"
#include "coordinator/store/not_found.h"
#include "coordinator/store/query_guard.h"
#include "coordinator/store/sqlite_handle.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/store/views/derived_sql.h"
#include "coordinator/store/views/program_list.h"
#include "spec/schema/limits.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::uint32_t kPageSizeMax = 10000;

void Bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    sqlite3_bind_int64(statement, index, *integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    sqlite3_bind_double(statement, index, *real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    sqlite3_bind_text(statement, index, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
  }
}

SqlValue ColumnValue(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return std::monostate();
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    default:
      return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, column)),
                         static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
  }
}

bool IsNull(const SqlValue& value) { return std::holds_alternative<std::monostate>(value); }

// Selects the columns of a SweepStatus of sweep ?1, in the order of FillSweep, with the counts of its trials
// in one pass.
std::string SelectSweep() {
  return absl::StrCat(
      "WITH counts AS (SELECT sweep, "
      "count(*) FILTER (WHERE state = 'PENDING') AS open, "
      "count(*) FILTER (WHERE state = 'PENDING' AND ",
      kTrialRuns,
      ") AS running, "
      "count(*) FILTER (WHERE state = 'SUCCEEDED') AS succeeded, "
      "count(*) FILTER (WHERE state = 'DIVERGED') AS diverged, "
      "count(*) FILTER (WHERE state = 'FAILED') AS failed, "
      "count(*) FILTER (WHERE state = 'CANCELLED') AS cancelled "
      "FROM trial WHERE sweep = ?1 AND point >= 0 GROUP BY sweep) "
      "SELECT id, name, state, submitted_ms, ended_ms, open - running, running, succeeded, diverged, failed, "
      "cancelled, (SELECT count(*) FROM trial_pruning JOIN trial ON trial.id = trial_pruning.trial "
      "WHERE trial.sweep = sweep.id AND trial.point >= 0 AND trial_pruning.state = 'PRUNED'), spec "
      "FROM sweep LEFT JOIN counts ON counts.sweep = sweep.id WHERE id = ?1");
}

void FillSweep(const std::vector<SqlValue>& row, v1::SweepStatus* status) {
  status->set_sweep_id(SweepId(Integer(row[0])).ToString());
  status->set_name(Text(row[1]));
  v1::SweepState state = v1::ACTIVE;
  v1::SweepState_Parse(Text(row[2]), &state);
  status->set_state(state);
  status->set_submitted_unix_ms(Integer(row[3]));
  if (!IsNull(row[4])) status->set_ended_unix_ms(Integer(row[4]));
  v1::TrialCounts* counts = status->mutable_trials();
  counts->set_pending(Integer(row[5]));
  counts->set_running(Integer(row[6]));
  counts->set_succeeded(Integer(row[7]));
  counts->set_diverged(Integer(row[8]));
  counts->set_failed(Integer(row[9]));
  counts->set_cancelled(Integer(row[10]));
  counts->set_pruned(Integer(row[11]));
}

// Ends a ForEach.
absl::Status PageIsFull() { return absl::CancelledError("the page is full"); }

}  // namespace

struct Reader::Pool {
  std::filesystem::path path;
  int limit = 1;
  Duration select_time{};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::condition_variable returned;
  // A guarded connection, and its schema: see FollowViews.
  struct Connection {
    SqliteHandle handle;
    std::int64_t schema = 0;
  };
  std::vector<Connection> idle;
  int in_use = 0;

  // Runs `use` with a connection of its own.
  absl::Status With(const std::function<absl::Status(sqlite3*)>& use) {
    std::unique_lock lock(mutex);
    returned.wait(lock, [&] { return !idle.empty() || in_use < limit; });
    Connection connection;
    if (!idle.empty()) {
      connection = std::move(idle.back());
      idle.pop_back();
    }
    ++in_use;
    lock.unlock();
    const absl::Status status = UseOrOpen(connection, use);
    lock.lock();
    --in_use;
    if (connection.handle != nullptr) idle.push_back(std::move(connection));
    returned.notify_one();
    return status;
  }

  // Steps through `statement`. Its time includes that of `visit`.
  absl::Status Step(sqlite3* connection, sqlite3_stmt* statement,
                    const std::function<absl::Status(sqlite3_stmt*)>& visit) {
    std::function<bool()> must_stop = [this, deadline = MonotonicNow() + select_time] {
      return stopped || MonotonicNow() >= deadline;
    };
    sqlite3_progress_handler(
        connection, kInstructionsBetweenChecks,
        [](void* stop) { return (*static_cast<std::function<bool()>*>(stop))() ? 1 : 0; }, &must_stop);
    absl::Status status;
    int code = SQLITE_ROW;
    while (status.ok() && (code = sqlite3_step(statement)) == SQLITE_ROW) status = visit(statement);
    sqlite3_progress_handler(connection, 0, nullptr, nullptr);
    if (!status.ok() || code == SQLITE_DONE) return status;
    if ((code & 0xff) != SQLITE_INTERRUPT)
      return SqliteStatus(code, sqlite3_errmsg(connection), "running a query");
    if (stopped) return absl::UnavailableError("the coordinator is stopping");
    return absl::DeadlineExceededError(absl::StrCat(
        "reading the database took longer than ", FormatDuration(select_time), "; is its disk overloaded?"));
  }

 private:
  absl::Status UseOrOpen(Connection& connection, const std::function<absl::Status(sqlite3*)>& use) const {
    if (stopped) return absl::UnavailableError("the coordinator is stopping");
    if (connection.handle == nullptr) {
      ASSIGN_OR_RETURN(SqliteHandle opened, OpenForReading(path));
      RETURN_IF_ERROR(GuardReading(opened.get()));
      connection.handle = std::move(opened);
    }
    RETURN_IF_ERROR(FollowViews(connection.handle.get(), &connection.schema));
    return use(connection.handle.get());
  }
};

Reader::Reader(std::filesystem::path database_path, int connections, Duration select_time)
    : pool_(std::make_unique<Pool>()) {
  INLIER_CHECK(connections > 0);
  pool_->path = std::move(database_path);
  pool_->limit = connections;
  pool_->select_time = select_time;
}

Reader::~Reader() = default;

void Reader::Stop() { pool_->stopped = true; }

absl::Status Reader::ForEach(const std::string& sql, const std::vector<SqlValue>& values,
                             const std::function<absl::Status(const std::vector<SqlValue>&)>& visit) {
  return pool_->With([&](sqlite3* connection) -> absl::Status {
    sqlite3_stmt* raw = nullptr;
    const int code =
        sqlite3_prepare_v2(connection, sql.c_str(), static_cast<int>(sql.size() + 1), &raw, nullptr);
    const StatementPtr statement(raw);
    const std::string message = code == SQLITE_OK ? "" : sqlite3_errmsg(connection);
    if (const std::string why = WhyNoColumn(connection, message); !why.empty())
      return absl::InvalidArgumentError(absl::StrCat(message, "; ", why));
    if (code != SQLITE_OK) return SqliteStatus(code, message, "preparing a query");
    for (std::size_t i = 0; i < values.size(); ++i) Bind(raw, static_cast<int>(i) + 1, values[i]);
    std::vector<SqlValue> row(static_cast<std::size_t>(sqlite3_column_count(raw)));
    return pool_->Step(connection, raw, [&](sqlite3_stmt* at) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = ColumnValue(at, static_cast<int>(i));
      return visit(row);
    });
  });
}

absl::StatusOr<SqlRows> Reader::Select(const std::string& sql, const std::vector<SqlValue>& values) {
  SqlRows result;
  RETURN_IF_ERROR(ForEach(sql, values, [&result](const std::vector<SqlValue>& row) {
    result.rows.push_back(row);
    return absl::OkStatus();
  }));
  return result;
}

absl::StatusOr<std::vector<v1::ProgramDescription>> Reader::Programs() {
  std::vector<v1::ProgramDescription> programs;
  RETURN_IF_ERROR(pool_->With([&](sqlite3* connection) -> absl::Status {
    ASSIGN_OR_RETURN(programs, ReadPrograms(connection));
    return absl::OkStatus();
  }));
  return programs;
}

absl::StatusOr<SweepId> Reader::FindSweep(const std::string& id_or_name, const std::string& caller) {
  const std::optional<SweepId> id = SweepId::Parse(id_or_name);
  ASSIGN_OR_RETURN(const SqlRows found,
                   Select("SELECT id, removed_ms, freed FROM sweep "
                          "WHERE name = ?1 AND removed_ms IS NULL OR id = ?2 "
                          "ORDER BY id = ?2 DESC, owner = ?3 AND ?3 <> '' DESC, id DESC LIMIT 1",
                          {id_or_name, id.has_value() ? SqlValue(id->value()) : SqlValue(), caller}));
  if (!found.rows.empty()) {
    const SweepId sweep(Integer(found.rows[0][0]));
    if (IsNull(found.rows[0][1])) return sweep;
    return WasRemoved(sweep.ToString(), sweep.ToString(), Integer(found.rows[0][2]) == 1);
  }
  ASSIGN_OR_RETURN(
      const SqlRows names,
      Select("SELECT name FROM sweep WHERE removed_ms IS NULL GROUP BY name ORDER BY max(id) DESC LIMIT ?1",
             {static_cast<std::int64_t>(kNamesCompared)}));
  std::vector<std::string> known;
  for (const auto& row : names.rows) known.push_back(Text(row[0]));
  return NoSuchSweep(id_or_name, std::move(known));
}

absl::StatusOr<TrialId> Reader::FindTrial(const std::string& id) {
  const std::optional<TrialId> trial = TrialId::Parse(id);
  if (!trial.has_value()) return NoSuchTrial(id);
  ASSIGN_OR_RETURN(const SqlRows found,
                   Select("SELECT sweep, removed_ms, freed FROM trial JOIN sweep ON sweep.id = trial.sweep "
                          "WHERE trial.id = ?1",
                          {trial->value()}));
  if (found.rows.empty()) return NoSuchTrial(id);
  if (!IsNull(found.rows[0][1]))
    return WasRemoved(id, SweepId(Integer(found.rows[0][0])).ToString(), Integer(found.rows[0][2]) == 1);
  return *trial;
}

absl::StatusOr<v1::SweepStatus> Reader::GetSweep(SweepId sweep) {
  ASSIGN_OR_RETURN(const SqlRows found, Select(SelectSweep(), {sweep.value()}));
  if (found.rows.empty()) return absl::NotFoundError(absl::StrCat("there is no sweep ", sweep.ToString()));
  v1::SweepStatus status;
  FillSweep(found.rows[0], &status);
  ASSIGN_OR_RETURN(*status.mutable_spec(), SweepSpecFromJson(Text(found.rows[0].back())));
  for (const bool train : {true, false}) {
    ASSIGN_OR_RETURN(
        const SqlRows counts,
        Select(absl::StrFormat(
                   "SELECT count(*), count(*) FILTER (WHERE state IN ('SUCCEEDED', 'DIVERGED')), "
                   "count(*) FILTER (WHERE state = 'PENDING' AND %s) FROM stage WHERE id IN (SELECT %s "
                   "FROM trial WHERE sweep = ?1 AND point >= 0)",
                   kStageRuns, train ? "train_stage" : "evaluate_stage"),
               {sweep.value()}));
    v1::StageCounts* stages = train ? status.mutable_train_stages() : status.mutable_evaluate_stages();
    stages->set_total(Integer(counts.rows[0][0]));
    stages->set_ended(Integer(counts.rows[0][1]));
    stages->set_running(Integer(counts.rows[0][2]));
  }
  return status;
}

absl::StatusOr<v1::ListTrialsResponse> Reader::ListTrials(const v1::ListTrialsRequest& request,
                                                          const std::string& caller) {
  ASSIGN_OR_RETURN(const SweepId sweep, FindSweep(request.sweep(), caller));
  std::int64_t after = 0;
  if (!request.page_token().empty()) {
    const std::optional<TrialId> last = TrialId::Parse(request.page_token());
    if (!last.has_value())
      return absl::InvalidArgumentError(
          "page_token: not one of an earlier page of trials; start without one");
    after = last->value();
  }
  if (request.page_size() == 0) return absl::InvalidArgumentError("page_size: must be at least 1");
  const std::uint32_t size = std::min(request.page_size(), kPageSizeMax);
  v1::ListTrialsResponse response;
  std::size_t bytes = 0;
  const auto add = [&](const std::vector<SqlValue>& row) {
    if (static_cast<std::uint32_t>(response.trials_size()) == size || bytes >= Limits::kPageBytesMax) {
      response.set_next_page_token(response.trials(response.trials_size() - 1).trial_id());
      return PageIsFull();
    }
    v1::TrialStatus* trial = response.add_trials();
    trial->set_trial_id(TrialId(Integer(row[0])).ToString());
    trial->set_sweep_id(sweep.ToString());
    v1::TrialState state = v1::PENDING;
    v1::TrialState_Parse(Text(row[1]), &state);
    trial->set_state(state);
    trial->set_message(Text(row[2]));
    if (!IsNull(row[3])) trial->set_train_stage(StageId(Integer(row[3])).ToString());
    if (!IsNull(row[4])) trial->set_evaluate_stage(StageId(Integer(row[4])).ToString());
    for (const auto& [axis, label] : LabelsFromJson(Text(row[5]))) (*trial->mutable_labels())[axis] = label;
    trial->set_spec_json(Text(row[6]));
    trial->set_attempts(static_cast<std::uint32_t>(Integer(row[7])));
    bytes += trial->ByteSizeLong();
    return absl::OkStatus();
  };
  const absl::Status read = ForEach(
      absl::StrCat("SELECT trial.id, ", TrialStateSql(),
                   " AS now, trial.message, trial.train_stage, trial.evaluate_stage, labels, ", kWholeSpecSql,
                   ", (SELECT count(*) FROM attempt WHERE attempt.stage IN (trial.train_stage, "
                   "trial.evaluate_stage) AND attempt.worker <> '') FROM trial",
                   kStagesOfTrialJoin,
                   " WHERE trial.sweep = ?1 AND point >= 0 AND trial.id > ?2 "
                   "AND (?3 IS NULL OR now = ?3) ORDER BY trial.id LIMIT ?4"),
      {sweep.value(), after,
       request.has_state() ? SqlValue(v1::TrialState_Name(request.state())) : SqlValue(),
       static_cast<std::int64_t>(size) + 1},
      add);
  if (!response.has_next_page_token()) RETURN_IF_ERROR(read);
  return response;
}

absl::StatusOr<std::vector<std::string>> Reader::Notices(SweepId sweep, std::uint64_t after,
                                                         std::uint64_t last, std::uint32_t limit) {
  ASSIGN_OR_RETURN(const SqlRows found,
                   Select("SELECT message FROM event WHERE sweep = ?1 AND notice > ?2 AND notice <= ?3 "
                          "ORDER BY notice LIMIT ?4",
                          {sweep.value(), static_cast<std::int64_t>(after), static_cast<std::int64_t>(last),
                           static_cast<std::int64_t>(limit)}));
  std::vector<std::string> notices;
  for (const auto& row : found.rows) notices.push_back(Text(row[0]));
  return notices;
}

absl::Status Reader::AddPastAttempts(const std::string& trial, v1::Explanation& explanation) {
  ASSIGN_OR_RETURN(const TrialId id, FindTrial(trial));
  ASSIGN_OR_RETURN(
      const SqlRows found,
      Select("SELECT * FROM (SELECT attempt.token, stage.kind, attempt.number, attempt.outcome, "
             "attempt.failure, attempt.message, coalesce(worker.name, attempt.worker), "
             "(attempt.ended_ms - attempt.started_ms) / 1000.0 FROM trial "
             "CROSS JOIN stage ON stage.id IN (trial.train_stage, trial.evaluate_stage) "
             "CROSS JOIN attempt ON attempt.stage = stage.id "
             "LEFT JOIN worker ON worker.incarnation = attempt.worker "
             "WHERE trial.id = ?1 AND attempt.ended_ms IS NOT NULL AND attempt.worker <> '' ORDER BY attempt.token DESC LIMIT ?2) "
             "ORDER BY token",
             {id.value(), static_cast<std::int64_t>(kAttemptsListed)}));
  // Only the database has the labels of a trial that ended.
  if (!absl::StrContains(explanation.text(), '(')) {
    ASSIGN_OR_RETURN(const SqlRows labels, Select("SELECT labels FROM trial WHERE id = ?1", {id.value()}));
    const std::string text = labels.rows.empty() ? "" : LabelsText(LabelsFromJson(Text(labels.rows[0][0])));
    if (!text.empty()) absl::StrAppend(explanation.mutable_text(), " (", text, ")");
  }
  for (const auto& row : found.rows) {
    v1::Explanation& attempt = *explanation.add_because();
    // An attempt that was preempted did not fail: it resumes later.
    const bool stopped = Text(row[3]) == v1::FailureClass_Name(v1::PREEMPTED);
    attempt.set_text(absl::StrCat("attempt ", Integer(row[2]), " to ",
                                  Text(row[1]) == "TRAIN_STAGE" ? "train" : "evaluate", " on worker ",
                                  Text(row[6]), " ended after ", FormatDuration(FromSeconds(Real(row[7]))),
                                  IsNull(row[4]) || stopped ? "" : absl::StrCat(", ", Text(row[4])),
                                  Text(row[5]).empty() ? "" : absl::StrCat(": ", Text(row[5]))));
    attempt.set_state(Text(row[3]));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::GetLogsResponse> Reader::Logs(TrialId trial, std::uint64_t after, std::uint32_t max_lines,
                                                 bool newest) {
  v1::GetLogsResponse response;
  std::size_t bytes = 0;
  bool full = false;
  const auto add = [&](const std::vector<SqlValue>& row) {
    v1::LoggedLine line;
    line.set_stage_id(StageId(Integer(row[0])).ToString());
    line.set_token(static_cast<std::uint64_t>(Integer(row[1])));
    line.set_time_unix_ms(Integer(row[2]));
    line.set_text(Text(row[3]));
    line.set_line(static_cast<std::uint64_t>(Integer(row[4])));
    full = bytes >= Limits::kPageBytesMax;
    if (full && !newest) return PageIsFull();
    if (full)
      line.set_text(absl::StrCat("[this line and those before it are left out: an answer has at most ",
                                 Limits::kPageBytesMax >> 20, " MiB]"));
    bytes += line.ByteSizeLong();
    *response.add_lines() = std::move(line);
    return full ? PageIsFull() : absl::OkStatus();
  };
  // The lines are found and put in order by their numbers alone, and each text is read when it is its turn.
  const absl::Status read = ForEach(
      absl::StrCat(
          "SELECT stage, log.token, log.at_ms, log.text, log.id FROM (SELECT attempt.stage AS stage, "
          "log.id AS number FROM trial "
          "CROSS JOIN attempt ON attempt.stage IN (trial.train_stage, trial.evaluate_stage) "
          "CROSS JOIN log ON log.token = attempt.token AND log.id > ?2 WHERE trial.id = ?1 "
          "ORDER BY log.id ",
          newest ? "DESC" : "ASC", " LIMIT ?3) CROSS JOIN log ON log.id = number"),
      {trial.value(),
       static_cast<std::int64_t>(std::min<std::uint64_t>(after, std::numeric_limits<std::int64_t>::max())),
       static_cast<std::int64_t>(max_lines)},
      add);
  if (!full) RETURN_IF_ERROR(read);
  if (newest) std::ranges::reverse(*response.mutable_lines());
  return response;
}

}  // namespace inlier
