#include "cli/tables/table_explanation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "cli/query_rows.h"
#include "cli/sweeps/axis_arguments.h"
#include "cli/tables/table_cells.h"
#include "cli/tables/table_counts.h"
#include "nlohmann/json.hpp"
#include "spec/program/import_source.h"
#include "spec/program/measurement_list.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

constexpr std::size_t kExplainedOfAQuery = 200;

struct AttemptInfo {
  std::string kind, stage, outcome, failure, worker, host, device, build, data, checkpoint;
  std::int64_t number = 0;
  bool gave_result = false;
};

struct TrialInfo {
  std::string trial, sweep, state, label, message, train_stage, evaluate_stage;
  std::optional<double> value;
  std::vector<AttemptInfo> attempts;
  std::string shares_with;  // The trial before it that has the same result.
  std::string imported;     // From where; empty: it is one of this coordinator's.
};

std::string NameOf(const v1::Table& table, const CellPlace& place) {
  std::vector<std::string> labels;
  for (const std::string& label : table.rows(place.row).labels()) {
    if (!label.empty()) labels.push_back(OneLine(label));
  }
  return absl::StrCat(absl::StrJoin(labels, " "), labels.empty() ? "" : ", ",
                      OneLine(table.column_headings(place.column)));
}

// A number of 1 to `count`, as a place counted from 0.
std::optional<int> PlaceOf(const std::string& text, int count) {
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 1 || number > count) return std::nullopt;
  return number - 1;
}

// The only row that has all of the labels, each in a column of its own.
absl::StatusOr<int> FindRow(const v1::Table& table, const std::vector<std::string>& labels) {
  std::vector<int> found;
  std::vector<std::string> known;
  for (int i = 0; i < table.rows_size(); ++i) {
    std::vector<std::string> rest(table.rows(i).labels().begin(), table.rows(i).labels().end());
    for (const std::string& label : rest) {
      if (!label.empty() && std::ranges::find(known, label) == known.end()) known.push_back(label);
    }
    const bool has_all = std::ranges::all_of(labels, [&](const std::string& label) {
      const auto place = std::ranges::find(rest, label);
      if (place == rest.end()) return false;
      rest.erase(place);
      return true;
    });
    if (has_all) found.push_back(i);
  }
  if (found.size() == 1) return found[0];
  const std::string text = absl::StrJoin(labels, ",");
  if (found.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--explain: ", found.size(), " rows have \"", text,
                     "\"; give the labels of all columns, LABEL,LABEL,COL, or the row's number"));
  }
  for (const std::string& label : labels) {
    if (std::ranges::find(known, label) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--explain: no row has \"", label, "\" among 1 to ",
                                                     table.rows_size(), DidYouMean(label, known)));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("--explain: no row has all of \"", text, "\""));
}

// Adds those trials with their rows in the database; `trials` is an SqlList.
absl::Status ReadTrials(Session& session, const std::string& trials, const std::string& measurement,
                        std::vector<TrialInfo>* infos) {
  std::map<std::string, std::size_t> places;
  ASSIGN_OR_RETURN(
      const v1::QueryResponse found,
      QueryRows(session, absl::StrCat("SELECT trial, sweep_id, state, label, message, train_stage, "
                                      "evaluate_stage FROM trials WHERE trial IN (",
                                      trials, ") ORDER BY sweep_id, point")));
  for (const v1::QueryRow& row : found.rows()) {
    TrialInfo& info = infos->emplace_back();
    int column = 0;
    for (std::string* field : {&info.trial, &info.sweep, &info.state, &info.label, &info.message,
                               &info.train_stage, &info.evaluate_stage})
      *field = ExactText(row.values(column++));
    places[info.trial] = infos->size() - 1;
  }
  ASSIGN_OR_RETURN(const v1::QueryResponse values,
                   QueryRows(session, absl::StrCat("SELECT trial, \"", measurement,
                                                   "\" FROM results WHERE trial IN (", trials, ")")));
  for (const v1::QueryRow& row : values.rows()) {
    if (row.values(1).has_real() && places.contains(row.values(0).text()))
      (*infos)[places[row.values(0).text()]].value = row.values(1).real();
  }
  ASSIGN_OR_RETURN(
      const v1::QueryResponse attempts,
      QueryRows(
          session,
          absl::StrCat("SELECT trial, attempts.kind, attempts.stage, outcome, failure, worker, host, device, "
                       "build, dataset_digest, stage.checkpoint, attempt, stage.result_token = token FROM "
                       "attempts JOIN stage ON stage.id = CAST(substr(attempts.stage, 4) AS INTEGER) WHERE "
                       "trial IN (",
                       trials, ") ORDER BY token")));
  for (const v1::QueryRow& row : attempts.rows()) {
    if (!places.contains(row.values(0).text())) continue;
    AttemptInfo& info = (*infos)[places[row.values(0).text()]].attempts.emplace_back();
    int column = 1;
    for (std::string* field : {&info.kind, &info.stage, &info.outcome, &info.failure, &info.worker,
                               &info.host, &info.device, &info.build, &info.data, &info.checkpoint})
      *field = ExactText(row.values(column++));
    info.number = row.values(column++).integer();
    info.gave_result = row.values(column).integer() != 0;
    if (!info.gave_result) info.checkpoint.clear();
  }
  return absl::OkStatus();
}

