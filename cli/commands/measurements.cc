// inlier measurements: what a trial may report, or what a sweep has reported.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/query_rows.h"
#include "nlohmann/json.hpp"
#include "spec/program/measurement_list.h"

namespace inlier {
namespace {

constexpr std::uint32_t kNamesMax = 10'000;

// Names of what the attempts of a sweep have measured so far.
absl::StatusOr<std::set<std::string>> Measured(Session& session, const std::string& sweep_id) {
  const std::string sweep = sweep_id.substr(sweep_id.find('-') + 1);
  ASSIGN_OR_RETURN(
      const v1::QueryResponse rows,
      QueryRows(session,
                absl::StrCat(
                    "SELECT DISTINCT name FROM measurement WHERE token IN (SELECT token FROM attempt WHERE "
                    "stage IN (SELECT train_stage FROM trial WHERE sweep = ",
                    sweep, " UNION SELECT evaluate_stage FROM trial WHERE sweep = ", sweep, "))"),
                kNamesMax));
  std::set<std::string> names;
  for (const v1::QueryRow& row : rows.rows()) names.insert(row.values(0).text());
  return names;
}

bool HasWords(const MeasurementInfo& info, const std::vector<std::string>& words) {
  const std::string text =
      absl::AsciiStrToLower(absl::StrCat(std::string(info.name), " ", std::string(info.formula)));
  return std::ranges::all_of(words,
                             [&text](const std::string& word) { return absl::StrContains(text, word); });
}

// "nat; lower is better; curve and final, of evaluate, a number a site"
std::string Facts(const MeasurementInfo& info) {
  const std::string better(BetterWord(info.better)), axis(info.axis);
  return absl::StrCat(std::string(info.unit), better.empty() ? "" : absl::StrCat("; ", better, " is better"),
                      "; ", std::string(ReportedWord(info)), ", of ", std::string(info.source),
                      axis.empty() ? "" : absl::StrCat(", a number a ", axis),
                      info.measure == v1::EvaluationSpec::SCORES
                          ? ""
                          : absl::StrCat("; final with evaluation.measure: ",
                                         v1::EvaluationSpec::Measure_Name(info.measure)));
}

void Show(const Session& session, const std::vector<MeasurementInfo>& list) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const MeasurementInfo& info : list) {
    if (session.json) {
      json.push_back({{"name", info.name},
                      {"unit", info.unit},
                      {"stage", info.source},
                      {"over", info.axis},
                      {"reported", ReportedWord(info)},
                      {"measure", v1::EvaluationSpec::Measure_Name(info.measure)},
                      {"better", BetterWord(info.better)},
                      {"formula", info.formula}});
      continue;
    }
    std::string text = absl::StrCat(Shown(info.name, Layout::kCell), "\n");
    for (const std::string& part : {Facts(info), std::string(info.formula)}) {
      for (const std::string& line :
           WrapText("    " + Shown(part, Layout::kCell), TerminalWidth(), std::string::npos))
        absl::StrAppend(&text, line, "\n");
    }
    Print(text);
  }
  if (session.json) PrintJson(json);
}

absl::Status List(Session& session, const std::string& sweep, const std::string& filter) {
  std::shared_ptr<const MeasurementList> all = MeasurementList::OfModels();
  std::vector<MeasurementInfo> list = all->all();
  if (!sweep.empty()) {
    ASSIGN_OR_RETURN(const v1::SweepStatus status, session.GetSweep(sweep));
    ASSIGN_OR_RETURN(const std::set<std::string> measured, Measured(session, status.sweep_id()));
    all = MeasurementList::Of(status.spec());
    list = all->all();
    std::erase_if(list,
                  [&](const MeasurementInfo& info) { return !measured.contains(std::string(info.name)); });
    if (list.empty())
      return absl::NotFoundError(
          absl::StrCat("no trial of ", sweep,
                       " has reported a number yet; `inlier measurements` lists all that may come"));
  }
  const std::vector<std::string> words =
      absl::StrSplit(absl::AsciiStrToLower(filter), ' ', absl::SkipEmpty());
  std::erase_if(list, [&words](const MeasurementInfo& info) { return !HasWords(info, words); });
  if (list.empty())
    return absl::NotFoundError(absl::StrCat("no measurement has \"", filter,
                                            "\" in its name or formula; `inlier measurements",
                                            sweep.empty() ? "" : " " + sweep, "` lists all"));
  Show(session, list);
  return absl::OkStatus();
}

}  // namespace

void AddMeasurementsCommand(CLI::App& app, Session& session) {
  auto sweep = std::make_shared<std::string>();
  auto filter = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "measurements", "List the measurements: name, unit, which is better, who reports it, formula");
  command->add_option("sweep", *sweep, "Only what this sweep has reported, by id or name");
  command->add_option("--filter", *filter, "Only with these words in name or formula");
  command->callback([&session, sweep, filter] { session.Finish(List(session, *sweep, *filter)); });
}

}  // namespace inlier
