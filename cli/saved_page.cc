#include "cli/saved_page.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/status.h"
#include "base/version.h"
#include "cli/output.h"
#include "cli/query_rows.h"
#include "dashboard/page/page_files.h"
#include "nlohmann/json.hpp"
#include "spec/program/measurement_list.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSavedPageSeconds = 120;  // Of a call.
constexpr std::size_t kTrialsAtOnce = 8;

// Rows as objects, as the page's own queries have them.
absl::StatusOr<Json> Rows(Session& session, const std::string& sql, std::uint32_t rows_max = 10000) {
  ASSIGN_OR_RETURN(const v1::QueryResponse response, QueryRows(session, sql, rows_max));
  return RowsJson(response);
}

double Rounded(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  return std::stod(absl::StrCat(absl::SixDigits(value)));
}

// Final measurements by name, in the order of the matrix; null where there is none.
absl::StatusOr<Json> Values(Session& session, const v1::SweepStatus& status, const v1::SweepMatrix& matrix,
                            std::size_t values_max) {
  const std::string& sweep = status.sweep_id();
  std::vector<std::string> names;
  const auto measurements = MeasurementList::Of(status.spec());
  for (const MeasurementInfo& one : measurements->all())
    if (one.final && one.axis != "site") names.emplace_back(one.name);
  if (names.empty()) return Json::object();
  ASSIGN_OR_RETURN(const Json some,
                   Rows(session, absl::StrCat("SELECT \"", absl::StrJoin(names, "\", \""),
                                              "\" FROM results WHERE sweep_id = '", sweep, "' LIMIT 5")));
  Json values = Json::object();
  std::size_t count = 0;
  for (const std::string& name : names) {
    const bool measured = std::ranges::any_of(some, [&](const Json& row) { return !row[name].is_null(); });
    count += static_cast<std::size_t>(matrix.numbers_size());
    if (!measured || count > values_max) continue;
    v1::GetMatrixRequest request;
    request.set_sweep(sweep);
    request.set_measurement(name);
    request.set_trials_max(static_cast<std::uint32_t>(matrix.numbers_size()));
    ASSIGN_OR_RETURN(const v1::SweepMatrix with,
                     session.Call(&SweepStub::GetMatrix, request, kSavedPageSeconds));
    Json& list = values[name] = Json::array();
    for (const double value : with.values())
      list.push_back(std::isfinite(value) ? Json(Rounded(value)) : Json());
  }
  return values;
}

