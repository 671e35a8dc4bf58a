// Outliers of single tokens and attention to the first one, against the numbers of the papers' formulas
// (tests/golden/outliers_kaul): on given tensors, and over whole models.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/outliers/attention_recorder.h"
#include "core/outliers/token_metrics.h"
#include "core/outliers/token_outlier_recorder.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

using nlohmann::json;

// The tolerances of a case in one precision; the models' in double are those of every model.
struct MetricTolerances {
  Tolerance kurtosis, norm_ratio, max_abs, mass, share, pearson;
  double hidden_relmax;  // max|a - ref| / max(max|ref|, 0.01)
};

MetricTolerances MetricTolerancesOf(const GoldenCase& golden, at::ScalarType dtype) {
  const Tolerance exact = {.absolute = 1e-12};
  if (dtype == torch::kFloat64) {
    const json all = golden.json["tolerances"].value("float64", json::object());
    const Tolerance relative = {.absolute = 1e-14, .relative = all.value("rel", 1e-9)};
    return {.kurtosis = relative,
            .norm_ratio = relative,
            .max_abs = relative,
            .mass = relative,
            .share = exact,
            .pearson = {.absolute = 1e-9},
            .hidden_relmax = 1e-10};
  }
  const json& all = TolerancesOf(golden, dtype);
  return {.kurtosis = {.relative = all["kurtosis_rel"]},
          .norm_ratio = {.relative = all["max_abs_rel"]},
          .max_abs = {.relative = all["max_abs_rel"]},
          .mass = {.absolute = all["mass_abs"]},
          .share = exact,
          .pearson = {.absolute = all.value("pearson_abs", 1e-3)},
          .hidden_relmax = all.value("hidden_relmax", 1e-5)};
}

// Compares the numbers of both sides; a number on one side only fails.
class ExpectedNumbers {
 public:
  ExpectedNumbers(GoldenComparison& compare, const json& expected) : compare_(compare), expected_(expected) {}

  void Number(const std::string& name, std::optional<double> actual, Tolerance tolerance) {
    const json& wanted = expected_.at(name);
    compare_.Equal(name + " is there", actual ? "yes" : "no", wanted.is_null() ? "no" : "yes");
    if (actual && !wanted.is_null()) compare_.Number(name, *actual, wanted, tolerance);
  }
  void List(const std::string& name, const std::vector<double>& actual, Tolerance tolerance) {
    compare_.Tensors(name, torch::tensor(actual, torch::kDouble),
                     torch::tensor(expected_.at(name).get<std::vector<double>>(), torch::kDouble), tolerance);
  }

 private:
  GoldenComparison& compare_;
  const json& expected_;
};

