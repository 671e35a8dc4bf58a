#include "coordinator/store/views/param_view.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordinator/store/sql_name.h"
#include "coordinator/store/views/analysis_views.h"
#include "coordinator/store/views/derived_sql.h"
#include "coordinator/store/views/effective_gamma.h"
#include "coordinator/store/views/view_sql.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/program/measurement_list.h"
#include "spec/program/program_columns.h"
#include "spec/trial/canonical.h"

namespace inlier {
namespace {

const ViewColumn kStage = {"stage", Id("st-", "stage.id"), "Id of the stage, st-<number>."};
const ViewColumn kTrainStage = {"train_stage", Id("st-", "trial.train_stage"),
                                "Stage of its training; shared with all trials of the same fingerprint."};
const ViewColumn kEvaluateStage = {"evaluate_stage", Id("st-", "trial.evaluate_stage"),
                                   "Stage of its evaluation; trials with the same one have one result."};
const ViewColumn kWithdrawn = {"withdrawn", "(trial.point < 0)",
                               "1: an edit of the sweep took its point away."};
const ViewColumn kStartStage = {
    "start_stage", Id("st-", "trained.start_stage"),
    "Stage of the training that its own starts from; NULL: none of this coordinator."};

std::string TrialsWithSpecs() { return absl::StrCat(kTrials, kStagesOfTrialJoin); }

// The JSON that has a path such as "$.model.bert.layers", and the path in it.
std::pair<std::string, std::string> JsonOfPath(const std::string& path) {
  const std::size_t begin = std::string_view("$.").size();
  const auto* field = v1::TrialSpec::descriptor()->FindFieldByName(
      path.substr(begin, std::min(path.find('.', begin), path.size()) - begin));
  INLIER_CHECK(field != nullptr);
  return {SpecPartSql(StageOfField(field)), path};
}

using Programs = std::vector<v1::ProgramDescription>;

void AppendParams(const Programs& programs, std::vector<ViewColumn>& columns) {
  for (const SpecColumn& param : ColumnsWith(programs)) {
    std::string where;
    for (const std::string& path : param.json_paths)
      absl::StrAppend(&where, where.empty() ? "" : ", ", path.substr(2));
    for (const auto& [member, path] : param.members)
      absl::StrAppend(&where, where.empty() ? "The chosen one of: " : ", ", path.substr(2));
    columns.push_back({param.name, ColumnExpression(param, JsonOfPath), absl::StrCat(where, ".")});
  }
  columns.push_back(
      {"effective_gamma", EffectiveGammaSql(JsonOfPath),
       "Lower stretch limit: gamma, 0 for vanilla, -alpha / T for alpha; NULL for other softmaxes."});
}

View Sweeps() {
  const auto count = [](const std::string& state, const std::string& more = "") {
    return absl::StrCat("(SELECT count(*) FROM trial WHERE trial.sweep = sweep.id AND trial.state = '", state,
                        "' AND trial.point >= 0", more, ")");
  };
  const auto used = [](const std::string& column) {
    return absl::StrCat("coalesce((SELECT ", column,
                        " FROM sweep_usage WHERE sweep_usage.sweep = sweep.id), 0) / 3600000.0");
  };
  return {
      "sweeps",
      "Sweeps with counts of the trials made so far.",
      {{"sweep_id", Id("s-", "sweep.id"), "Id, s-<number>."},
       {"sweep", "sweep.name", "Name."},
       {"state", "replace(sweep.state, 'SWEEP_', '')",
        "ACTIVE, COMPLETE, CANCELLED, STOPPED_BY_FAILURES, STOPPED_BY_TIME or STOPPED_BY_BUDGET."},
       {"trials", "sweep.trials", "Trials when fully expanded."},
       {"pending", count("PENDING", absl::StrCat(" AND NOT ", kTrialRuns)), "Trials that wait."},
       {"running", count("PENDING", absl::StrCat(" AND ", kTrialRuns)), "Trials with a stage that runs."},
       {"succeeded", count("SUCCEEDED"), "Trials with a result."},
       {"diverged", count("DIVERGED"), "Trials whose loss became not finite: a result too."},
       {"failed", count("FAILED"), "Trials without a result."},
       {"cancelled", count("CANCELLED"), "Trials ended by a user or by pruning."},
       {"withdrawn", "(SELECT count(*) FROM trial WHERE trial.sweep = sweep.id AND trial.point < 0)",
        "Trials that edits took out of it; in none of the counts."},
       {"paused", "sweep.paused", "1: no new attempts start."},
       {"revision", "sweep.revision", "1 as submitted; grows with each edit."},
       {"owner", "sweep.owner", "Name of the caller that submitted it; empty: callers were not checked."},
       {"attempt_hours", used("attempt_ms"),
        "Time of its attempts together, up to the end of the latest; one that several sweeps needed "
        "counts in each."},
       {"gpu_hours", used("gpu_ms"), "The same, multiplied by the share of a GPU that each had."},
       {"tags", "sweep.tags", "A JSON list: `EXISTS (SELECT 1 FROM json_each(tags) WHERE value = 'a')`."},
       {"note", "sweep.note", "Markdown."},
       kOrigin,
       {"imported_from", "sweep.spec->>'$.imported.path'", "The file or folder; NULL: it was not imported."},
       {"archived", "sweep.archived", "1: lists leave it out."},
       {"removed_at", Utc("sweep.removed_ms"),
        "UTC; NULL: it was not removed. The other views have no trial of one that was."},
       {"freed", "sweep.freed", "1: `inlier gc` has freed what only it needed."},
       {"submitted_at", Utc("sweep.submitted_ms"), "UTC."},
       {"ended_at", Utc("sweep.ended_ms"), "UTC; NULL while ACTIVE."},
       {"description", "sweep.spec->>'$.description'", "Purpose of the sweep."},
       {"spec", "sweep.spec", "The current sweep, JSON."}},
      "sweep"};
}

View Trials(const Programs& programs) {
  View view = {"trials",
               "Every trial with its state and one column for each hyper-parameter.",
               {kTrial,
                kSweep,
                kSweepId,
                {"state", TrialStateSql(), "PENDING, RUNNING, SUCCEEDED, DIVERGED, FAILED or CANCELLED."},
                kLabel,
                kLabels,
                kOrigin},
               TrialsWithSpecs()};
  AppendParams(programs, view.columns);
  view.columns =
      Joined(view.columns,
             {{"message", "trial.message", "Why it failed."},
              {"point", "iif(trial.point < 0, NULL, trial.point)", "Index in the sweep's grid."},
              kWithdrawn,
              kTrainStage,
              kEvaluateStage,
              kStartStage,
              {"spec", kWholeSpecSql,
               "The resolved TrialSpec, JSON. Fields that do not decide the result are as in the first trial "
               "that needed the stage; of an invalid trial: its TrialSpec as the sweep gives it."}});
  return view;
}

// A column for each final measurement of the whole model, of our models and then of the programs. One name is one column:
// a trial has the number of its own program. It is also the column of another program's parameter of that name.
void AppendMeasurements(const Programs& programs, std::vector<ViewColumn>& columns) {
  const std::size_t columns_max = columns.size() + Measurements().size() + kProgramMeasurementsMax;
  std::vector<std::shared_ptr<const MeasurementList>> lists = {MeasurementList::OfModels()};
  for (const v1::ProgramDescription& program : programs) lists.push_back(MeasurementList::OfProgram(program));
  std::set<std::pair<std::string, std::string>> known;  // Name and stage.
  for (const std::shared_ptr<const MeasurementList>& list : lists) {
    for (const MeasurementInfo& measurement : list->all()) {
      const std::string name(measurement.name), stage(measurement.source);
      if (!measurement.final || measurement.axis == "site" || !known.emplace(name, stage).second) continue;
      const std::string sql = FinalValueSql(measurement, absl::StrCat("'", name, "'"));
      const auto at = std::ranges::find_if(
          columns, [&name](const ViewColumn& one) { return absl::EqualsIgnoreCase(one.name, name); });
      if (at != columns.end()) {
        at->sql = absl::StrCat("coalesce(", at->sql, ", ", sql, ")");
      } else if (columns.size() < columns_max) {
        columns.push_back({name, sql, absl::StrCat("Measurement of the ", stage, " stage.")});
      }
    }
  }
}

// `more`: a further condition on the trials.
View ResultsOf(const Programs& programs, std::string name, std::string comment, const std::string& more) {
  View view = {std::move(name),
               std::move(comment),
               {kTrial,
                kSweep,
                kSweepId,
                {"state", "trial.state", "SUCCEEDED or DIVERGED."},
                kLabel,
                kLabels,
                kOrigin},
               absl::StrCat(TrialsWithSpecs(), "\nWHERE trial.state IN ('SUCCEEDED', 'DIVERGED')", more)};
  AppendParams(programs, view.columns);
  view.columns =
      Joined(view.columns,
             {kWithdrawn,
              kTrainStage,
              kEvaluateStage,
              {"dataset_digest", DigestOf("trained"),
               "SHA-256 of the files that the trial names, as they were (decision 18)."},
              kStartStage,
              {"start_checkpoint", "(SELECT checkpoint FROM stage WHERE stage.id = trained.start_stage)",
               "SHA-256 of the model of that stage."}});
  AppendMeasurements(programs, view.columns);
  return view;
}

View Results(const Programs& programs) {
  return ResultsOf(programs, "results",
                   "Trials that have a result, one row each: labels, hyper-parameters, and one column for "
                   "each final measurement. Only what the attempt measured that produced the stage's result. "
                   "NULL: not measured, or not a number. Trials that were submitted twice have one "
                   "evaluate_stage, and the same numbers: see distinct_results.",
                   "");
}

View DistinctResults(const Programs& programs) {
  return ResultsOf(programs, "distinct_results",
                   "The same, each result once: with the first of the trials that have it. For queries over "
                   "several sweeps, so that a sweep that was submitted twice does not count twice.",
                   "\n  AND NOT EXISTS (SELECT 1 FROM trial AS earlier JOIN sweep AS other ON other.id = "
                   "earlier.sweep WHERE earlier.evaluate_stage = trial.evaluate_stage AND earlier.id < "
                   "trial.id AND other.removed_ms IS NULL)");
}

View Attempts() {
  View view = {
      "attempts",
      "Every attempt at the stages of a trial, and what produced its numbers. An attempt at a stage that "
      "trials share has a row for each.",
      Joined({kTrial, kSweep, kSweepId, kStage, kKind},
             {{"attempt", "attempt.number", "1 for the first attempt at the stage."},
              {"token", "attempt.token", "Fencing number: names the attempt."},
              {"outcome", "coalesce(attempt.outcome, 'LIVE')",
               "LIVE, SUCCEEDED, DIVERGED, FAILED, PREEMPTED or CANCELLED."},
              {"failure", "attempt.failure", "Failure class, with FAILED."},
              {"message", "attempt.message", "Why it ended so."},
              {"started_at", Utc("attempt.started_ms"), "UTC."},
              {"ended_at", Utc("attempt.ended_ms"), "UTC."},
              {"seconds", "(attempt.ended_ms - attempt.started_ms) / 1000.0", "How long it took."},
              {"gpu", "attempt.gpu_share_thousandths / 1000.0",
               "Share of a GPU that it had, or number of GPUs; 0 on a CPU."},
              {"worker", "attempt.worker", "Incarnation of the worker."},
              {"worker_name", "(SELECT name FROM worker WHERE worker.incarnation = attempt.worker)",
               "Its label."},
              {"slot", "attempt.slot", "Place on the worker; of several processes, that of the first."},
              {"processes", "1 + json_array_length(attempt.further_slots)", "That train together; else 1."},
              {"resumed_step", "attempt.resumed_step",
               "Step of the checkpoint it resumed from; 0 from scratch."}}),
      absl::StrCat(AttemptsOfTrials(), "\nWHERE attempt.worker <> ''")};
  for (const char* name : {"host", "device", "threads", "build", "torch_version", "cuda_version",
                           "dataset_digest", "parameters", "pid"}) {
    view.columns.push_back({name, absl::StrCat("attempt.", name), "As the child reported."});
  }
  return view;
}

View Failures() {
  return {
      "failures", "FAILED trials with the last attempt that failed.",
      TrialColumns({{"message", "trial.message", "Why the trial failed."},
                    {"stage", Id("st-", "attempt.stage"), "Stage of the last attempt that failed."},
                    {"token", "attempt.token", "That attempt."},
                    {"failure", "attempt.failure", "Its failure class."},
                    {"attempts", "(SELECT count(*) FROM attempt AS every WHERE every.stage = attempt.stage)",
                     "Attempts at that stage."},
                    {"host", "attempt.host", "Where it ran."},
                    {"ended_at", Utc("attempt.ended_ms"), "UTC."}}),
      absl::StrCat(kTrials,
                   "\n  LEFT JOIN attempt ON attempt.token = (SELECT max(token) FROM attempt AS failed"
                   " WHERE failed.stage IN (trial.train_stage, trial.evaluate_stage) AND failed.outcome "
                   "IN ('FAILED', 'PREEMPTED'))"
                   "\nWHERE trial.state = 'FAILED'")};
}

View Logs() {
  return {
      "logs", "Lines written by the attempts at a trial's stages.",
      Joined({kTrial, kSweep, kSweepId, kStage, kKind}, {{"token", "attempt.token", "The attempt."},
                                                         {"at", Utc("log.at_ms"), "UTC."},
                                                         {"text", "log.text", "The line."},
                                                         {"line", "log.id", "Grows: the order of arrival."}}),
      absl::StrCat(AttemptsOfTrials(), "\n  CROSS JOIN log ON log.token = attempt.token")};
}

View Events() {
  return {"events",
          "State changes and notices, in order.",
          {{"at", Utc("event.at_ms"), "UTC."},
           {"kind", "event.kind", "For example stage_retried."},
           {"sweep_id", Id("s-", "event.sweep"), "NULL: not about one. The same for the next."},
           {"trial", Id("t-", "event.trial"), "Id of the trial."},
           {"stage", Id("st-", "event.stage"), "Id of the stage."},
           {"token", "event.token", "The attempt."},
           {"worker", "event.worker", "Incarnation of the worker."},
           {"message", "event.message", "As a sentence."},
           {"notice", "event.notice", "Number among the notices of its sweep; NULL: no notice."},
           {"number", "event.id", "Grows: the order of arrival."}},
          "event"};
}

View Audit() {
  return {
      "audit",
      "Calls of users that changed something or were to, in order.",
      {{"at", Utc("audit_entry.at_ms"), "UTC."},
       {"who", "audit_entry.caller",
        "Name of the token, or common name of the certificate; empty: callers were not checked, or it showed "
        "neither."},
       {"role", "audit_entry.role", "Of the token; certificate; empty: as above."},
       {"method", "audit_entry.method", "For example Cancel."},
       {"sweep_id", Id("s-", "audit_entry.sweep"), "NULL: not about one. The same for the next."},
       {"trial", Id("t-", "audit_entry.trial"), "Id of the trial."},
       {"worker", "audit_entry.worker", "Incarnation of the worker."},
       {"outcome", "audit_entry.outcome", "OK, or the gRPC code with which it was refused."},
       {"message", "audit_entry.message", "Why it was refused."},
       {"request", "audit_entry.request", "Scalar fields of the request."},
       {"digest", "audit_entry.digest", "SHA-256 of the request; NULL: it was refused before it was read."},
       {"peer", "audit_entry.peer", "Address that the call came from."},
       {"calls", "audit_entry.calls",
        "Refused calls that the row stands for: those beyond the limit have no row of their own."},
       {"number", "audit_entry.id", "Grows: the order of arrival."}},
      "audit_entry"};
}

View Notifications() {
  return {"notifications",
          "Notifications for the hooks of the coordinator, in order: those that wait, and the latest 10,000.",
          {{"id", "'n-' || notification.id || '-' || notification.at_ms", "As the receiver gets it."},
           {"at", Utc("notification.at_ms"), "When it happened; UTC."},
           {"event", "notification.event", "end, failure or no_worker."},
           {"sweep_id", Id("s-", "notification.sweep"), "Sweep."},
           {"trial", Id("t-", "notification.trial"), "First trial that it is about; NULL: the sweep alone."},
           {"hook", "notification.hook", "Its receiver, without the path of a URL."},
           {"state", "notification.state", "WAITING, DELIVERED or GIVEN_UP."},
           {"tries", "notification.tries", "So far."},
           {"next_try_at", Utc("notification.next_try_ms"), "UTC; NULL: at once, or none."},
           {"ended_at", Utc("notification.ended_ms"), "When it was delivered or given up; UTC."},
           {"error", "notification.error", "Of the latest try."},
           {"body", "notification.body", "As it is sent, JSON."},
           {"number", "notification.id", "Grows: the order of the events."}},
          "notification"};
}

View PruningDecisions() {
  return {"pruning_decisions",
          "Verdicts of pruning for each training at each rung, in order.",
          {{"sweep_id", Id("s-", "sweep.id"), "Whose rule decided."},
           {"stage", Id("st-", "pruning_decision.stage"), "The training."},
           {"token", "pruning_decision.token", "The attempt that measured the value."},
           {"bracket", "pruning_decision.bracket", "Of asha.brackets: trainings are compared within one."},
           {"rung", "pruning_decision.rung", "Step from which on trainings are compared here."},
           {"step", "pruning_decision.step", "Step of the value."},
           {"value", "pruning_decision.value", "What was compared; NULL: not a number."},
           {"verdict", "pruning_decision.verdict", "CONTINUE or PRUNE."},
           {"others", "pruning_decision.others", "Values that were there at this rung and bracket before."},
           {"threshold", "pruning_decision.threshold", "A worse value is pruned; NULL: there was none."},
           {"at", Utc("pruning_decision.at_ms"), "UTC."},
           {"number", "pruning_decision.id", "Grows: the order of the decisions."}},
          "pruning_decision\n  JOIN sweep ON sweep.id = pruning_decision.sweep AND sweep.removed_ms IS NULL"};
}

View ProgramSources() {
  return {
      "program_sources",
      "Sources of programs of one's own whose sweeps came from a git repository, a row for each digest.",
      {{"digest", "program_source.digest",
        "SHA-256 of the program's files: dataset_digest of its results, and program.digest of its sweeps."},
       {"program", "program_source.program", "Name."},
       {"commit_id", "program_source.commit_id", "Last commit of its folder's repository."},
       {"diff", "program_source.diff",
        "Its files against that commit, as `git diff` has it; empty: they were the same. Lines before it "
        "that begin with # name what it leaves out."}},
      "program_source"};
}

View SearchPoints() {
  return {"search_points",
          "The points that samplers asked for (sampling.optuna), in order.",
          {{"sweep_id", Id("s-", "search_point.sweep"), "Whose points they are."},
           {"number", "search_point.number", "In the sweep, from 0."},
           {"point_values", "search_point.point_values", "Axis name -> number or label, JSON."},
           {"told", "search_point.told",
            "Points whose results the sampler was told after it asked for the point before, JSON."},
           {"at", Utc("search_point.at_ms"), "UTC."}},
          "search_point\n  JOIN sweep ON sweep.id = search_point.sweep AND sweep.removed_ms IS NULL"};
}

View Workers() {
  return {"workers",
          "Worker processes, as last stored.",
          {{"incarnation", "worker.incarnation", "Fresh uuid of the process."},
           {"name", "worker.name", "Label."},
           {"host", "worker.host", "Machine."},
           {"version", "worker.version", "Of the program."},
           {"slots", "worker.slots", "Places to run."},
           {"devices", "worker.devices", "A JSON list, one for each slot."},
           {"draining", "worker.draining", "1: wants nothing new."},
           {"held", "worker.held", "1: a user drains it."},
           {"connected", "worker.connected", "1: its lease had not run out."},
           {"last_seen_at", Utc("worker.last_seen_ms"), "UTC."}},
          "worker"};
}

}  // namespace

std::string View::CreateSql(bool temporary) const {
  std::string select;
  std::set<std::string> names;
  for (const ViewColumn& column : columns) {
    // No hyper-parameter's column or measurement has a name that the view uses.
    INLIER_CHECK(names.insert(column.name).second);
    absl::StrAppend(&select, select.empty() ? "  " : ",\n  ", column.sql, " AS ", SqlName(column.name));
  }
  return absl::StrCat("CREATE ", temporary ? "TEMP " : "", "VIEW ", SqlName(name), " AS SELECT\n", select,
                      "\nFROM ", from);
}

std::vector<View> UserViews(const std::vector<v1::ProgramDescription>& programs) {
  return {Sweeps(),
          Trials(programs),
          Results(programs),
          DistinctResults(programs),
          RerunsView(programs),
          SitesView(),
          CurvesView(),
          Attempts(),
          Failures(),
          Logs(),
          Events(),
          Workers(),
          PruningDecisions(),
          SearchPoints(),
          Audit(),
          Notifications(),
          ProgramSources(),
          AnalysesView(),
          AnalysisSitesView()};
}

}  // namespace inlier