// The first trials, each as the page's own query has it.
absl::StatusOr<Json> Trials(Session& session, const v1::SweepStatus& sweep, std::uint32_t trials_max) {
  const std::vector<std::string> axes = AxisNames(sweep.spec());
  Json trials = Json::array();
  v1::ListTrialsRequest request;
  request.set_sweep(sweep.sweep_id());
  request.set_page_size(500);
  do {
    ASSIGN_OR_RETURN(const v1::ListTrialsResponse page,
                     session.Call(&SweepStub::ListTrials, request, kSavedPageSeconds));
    for (const v1::TrialStatus& trial : page.trials()) {
      if (trials.size() == trials_max) return trials;
      Json labels = Json::object();
      for (const std::string& axis : axes)
        if (const auto at = trial.labels().find(axis); at != trial.labels().end()) labels[axis] = at->second;
      trials.push_back({{"trial", trial.trial_id()},
                        {"sweep", sweep.name()},
                        {"sweep_id", sweep.sweep_id()},
                        {"state", v1::TrialState_Name(trial.state())},
                        {"labels", std::move(labels)},
                        {"message", trial.message()},
                        {"spec", Json::parse(trial.spec_json(), nullptr, /*allow_exceptions=*/false)}});
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return trials;
}

// The measurements whose curves are saved.
std::vector<std::string> CurveNames(const v1::SweepSpec& spec) {
  if (!spec.has_program())
    return {"train_loss", "loss", "max_inf_norm", "avg_kurtosis", "learning_rate", "gradient_norm"};
  std::vector<std::string> names;
  const auto measurements = MeasurementList::Of(spec);
  for (const MeasurementInfo& one : measurements->first()) names.emplace_back(one.name);
  return names;
}

// Curves of the first trials that have any: {trial, name, points: [[step, value], …]}, thinned.
absl::StatusOr<Json> Curves(Session& session, const v1::SweepStatus& status, const SavedPageLimits& limits) {
  const std::string& sweep = status.sweep_id();
  const std::vector<std::string> names = CurveNames(status.spec());
  if (names.empty()) return Json::array();
  ASSIGN_OR_RETURN(const Json found,
                   Rows(session, absl::StrCat("SELECT trial FROM trials WHERE sweep_id = '", sweep,
                                              "' AND state <> 'PENDING' LIMIT ", limits.curves)));
  std::vector<std::string> trials;
  for (const Json& row : found) trials.push_back(row["trial"].get<std::string>());
  Json curves = Json::array();
  for (std::size_t first = 0; first < trials.size(); first += kTrialsAtOnce) {
    const std::vector<std::string> some(
        trials.begin() + static_cast<std::ptrdiff_t>(first),
        trials.begin() + static_cast<std::ptrdiff_t>(std::min(trials.size(), first + kTrialsAtOnce)));
    const std::string from = absl::StrCat(" FROM curves WHERE trial IN (", SqlList(some),
                                          ") AND site = '' AND name IN (", SqlList(names), ")");
    ASSIGN_OR_RETURN(const Json counts,
                     Rows(session, absl::StrCat("SELECT max(step) AS steps, count(*) AS points", from)));
    const auto points = counts[0]["points"].get<std::uint64_t>();
    const std::uint64_t every = 1 + points / (limits.points * some.size() * 3);
    ASSIGN_OR_RETURN(const Json rows, Rows(session,
                                           absl::StrCat("SELECT trial, name, step, value", from,
                                                        " AND step % ", every, " = 0 ORDER BY token, step"),
                                           100000));
    std::map<std::pair<std::string, std::string>, Json> by;
    for (const Json& row : rows) {
      Json& curve = by[{row["trial"].get<std::string>(), row["name"].get<std::string>()}];
      if (row["value"].is_number())
        curve.push_back(Json::array({row["step"], Rounded(row["value"].get<double>())}));
    }
    for (auto& [key, list] : by)
      if (!list.is_null())
        curves.push_back({{"trial", key.first}, {"name", key.second}, {"points", std::move(list)}});
  }
  return curves;
}

// As a part of a script: nothing of it reads as markup.
std::string InScript(const std::string& json) { return absl::StrReplaceAll(json, {{"<", "\\u003c"}}); }

std::string InText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

std::string_view FileOf(std::string_view name) {
  for (const PageFile& file : PageFiles())
    if (file.name == name) return file.content;
  INLIER_CHECK(false && "the page has no such file");
  return {};
}

}  // namespace

// Modules of a file have no addresses: each becomes a data: address, and an import map names it.
std::string PageAround(const std::string& title, const std::string& data) {
  Json imports = Json::object();
  for (const PageFile& file : PageFiles()) {
    if (!absl::EndsWith(std::string(file.name), ".js")) continue;
    const std::string code = absl::StrReplaceAll(
        std::string(file.content), {{"from \"./", "from \"page/"}, {"import(\"./", "import(\"page/"}});
    imports[absl::StrCat("page/", std::string(file.name))] =
        absl::StrCat("data:text/javascript;base64,", absl::Base64Escape(code));
  }
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' "
      "data:; style-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      InText(title), "</title>\n<link rel=\"icon\" href=\"data:image/svg+xml;base64,",
      absl::Base64Escape(std::string(FileOf("icon.svg"))), "\">\n<style>\n", std::string(FileOf("style.css")),
      "</style>\n<script type=\"application/json\" id=\"inlier-data\">",
      InScript(data), "</script>\n<script type=\"importmap\">", Json{{"imports", imports}}.dump(),
      "</script>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\" id=\"skip\">Skip to the content</a>\n"
      "<header id=\"top\"></header>\n<main id=\"main\" tabindex=\"-1\"></main>\n"
      "<footer id=\"bottom\"></footer>\n"
      "<script type=\"module\">import \"page/main.js\";</script>\n</body>\n</html>\n");
}

absl::StatusOr<std::string> SavedPage(Session& session, const std::string& name,
                                      const SavedPageLimits& limits) {
  ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.GetSweep(name, kSavedPageSeconds));
  const std::string& id = sweep.sweep_id();
  v1::GetMatrixRequest all;
  all.set_sweep(id);
  ASSIGN_OR_RETURN(const v1::SweepMatrix matrix, session.Call(&SweepStub::GetMatrix, all, kSavedPageSeconds));
  ASSIGN_OR_RETURN(const Json values, Values(session, sweep, matrix, limits.values));
  ASSIGN_OR_RETURN(
      const Json failures,
      Rows(session, absl::StrCat("SELECT message, failure, count(*) AS trials, "
                                 "min(CAST(substr(trial, 3) AS INTEGER)) AS first FROM failures WHERE "
                                 "sweep_id = '",
                                 id, "' GROUP BY message, failure ORDER BY 3 DESC LIMIT 200")));
  ASSIGN_OR_RETURN(const Json trials, Trials(session, sweep, limits.trials));
  ASSIGN_OR_RETURN(const Json curves, Curves(session, sweep, limits));
  std::string table = "null";
  if (sweep.spec().has_table()) {
    v1::BuildTableRequest build;
    build.set_sweep(id);
    ASSIGN_OR_RETURN(const v1::Table built, session.Call(&SweepStub::BuildTable, build, kSavedPageSeconds));
    table = ToJsonLine(built);
  }
  return PageAround(sweep.name(),
                    absl::StrCat("{\"version\":", Json(Version()).dump(), ",\"saved_at\":",
                                 Json(FormatUtc(WallNow())).dump(), ",\"sweep\":", ToJsonLine(sweep),
                                 ",\"matrix\":", ToJsonLine(matrix), ",\"values\":", JsonText(values),
                                 ",\"failures\":", JsonText(failures), ",\"trials\":", JsonText(trials),
                                 ",\"curves\":", JsonText(curves), ",\"table\":", table, "}"));
}

}  // namespace inlier
