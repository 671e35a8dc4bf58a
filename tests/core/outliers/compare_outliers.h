// The outlier metrics of a recorder against a reference's numbers.
#ifndef INLIER_TESTS_CORE_OUTLIERS_COMPARE_OUTLIERS_H_
#define INLIER_TESTS_CORE_OUTLIERS_COMPARE_OUTLIERS_H_

#include <string>
#include <vector>

#include "core/outliers/activation_recorder.h"
#include "nlohmann/json.hpp"
#include "tests/core/support/golden_case.h"

namespace inlier {

// Every measured tensor, where the case has those, and the kurtoses: as many, and each.
inline void CompareSites(GoldenComparison& compare, const nlohmann::json& expected,
                         const ActivationRecorder& recorder, Tolerance tolerance) {
  std::size_t kurtoses = 0;
  const std::vector<SiteOutliers> sites = recorder.Sites();
  const auto count = [&compare](const std::string& what, std::size_t actual, std::size_t wanted) {
    compare.Number("measured " + what, static_cast<double>(actual), static_cast<double>(wanted),
                   {.absolute = 0.5});
  };
  if (expected.contains("inf_norm")) count("tensors", sites.size(), expected["inf_norm"].size());
  for (const SiteOutliers& site : sites) {
    if (expected.contains("inf_norm"))
      compare.Number("inf_norm " + site.name, site.inf_norm, expected["inf_norm"].value(site.name, -1.0),
                     tolerance);
    if (!site.kurtosis) continue;
    compare.Number("kurtosis " + site.name, *site.kurtosis, expected["kurtosis"].value(site.name, -1.0),
                   tolerance);
    ++kurtoses;
  }
  count("kurtoses", kurtoses, expected["kurtosis"].size());
}

// As the reference's script for BERT or that for OPT names the numbers.
inline void CompareOutlierSummary(GoldenComparison& compare, const nlohmann::json& expected,
                                  const ActivationRecorder& recorder, Tolerance tolerance) {
  CompareSites(compare, expected, recorder, tolerance);
  const OutlierSummary summary = recorder.Summary();
  const auto number = [&](const std::string& name, double actual, const char* wanted) {
    compare.Number(name, actual, expected["summary"][wanted], tolerance);
  };
  number("avg_kurtosis", summary.avg_kurtosis, "avg_kurtosis");
  number("max_kurtosis", summary.max_kurtosis, "max_kurtosis");
  if (expected["summary"].contains("max_ffn_out_inf_norm")) {  // BERT
    number("max_inf_norm", summary.max_inf_norm, "max_ffn_out_inf_norm");
    number("max_layer_inf_norm", summary.max_layer_inf_norm, "max_LN_out_inf_norm");
    number("max_residual_inf_norm", summary.max_residual_inf_norm.value_or(-1), "max_LN_inp_inf_norm");
  } else {
    number("max_inf_norm", summary.max_inf_norm, "max_layer_inf_norm");
    number("max_any_inf_norm", summary.max_any_inf_norm, "max_inf_norm");
    number("max_ffn_inf_norm", summary.max_ffn_inf_norm, "max_ffn_inf_norm");
    number("max_layer_kurtosis", summary.max_layer_kurtosis, "max_kurtosis_layers");
  }
}

// Of BERT's layers: F the second linear of the feed-forward network, R the sum after it, N its norm.
inline void CompareBertOutliers(GoldenComparison& compare, const nlohmann::json& expected,
                                const ActivationRecorder& recorder, double relative) {
  const OutlierSummary summary = recorder.Summary();
  const auto number = [&](const char* name, double actual) {
    compare.Number(name, actual, expected[name].get<double>(), {.relative = relative});
  };
  number("max_inf_norm_F", summary.max_ffn_inf_norm);
  number("max_inf_norm_N", summary.max_layer_inf_norm);
  number("max_inf_norm_R", summary.max_residual_inf_norm.value());
  number("avg_kurtosis", summary.avg_kurtosis);
  number("max_kurtosis", summary.max_kurtosis);
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_OUTLIERS_COMPARE_OUTLIERS_H_
