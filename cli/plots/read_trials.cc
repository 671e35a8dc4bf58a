#include "cli/plots/read_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/query_rows.h"
#include "spec/schema/did_you_mean.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::size_t kCurvesOfAQuery = 50;  // Whose curves are read together.

std::string SqlName(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

double Number(const v1::QueryValue& value) {
  if (value.has_real()) return value.real();
  return value.has_integer() ? static_cast<double>(value.integer())
                             : std::numeric_limits<double>::quiet_NaN();
}

// Runs `statement(condition)` until all rows are there: the condition holds for the rows after the last one.
absl::Status ForEachRow(const RunQuery& query,
                        const std::function<std::string(const v1::QueryRow* last)>& statement,
                        const std::function<void(const v1::QueryRow&)>& on_row) {
  v1::QueryResponse response;
  const v1::QueryRow* last = nullptr;
  do {
    ASSIGN_OR_RETURN(v1::QueryResponse next, query(statement(last)));
    for (const v1::QueryRow& row : next.rows()) on_row(row);
    if (next.truncated() && next.rows().empty())
      return absl::ResourceExhaustedError("one row is too large for an answer of the coordinator");
    response = std::move(next);
    last = response.rows().empty() ? nullptr : &response.rows(response.rows_size() - 1);
  } while (response.truncated());
  return absl::OkStatus();
}

// A view with a value for each trial and key.
struct KeyedView {
  const char *view, *key;
  bool key_is_text;
};

// Calls `on_row` with every row of the trials that has the condition, by trial and key.
absl::Status ForEachOfTrials(
    const RunQuery& query, const std::vector<std::string>& trials, const KeyedView& of,
    const std::string& condition,
    const std::function<void(const std::string& trial, const v1::QueryValue& key, double value)>& on_row) {
  for (std::size_t begin = 0; begin < trials.size(); begin += kCurvesOfAQuery) {
    const std::size_t end = std::min(begin + kCurvesOfAQuery, trials.size());
    const std::string some = SqlList({trials.data() + begin, trials.data() + end});
    const auto statement = [&](const v1::QueryRow* last) {
      std::string text = absl::StrCat("SELECT trial, ", of.key, ", value FROM ", of.view, " WHERE trial IN (",
                                      some, ") AND ", condition);
      if (last != nullptr) {
        const std::string key = ExactText(last->values(1));
        absl::StrAppend(&text, " AND (trial, ", of.key, ") > (", SqlText(ExactText(last->values(0))), ", ",
                        of.key_is_text ? SqlText(key) : key, ")");
      }
      return absl::StrCat(text, " ORDER BY trial, ", of.key);
    };
    RETURN_IF_ERROR(ForEachRow(query, statement, [&](const v1::QueryRow& row) {
      on_row(ExactText(row.values(0)), row.values(1), Number(row.values(2)));
    }));
  }
  return absl::OkStatus();
}

struct LayerSite {
  std::int64_t layer = 0;  // From 1.
  std::string module;      // Below the layer; "layer": its output.
};

// Of "bert.encoder.layer.0.output.dense" or "hidden.1" (the output of the first layer); nothing for a site of no layer.
std::optional<LayerSite> LayerOfSite(const std::string& site) {
  const std::vector<std::string> parts = absl::StrSplit(site, '.');
  for (std::size_t i = 1; i < parts.size(); ++i) {
    LayerSite found;
    if (!absl::SimpleAtoi(parts[i], &found.layer)) continue;
    if (parts[i - 1] != "hidden") ++found.layer;
    found.module = absl::StrJoin(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end(), ".");
    if (found.module.empty()) found.module = "layer";
    return found;
  }
  return std::nullopt;
}

std::string Names(const auto& names) {
  std::string list;
  for (const std::string& name : names) absl::StrAppend(&list, ", ", SqlName(name));
  return list;
}

}  // namespace