void CompareTokens(ExpectedNumbers& expected, const TokenOutlierRecorder& recorder,
                   const MetricTolerances& tolerances) {
  const TokenOutlierSummary summary = recorder.Summary().value();
  const TokenGroupSummary rest = summary.rest.value();
  expected.Number("kurtosis_first", summary.first.kurtosis, tolerances.kurtosis);
  expected.Number("kurtosis_rest", rest.kurtosis, tolerances.kurtosis);
  expected.Number("kurtosis_all", summary.kurtosis, tolerances.kurtosis);
  expected.Number("kurtosis_first_over_ceiling", summary.first.over_ceiling, tolerances.kurtosis);
  expected.Number("kurtosis_rest_over_ceiling", rest.over_ceiling, tolerances.kurtosis);
  expected.Number("max_abs_first", summary.first.max_abs, tolerances.max_abs);
  expected.Number("max_abs_rest", rest.max_abs, tolerances.max_abs);
  expected.Number("norm_ratio_first", summary.first.norm_ratio, tolerances.norm_ratio);
  expected.Number("norm_ratio_rest", rest.norm_ratio, tolerances.norm_ratio);
  expected.Number("pearson_kurtosis_norm_ratio_first", summary.first.pearson, tolerances.pearson);
  expected.Number("pearson_kurtosis_norm_ratio_rest", rest.pearson, tolerances.pearson);

  std::map<std::string, std::vector<double>> lists;
  double first_over_layers = 0, rest_over_layers = 0;
  for (const BlockTokenOutliers& block : recorder.Blocks()) {
    lists["kurtosis_first_per_layer"].push_back(block.first.kurtosis);
    lists["kurtosis_rest_per_layer"].push_back(block.rest->kurtosis);
    lists["max_abs_first_per_layer"].push_back(block.first.max_abs);
    lists["max_abs_rest_per_layer"].push_back(block.rest->max_abs);
    lists["norm_ratio_first_per_layer"].push_back(block.first.norm_ratio);
    lists["norm_ratio_rest_per_layer"].push_back(block.rest->norm_ratio);
    first_over_layers = std::max(first_over_layers, block.first.max_abs);
    rest_over_layers = std::max(rest_over_layers, block.rest->max_abs);
  }
  for (const auto& [name, values] : lists) {
    expected.List(name, values,
                  absl::StartsWith(name, "kurtosis")  ? tolerances.kurtosis
                  : absl::StartsWith(name, "max_abs") ? tolerances.max_abs
                                                      : tolerances.norm_ratio);
  }
  expected.Number("max_abs_first_over_layers", first_over_layers, tolerances.max_abs);
  expected.Number("max_abs_rest_over_layers", rest_over_layers, tolerances.max_abs);
}

void CompareAttention(ExpectedNumbers& expected, const AttentionRecorder& recorder,
                      const MetricTolerances& tolerances) {
  const AttentionShares shares = recorder.Summary().value();
  double queries = 0;
  std::vector<double> share_per_layer, normalised_per_layer;
  for (const LayerAttention& layer : recorder.Layers()) {
    queries += static_cast<double>(layer.queries);
    share_per_layer.push_back(layer.shares.first_share);
    normalised_per_layer.push_back(layer.shares.first_key_mass_normalised);
  }
  expected.Number("query_head_pairs", queries, {});
  expected.Number("first_attn_count", shares.first_share * queries, {.absolute = 1e-6});
  expected.Number("zero_rows", shares.zero_row_share * queries, {.absolute = 1e-6});
  expected.Number("first_attn_share", shares.first_share, tolerances.share);
  expected.Number("first_attn_share_without_query1", shares.first_share_without_query1, tolerances.share);
  expected.List("first_attn_share_per_layer", share_per_layer, tolerances.share);
  expected.Number("argmax_share_if_zero_rows_were_counted", shares.first_share + shares.zero_row_share,
                  tolerances.share);
  expected.Number("first_key_mass", shares.first_key_mass, tolerances.mass);
  expected.Number("first_key_mass_without_query1", shares.first_key_mass_without_query1, tolerances.mass);
  expected.Number("first_key_mass_normalised", shares.first_key_mass_normalised, tolerances.mass);
  expected.List("first_key_mass_normalised_per_layer", normalised_per_layer, tolerances.mass);
}

void CompareTensors(GoldenComparison& compare, const GoldenCase& golden, at::ScalarType dtype) {
  const MetricTolerances tolerances = MetricTolerancesOf(golden, dtype);
  const at::Tensor hidden = golden.Tensor("input/hidden").to(dtype);
  const at::Tensor attention = golden.Tensor("input/attention").to(dtype);
  compare.Tensor("out/kurtosis", TokenKurtosis(hidden), tolerances.kurtosis);
  compare.Tensor("out/norm_ratio", TokenNormRatio(hidden), tolerances.norm_ratio);
  TokenOutlierRecorder tokens(v1::ModelSpec::kGpt2);
  AttentionRecorder attends(/*causal=*/true);
  for (std::int64_t layer = 0; layer < hidden.size(0); ++layer) {
    for (std::int64_t sequence = 0; sequence < hidden.size(1);
         ++sequence) {  // Batches of one: sums must add up.
      tokens.OnActivation(absl::StrCat("hidden.", layer + 1), hidden[layer].slice(0, sequence, sequence + 1));
      attends.OnActivation(absl::StrCat(layer, ".probs"), attention[layer].slice(0, sequence, sequence + 1));
    }
  }
  ExpectedNumbers expected(compare, golden.json["expected"]);
  CompareTokens(expected, tokens, tolerances);
  CompareAttention(expected, attends, tolerances);
}