// A result that trials share counts once in the cell.
void NameShared(bool of_training, std::vector<TrialInfo>* infos) {
  std::map<std::string, std::string> first;  // Stage -> trial.
  for (TrialInfo& info : *infos) {
    const std::string& stage = of_training ? info.train_stage : info.evaluate_stage;
    if (!info.value || stage.empty()) continue;
    const auto [place, is_first] = first.emplace(stage, info.trial);
    if (!is_first) info.shares_with = place->second;
  }
}

nlohmann::ordered_json TrialJson(const TrialInfo& info) {
  nlohmann::ordered_json trial = {{"trial", info.trial}, {"state", info.state}, {"label", info.label}};
  trial["value"] = info.value ? nlohmann::ordered_json(*info.value) : nlohmann::ordered_json();
  if (!info.shares_with.empty()) trial["same_result_as"] = info.shares_with;
  if (!info.message.empty()) trial["message"] = info.message;
  if (!info.imported.empty()) trial["imported"] = info.imported;
  trial["attempts"] = nlohmann::ordered_json::array();
  for (const AttemptInfo& attempt : info.attempts) {
    nlohmann::ordered_json one = {{"kind", attempt.kind},          {"stage", attempt.stage},
                                  {"attempt", attempt.number},     {"outcome", attempt.outcome},
                                  {"result", attempt.gave_result}, {"worker", attempt.worker},
                                  {"host", attempt.host},          {"device", attempt.device},
                                  {"build", attempt.build},        {"dataset_digest", attempt.data}};
    if (!attempt.failure.empty()) one["failure"] = attempt.failure;
    if (!attempt.checkpoint.empty()) one["checkpoint"] = attempt.checkpoint;
    trial["attempts"].push_back(std::move(one));
  }
  return trial;
}

void AddLine(const char* name, const std::string& value, std::string* out) {
  if (!value.empty()) absl::StrAppend(out, "      ", name, value, "\n");
}

std::string Text(const TrialInfo& info) {
  std::string out = absl::StrCat("\n", info.trial, "  ", info.state);
  if (info.value) absl::StrAppend(&out, "  ", FullNumber(*info.value));
  if (!info.shares_with.empty())
    absl::StrAppend(&out, " (the result of ", info.shares_with, ", counts once)");
  absl::StrAppend(&out, "  ", info.label, "\n");
  if (!info.message.empty()) absl::StrAppend(&out, "    ", info.message, "\n");
  if (!info.imported.empty()) {
    absl::StrAppend(&out, "    ", info.imported, "\n");
  } else if (info.attempts.empty()) {
    out += "    no attempt was made\n";
  }
  for (const AttemptInfo& attempt : info.attempts) {
    absl::StrAppend(&out, "    ", attempt.kind, ", attempt ", attempt.number, " at ", attempt.stage, ": ",
                    attempt.outcome, attempt.failure.empty() ? "" : ", ", attempt.failure, "\n");
    AddLine("build       ", attempt.build, &out);
    AddLine("worker      ", absl::StrCat(attempt.worker, ", ", attempt.host, ", ", attempt.device), &out);
    AddLine("data        ", attempt.data, &out);
    AddLine("checkpoint  ", attempt.checkpoint, &out);
  }
  return out;
}

}  // namespace

