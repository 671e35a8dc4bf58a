// Outlier metrics against the reference implementation's numbers (tests/golden/outliers_bert_opt).
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/models/language_model.h"
#include "core/outliers/activation_recorder.h"
#include "core/outliers/outlier_metrics.h"
#include "tests/core/outliers/compare_outliers.h"
#include "tests/core/outliers/six_sigma_counts.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

using nlohmann::json;

void CompareFunctions(GoldenComparison& compare, const GoldenCase& golden, at::ScalarType dtype) {
  for (const std::string& name : golden.KeysUnder("input/")) {
    const at::Tensor x = golden.Tensor("input/" + name).to(dtype);
    const bool cancels = name == "normal_shifted" || name.rfind("tiny_scale", 0) == 0;
    const double relative = dtype == torch::kFloat64 ? 1e-10 : cancels ? 1e-2 : 1e-4;
    compare.Tensor("out/kurtosis/" + name, RowKurtosis(x), {.absolute = 1e-12, .relative = relative});
    compare.Tensor("out/inf_norm/" + name, RowInfNorm(x), {.absolute = 1e-12, .relative = relative});
  }
}

void CompareSixSigma(GoldenComparison& compare, const GoldenCase& golden, at::ScalarType dtype) {
  for (const std::string& name : golden.KeysUnder("input/")) {
    for (const bool whole : {false, true}) {
      const std::string scope = whole ? "whole_tensor" : "sequence";
      const SixSigmaCounts counts =
          CountBeyondSixSigma(golden.Tensor("input/" + name).to(dtype),
                              whole ? SixSigmaScope::kWholeTensor : SixSigmaScope::kSequence);
      compare.Tensor("out/" + scope + "/per_dim/" + name, counts.per_dimension, {.absolute = 0.5});
      compare.Tensor("out/" + scope + "/per_position/" + name, counts.per_position, {.absolute = 0.5});
      compare.Number(scope + "/" + name + " total", counts.per_position.sum().item<double>(),
                     golden.json["expected"][scope + "/" + name]["total"], {.absolute = 0.5});
    }
  }
}

// The results of a case for a kurtosis of its first batches only.
struct KurtosisStop {
  std::string key;  // "expected_if_kurtosis_stops_after_<batches>_batches"
  int batches;
};

KurtosisStop KurtosisStopOf(const GoldenCase& golden) {
  const std::string prefix = "expected_if_kurtosis_stops_after_";
  for (const auto& [key, value] : golden.json.items()) {
    if (absl::StartsWith(key, prefix)) return {key, std::stoi(key.substr(prefix.size()))};
  }
  ADD_FAILURE() << golden.name << ": no key " << prefix << "<batches>_batches";
  return {"", 1};
}

bool EveryMeasurementSettingIsUsed(const GoldenCase& golden) {
  CaseSettings file(golden, "");
  file.DescribesTheFile();
  file.Describes({"batch_size", "batches", "formula", "source", "definition"});
  if (golden.spec) {
    file.Require("num_sequences", golden.Tensor("input/input_ids").size(0));
    file.Describes({KurtosisStopOf(golden).key.c_str()});
  }
  return All({file.AllUsed(), SpecIsUsed(golden)});
}

void CompareOutliers(GoldenComparison& compare, const GoldenCase& golden, at::ScalarType dtype) {
  const KurtosisStop stop = KurtosisStopOf(golden);
  const auto model = ModelOfCase(golden, dtype);
  ASSERT_NE(model, nullptr);
  const torch::NoGradGuard no_grad;
  const bool in_double = dtype == torch::kFloat64;
  const double relative = in_double ? 1e-8 : 1e-4;
  const auto architecture = golden.spec->model().architecture_case();
  ActivationRecorder all(architecture,
                         {.kurtosis_batches = ReferenceKurtosisBatches(architecture), .keep_rows = true});
  ActivationRecorder stopped(architecture, {.kurtosis_batches = stop.batches});  // No case has padding.
  TapChain taps({&all, &stopped});

  const json& expected = golden.json["expected"];
  const std::int64_t batch_size = golden.json["batch_size"], rows = golden.Tensor("input/input_ids").size(0);
  double sum = 0;
  for (std::int64_t first = 0; first < rows; first += batch_size) {
    const std::int64_t count = std::min(batch_size, rows - first);
    const double loss = model
                            ->Loss(InputOfCase(golden, "input/", first, count),
                                   LabelsOfCase(golden, "input/", first, count), &taps)
                            .item<double>();
    compare.Number("loss", loss, expected["per_batch_loss"][first / batch_size],
                   {.absolute = in_double ? 1e-9 : 1e-4, .relative = relative});
    sum += loss * static_cast<double>(count);
  }
  compare.Number("perplexity", std::exp(sum / static_cast<double>(rows)), expected["perplexity"],
                 {.relative = in_double ? 1e-8 : 1e-4});
  const Tolerance tolerance = {.absolute = 1e-12, .relative = relative};
  CompareOutlierSummary(compare, expected, all, tolerance);
  CompareOutlierSummary(compare, golden.json[stop.key], stopped, tolerance);
  for (const SiteOutliers& site : all.Sites()) {
    compare.Tensor("out/row_inf_norm/" + site.name, site.row_inf_norm, tolerance);
    if (site.kurtosis) compare.Tensor("out/row_kurtosis/" + site.name, site.row_kurtosis, tolerance);
  }
}

class OutliersGoldenTest : public testing::TestWithParam<at::ScalarType> {};

TEST_P(OutliersGoldenTest, MetricsAreThoseOfTheReference) {
  GoldenReport report("outliers_bert_opt");
  for (const GoldenCase& golden : FindGoldenCases("outliers_bert_opt")) {
    if (golden.json.contains("spec") && report.SkipWhatIsNotSupported(golden)) continue;
    if (!report.Accepts(golden, EveryMeasurementSettingIsUsed(golden))) continue;
    GoldenComparison compare(report, golden, GetParam());
    if (golden.spec) {
      CompareOutliers(compare, golden, GetParam());
    } else if (golden.name.rfind("functions", 0) == 0) {
      CompareFunctions(compare, golden, GetParam());
    } else if (golden.name.rfind("six_sigma", 0) == 0) {
      CompareSixSigma(compare, golden, GetParam());
    } else {
      ADD_FAILURE() << "outliers_bert_opt/" << golden.name << ": no comparison is known for this case";
    }
  }
  report.Finish();
}

INSTANTIATE_TEST_SUITE_P(Precisions, OutliersGoldenTest, testing::Values(torch::kFloat64, torch::kFloat32),
                         PrecisionName);

}  // namespace
}  // namespace inlier