// Keeps block outputs, for comparison with the stored ones.
class BlockCapture : public ActivationTap {
 public:
  explicit BlockCapture(v1::ModelSpec::ArchitectureCase architecture) : architecture_(architecture) {}

  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    TokenOutlierRecorder is_block(architecture_);
    is_block.OnActivation(site, activation);
    if (!is_block.Blocks().empty()) blocks_.push_back(activation.detach().clone());
    return activation;
  }
  at::Tensor blocks() const { return torch::stack(blocks_); }

 private:
  const v1::ModelSpec::ArchitectureCase architecture_;
  std::vector<at::Tensor> blocks_;
};

void CompareKaulOutliers(GoldenComparison& compare, const GoldenCase& golden, at::ScalarType dtype) {
  const auto model = ModelOfCase(golden, dtype);
  ASSERT_NE(model, nullptr);
  const torch::NoGradGuard no_grad;
  const auto architecture = golden.spec->model().architecture_case();
  TokenOutlierRecorder tokens(architecture);
  AttentionRecorder attention(model->causal());
  BlockCapture capture(architecture);
  TapChain taps({&tokens, &attention, &capture});
  model->Logits(InputOfCase(golden), &taps);
  const MetricTolerances tolerances = MetricTolerancesOf(golden, dtype);
  const double magnitude = std::max(golden.Tensor("out/hidden").abs().max().item<double>(), 0.01);
  compare.Tensor("out/hidden", capture.blocks(), {.absolute = tolerances.hidden_relmax * magnitude});
  compare.Tensor("out/kurtosis", TokenKurtosis(capture.blocks()), tolerances.kurtosis);
  compare.Tensor("out/norm_ratio", TokenNormRatio(capture.blocks()), tolerances.norm_ratio);
  ExpectedNumbers expected(compare, golden.json["expected"]);
  CompareTokens(expected, tokens, tolerances);
  CompareAttention(expected, attention, tolerances);
}

GoldenCase WithModel(const GoldenCase& golden) {
  const std::string file = golden.json["params_and_inputs_from"];
  const std::size_t slash = file.find('/');
  return WithModelOf(golden, FindGoldenCases(file.substr(0, slash)), file.substr(slash + 1));
}

class OutliersKaulGoldenTest : public testing::TestWithParam<at::ScalarType> {};

TEST_P(OutliersKaulGoldenTest, MetricsAreThoseOfThePaper) {
  GoldenReport report("outliers_kaul");
  for (const GoldenCase& golden : FindGoldenCases("outliers_kaul")) {
    if (!report.Accepts(golden, FileIsUsed(golden, {"params_and_inputs_from", "hidden"}))) continue;
    if (golden.Has("input/hidden")) {
      GoldenComparison compare(report, golden, GetParam());
      CompareTensors(compare, golden, GetParam());
    } else if (golden.json.contains("params_and_inputs_from")) {
      const GoldenCase complete = WithModel(golden);
      if (report.SkipWhatIsNotSupported(complete) || !complete.spec) continue;
      GoldenComparison compare(report, complete, GetParam());
      CompareKaulOutliers(compare, complete, GetParam());
    } else {
      ADD_FAILURE() << "outliers_kaul/" << golden.name << ": no comparison is known for this case";
    }
  }
  report.Finish();
}

INSTANTIATE_TEST_SUITE_P(Precisions, OutliersKaulGoldenTest,
                         testing::Values(torch::kFloat64, torch::kFloat32),
                         PrecisionName);

}  // namespace
}  // namespace inlier