absl::StatusOr<CellPlace> FindCell(const v1::Table& table, const std::string& text) {
  std::vector<std::string> headings(table.column_headings().begin(), table.column_headings().end());
  std::size_t comma = text.rfind(',');
  // A heading may have commas.
  for (const std::string& one : headings) {
    if (text.ends_with("," + one)) comma = std::min(comma, text.size() - one.size() - 1);
  }
  if (comma == std::string::npos)
    return absl::InvalidArgumentError(
        absl::StrCat("--explain ", text, ": give ROW,COL, by numbers from 1 or by labels"));
  CellPlace place;
  const std::string column = text.substr(comma + 1);
  const auto heading = std::ranges::find(headings, column);
  if (heading != headings.end()) {
    place.column = static_cast<int>(heading - headings.begin());
  } else if (const auto number = PlaceOf(column, table.column_headings_size())) {
    place.column = *number;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("--explain: no column is \"", column, "\" among 1 to ",
                                                   headings.size(), DidYouMean(column, headings)));
  }
  std::vector<std::string> known;
  for (const v1::TableRow& row : table.rows())
    known.insert(known.end(), row.labels().begin(), row.labels().end());
  const std::vector<std::string> labels = SplitNames({text.substr(0, comma)}, known);
  absl::StatusOr<int> row = FindRow(table, labels);
  if (!row.ok() && labels.size() == 1) {
    if (const auto number = PlaceOf(labels[0], table.rows_size())) row = *number;
  }
  if (!row.ok()) return row.status();
  place.row = *row;
  return place;
}

absl::Status ExplainCell(Session& session, const v1::Table& table, const CellPlace& place) {
  if (table.has_trials_left_out())
    return absl::FailedPreconditionError(
        "--explain: the table has too many trials to name them; narrow it with --where AXIS=LABEL");
  const v1::TableCell& cell = table.rows(place.row).cells(place.column);
  const std::string& measurement = table.columns(place.column).measurement();
  if (table.columns(place.column).mean_of_size() > 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--explain: ", OneLine(table.column_headings(place.column)),
                     " is the mean of other columns; explain one of those"));
  std::vector<v1::SweepSpec> sweeps;
  std::map<std::string, std::string> imported;  // From where, by sweep.
  for (const std::string& sweep : table.sweeps()) {
    ASSIGN_OR_RETURN(v1::SweepStatus status, session.GetSweep(sweep));
    if (status.spec().has_imported())
      imported[sweep] = ImportText(status.spec().imported(), status.owner(), {status.submitted_unix_ms()});
    sweeps.push_back(std::move(*status.mutable_spec()));
  }
  ASSIGN_OR_RETURN(const auto measurements, MeasurementList::Of(sweeps));
  const MeasurementInfo* known = measurements->Find(measurement);
  if (known == nullptr)
    return absl::FailedPreconditionError(absl::StrCat("--explain: this program knows no measurement \"",
                                                      measurement, "\"; is the coordinator a newer one?"));
  std::vector<TrialInfo> infos;
  std::vector<std::string> some;
  for (int i = 0; i < cell.trials_size(); ++i) {
    some.push_back(cell.trials(i));
    if (some.size() < kExplainedOfAQuery && i + 1 < cell.trials_size()) continue;
    RETURN_IF_ERROR(ReadTrials(session, SqlList(some), measurement, &infos));
    some.clear();
  }
  for (TrialInfo& info : infos) {
    if (const auto from = imported.find(info.sweep); from != imported.end()) info.imported = from->second;
  }
  NameShared(known->source == "train", &infos);
  if (session.mode() == OutputMode::kJson) {
    nlohmann::ordered_json out = {{"row", table.rows(place.row).labels()},
                                  {"column", table.column_headings(place.column)},
                                  {"measurement", measurement},
                                  {"n", cell.count()},
                                  {"trainings", cell.trainings()}};
    if (cell.has_chosen()) out["chosen"] = cell.chosen();
    out["trials"] = nlohmann::ordered_json::array();
    for (const TrialInfo& info : infos) out["trials"].push_back(TrialJson(info));
    PrintJson(out);
    return absl::OkStatus();
  }
  std::string out = absl::StrCat(NameOf(table, place), ": ", measurement);
  if (cell.count() > 0)
    absl::StrAppend(&out, ", mean ", FullNumber(cell.mean()),
                    ", n = ", CountOf(cell, CellStyle{.times = " x "}));
  if (!cell.chosen().empty()) absl::StrAppend(&out, ", of the best point ", OneLine(cell.chosen()));
  out += infos.empty() ? "\nno trial belongs to this cell\n" : "\n";
  for (const TrialInfo& info : infos) out += Text(info);
  Print(out);
  return absl::OkStatus();
}

}  // namespace inlier