absl::StatusOr<std::vector<PlotTrial>> ReadPlotTrials(const RunQuery& query, const std::string& sweep_id,
                                                      const std::set<std::string>& columns,
                                                      const std::vector<std::string>& measurements) {
  std::vector<PlotTrial> trials;
  std::unordered_map<std::string, std::size_t> index;
  const std::string of_sweep = absl::StrCat(" WHERE sweep_id = ", SqlText(sweep_id), " AND withdrawn = 0");
  RETURN_IF_ERROR(ForEachRow(
      query,
      [&](const v1::QueryRow* last) {
        return absl::StrCat("SELECT point, trial, state, labels, train_stage, evaluate_stage", Names(columns),
                            " FROM trials", of_sweep,
                            last == nullptr ? "" : absl::StrCat(" AND point > ", ExactText(last->values(0))),
                            " ORDER BY point");
      },
      [&](const v1::QueryRow& row) {
        PlotTrial& trial = trials.emplace_back();
        trial.id = ExactText(row.values(1));
        trial.state = ExactText(row.values(2));
        for (const auto& [axis, label] : LabelsFromJson(ExactText(row.values(3)))) trial.labels[axis] = label;
        trial.train_stage = ExactText(row.values(4));
        trial.evaluate_stage = ExactText(row.values(5));
        int i = 6;
        for (const std::string& column : columns) trial.columns[column] = ExactText(row.values(i++));
        trial.measurements.assign(measurements.size(), std::numeric_limits<double>::quiet_NaN());
        index[trial.id] = trials.size() - 1;
      }));
  if (measurements.empty()) return trials;
  RETURN_IF_ERROR(ForEachRow(
      query,
      [&](const v1::QueryRow* last) {
        return absl::StrCat(
            "SELECT trial", Names(measurements), " FROM results", of_sweep, " AND state = 'SUCCEEDED'",
            last == nullptr ? "" : absl::StrCat(" AND trial > ", SqlText(ExactText(last->values(0)))),
            " ORDER BY trial");
      },
      [&](const v1::QueryRow& row) {
        const auto found = index.find(ExactText(row.values(0)));
        if (found == index.end()) return;  // Stored after the first statement.
        PlotTrial& trial = trials[found->second];
        trial.state = "SUCCEEDED";
        for (std::size_t i = 0; i < measurements.size(); ++i)
          trial.measurements[i] = Number(row.values(static_cast<int>(i) + 1));
      }));
  return trials;
}

absl::StatusOr<std::map<std::string, Curve>> ReadCurves(const RunQuery& query,
                                                        const std::vector<std::string>& trials,
                                                        const std::string& measurement) {
  std::map<std::string, Curve> curves;
  RETURN_IF_ERROR(
      ForEachOfTrials(query, trials, {.view = "curves", .key = "step", .key_is_text = false},
                      absl::StrCat("kind = 'TRAIN' AND site = '' AND name = ", SqlText(measurement)),
                      [&](const std::string& trial, const v1::QueryValue& step, double value) {
                        if (!std::isnan(value)) curves[trial].emplace_back(Number(step), value);
                      }));
  return curves;
}

absl::StatusOr<std::map<std::string, Curve>> ReadLayers(const RunQuery& query,
                                                        const std::vector<std::string>& trials,
                                                        const std::string& measurement,
                                                        const std::string& site) {
  std::map<std::string, std::map<std::string, Curve>> by_module;
  RETURN_IF_ERROR(ForEachOfTrials(query, trials, {.view = "sites", .key = "site", .key_is_text = true},
                                  absl::StrCat("name = ", SqlText(measurement)),
                                  [&](const std::string& trial, const v1::QueryValue& path, double value) {
                                    const std::optional<LayerSite> place = LayerOfSite(ExactText(path));
                                    if (!place || std::isnan(value)) return;
                                    by_module[place->module][trial].emplace_back(
                                        static_cast<double>(place->layer), value);
                                  }));
  if (by_module.empty()) return std::map<std::string, Curve>();
  const auto chosen = site.empty() && by_module.size() == 1 ? by_module.begin() : by_module.find(site);
  if (chosen != by_module.end()) {
    for (auto& [trial, curve] : chosen->second) std::ranges::sort(curve);
    return std::move(chosen->second);
  }
  std::vector<std::string> modules;
  for (const auto& [module, curves] : by_module) modules.push_back(module);
  return absl::InvalidArgumentError(absl::StrCat(
      "site: ", measurement,
      site.empty() ? absl::StrCat(" is measured at several modules of a layer; name one of ",
                                  absl::StrJoin(modules, ", "))
                   : absl::StrCat(" is not measured at ", Quoted(site), DidYouMean(site, modules))));
}

}  // namespace inlier
