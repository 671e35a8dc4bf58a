#include "coordinator/store/analysis_views.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/view_sql.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

std::vector<ViewColumn> AnalysisColumns(const char* numbers) {
  const auto in = [numbers](const char* column) { return absl::StrCat(numbers, ".", column); };
  return {{"analysis", Id("a-", in("analysis")), "Id, a-<number>."},
          {"model", "analysis.model", "As the person named it: a folder, or a name of the hub."},
          {"setting", in("setting"), "float, or the bits of the quantization, such as W8A8."}};
}

}  // namespace

View AnalysesView() {
  View view = {
      "analyses",
      "What `inlier analyze` measured on models of people, a row for float and for each quantization. NULL: "
      "not measured, or not a number.",
      AnalysisColumns("measured"),
      "(SELECT DISTINCT analysis, setting FROM analysis_number) AS measured\n  JOIN analysis ON analysis.id "
      "= "
      "measured.analysis"};
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
  view.columns.push_back({"hidden_change", value("hidden_change"),
                          "Mean over tokens of |h_q - h| / |h|, h the last hidden state; NULL for float."});
  view.columns.push_back({"sentence_similarity", value("sentence_similarity"),
                          "Mean over sequences of the cosine between the token means of h_q and h."});
  view.columns.push_back({"model_sha256", "analysis.model_sha256", "Of model.safetensors; NULL: not known."});
  view.columns.push_back({"owner", "analysis.owner", "Who stored it; empty: callers were not checked."});
  view.columns.push_back({"at", Utc("analysis.at_ms"), "When it was stored; UTC."});
  view.columns.push_back({"spec", "analysis.spec", "What was asked, AnalysisSpec, JSON."});
  return view;
}

View AnalysisSitesView() {
  View view = {"analysis_sites", "The same for each layer, a row a number.",
               AnalysisColumns("analysis_number"),
               "analysis_number\n  JOIN analysis ON analysis.id = analysis_number.analysis\nWHERE "
               "analysis_number.site <> "
               "''"};
  view.columns.push_back({"site", "analysis_number.site", "Module path."});
  view.columns.push_back({"name", "analysis_number.name", "Name of the measurement."});
  view.columns.push_back({"value", "analysis_number.value", "NULL: not a number."});
  return view;
}

}  // namespace inlier
