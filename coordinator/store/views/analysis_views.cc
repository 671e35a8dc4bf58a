#include "coordinator/store/views/analysis_views.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/store/views/derived_sql.h"
#include "coordinator/store/views/view_sql.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

std::vector<ViewColumn> AnalysisColumns(const std::string& numbers) {
  return {{"analysis", Id("a-", numbers + ".analysis"), "Id, a-<number>."},
          {"model", "analysis.model", "As the user named it: a folder, or a name of the hub."},
          {"setting", numbers + ".setting", "float, or the bits of the quantization, such as W8A8."}};
}

// Measurements of time, which differ from run to run, as SQL: 'a', 'b'.
std::string Durations(const std::vector<v1::ProgramDescription>& programs) {
  std::set<std::string> names;
  const auto add = [&names](std::string_view name, std::string_view unit) {
    if (unit == "s" || unit == "1/s") names.insert(absl::StrCat("'", std::string(name), "'"));
  };
  for (const MeasurementInfo& measurement : Measurements()) add(measurement.name, measurement.unit);
  for (const v1::ProgramDescription& program : programs) {
    for (const auto& [name, measurement] : program.measurements()) add(name, measurement.unit());
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace

View AnalysesView() {
  View view = {"analyses",
               "What `inlier analyze` measured on users' models, a row for float and for each quantization. "
               "NULL: not measured, or not a number.",
               AnalysisColumns("measured"),
               "(SELECT DISTINCT analysis, setting FROM analysis_number) AS measured"
               "\n  JOIN analysis ON analysis.id = measured.analysis"};
  const auto value = [](const std::string& name) {
    return absl::StrCat(
        "(SELECT value FROM analysis_number AS number WHERE number.analysis = measured.analysis AND "
        "number.setting = measured.setting AND number.name = '",
        name, "' AND number.site = '')");
  };
  for (const MeasurementInfo& measurement : Measurements()) {
    if (!measurement.final || measurement.axis == "site" || measurement.source == "train") continue;
    const std::string name(measurement.name);
    view.columns.push_back({name, value(name), "Of the whole model."});
  }
  view.columns = Joined(view.columns,
                        {{"hidden_change", value("hidden_change"),
                          "Mean over tokens of |h_q - h| / |h|, h the last hidden state; NULL for float."},
                         {"sentence_similarity", value("sentence_similarity"),
                          "Mean over sequences of the cosine between the token means of h_q and h."},
                         {"model_sha256", "analysis.model_sha256", "Of model.safetensors; NULL: not known."},
                         {"owner", "analysis.owner", "Who stored it; empty: callers were not checked."},
                         {"at", Utc("analysis.at_ms"), "When it was stored; UTC."},
                         {"spec", "analysis.spec", "What was asked, AnalysisSpec, JSON."}});
  return view;
}

View AnalysisSitesView() {
  return {"analysis_sites", "The same for each layer, a row a number.",
          Joined(AnalysisColumns("analysis_number"),
                 {{"site", "analysis_number.site", "Module path."},
                  {"name", "analysis_number.name", "Name of the measurement."},
                  {"value", "analysis_number.value", "NULL: not a number."}}),
          "analysis_number\n  JOIN analysis ON analysis.id = analysis_number.analysis"
          "\nWHERE analysis_number.site <> ''"};
}

View RerunsView(const std::vector<v1::ProgramDescription>& programs) {
  return {
      "reruns",
      "Final measurements of trials that ran what an earlier one had run, on other data or by `inlier submit "
      "--again`, each with the earlier value; without those of time.",
      TrialColumns({{"measurement", "measurement.name", "Name of the measurement."},
                    {"site", "measurement.site", "Module path; empty: of the whole model."},
                    {"before", "earlier.value", "The earlier value; NULL: not measured, or not a number."},
                    {"now", "measurement.value", "The value of this trial."},
                    {"equal", "(measurement.value IS earlier.value)", "1: to the last digit."},
                    {"digest_before", DigestOf("trained_before"), "dataset_digest of the earlier result."},
                    {"digest_now", DigestOf("trained"), "dataset_digest of this one."}}),
      absl::StrCat(kTrials, kStagesOfTrialJoin,
                   "\n  JOIN stage AS before ON before.id = evaluated.previous"
                   "\n  JOIN stage AS trained_before ON trained_before.id = before.train_stage"
                   "\n  CROSS JOIN measurement ON measurement.token = evaluated.result_token"
                   "\n  LEFT JOIN measurement AS earlier ON earlier.token = before.result_token AND "
                   "earlier.name = measurement.name AND earlier.site = measurement.site AND "
                   "earlier.step = measurement.step AND earlier.final = 1"
                   "\nWHERE measurement.final = 1 AND measurement.name NOT IN (",
                   Durations(programs), ")")};
}

View SitesView() {
  return {"sites",
          "Final measurements of single modules and quantizers of trials with a result, one row a number. "
          "Narrow it with `trial = 't-1'` or `sweep = '…'`.",
          TrialColumns({{"name", "measurement.name", "Name of the measurement."},
                        {"site", "measurement.site",
                         "Module path; of a quantized weight or input <path>.weight or <path>.input."},
                        {"value", "measurement.value", "NULL: not a number."}}),
          absl::StrCat(kTrials, kStagesOfTrialJoin,
                       "\n  CROSS JOIN measurement ON measurement.token = evaluated.result_token"
                       "\nWHERE measurement.final = 1 AND measurement.site <> ''")};
}

View CurvesView() {
  return {"curves",
          "Measurements over steps, one row a point. Of a training that was resumed: the points of each "
          "attempt up to where the next one resumed. Also of trials that still run. Narrow it with `trial = "
          "'t-1'` or `sweep = '…'`.",
          TrialColumns({{"stage", Id("st-", "stage.id"),
                         "Trials that share a training have its points once each; `stage` shows it."},
                        kKind,
                        {"name", "measurement.name", "Name of the measurement."},
                        {"step", "measurement.step", "Updates done when it was taken."},
                        {"value", "measurement.value", "NULL: not a number."},
                        {"site", "measurement.site", "Module path; empty: of the whole model."},
                        {"at", Utc("measurement.at_ms"), "UTC."},
                        {"token", "measurement.token", "The attempt that measured it."},
                        kOrigin}),
          absl::StrCat(AttemptsOfTrials(),
                       "\n  CROSS JOIN measurement ON measurement.token = attempt.token"
                       "\nWHERE measurement.final = 0 AND measurement.step <= "
                       "coalesce(attempt.visible_until, 9223372036854775807)")};
}

}  // namespace inlier
