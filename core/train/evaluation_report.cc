// The names under which an evaluation's numbers are reported; their meanings are in
// proto/spec/measurements.cc.
#include <optional>
#include <string>

#include "core/train/evaluator.h"

namespace inlier {
namespace {

// Hands numbers to a sink as final measurements at one step.
class FinalReport {
 public:
  FinalReport(std::uint64_t step, TrialSink& sink) : step_(step), sink_(sink) {}

  void Add(const char* name, double value, const std::string& site = "") {
    v1::MeasurementPoint point;
    point.set_name(name);
    point.set_step(step_);
    point.set_value(value);
    if (!site.empty()) point.set_site(site);
    point.set_final(true);
    sink_.OnMeasurement(point);
  }
  void Add(const char* name, const std::optional<double>& value) {
    if (value) Add(name, *value);
  }

 private:
  const std::uint64_t step_;
  TrialSink& sink_;
};

void ReportSequenceOutliers(const OutlierSummary& outliers, const std::vector<SiteOutliers>& sites,
                            FinalReport& report) {
  report.Add("max_inf_norm", outliers.max_inf_norm);
  report.Add("max_ffn_inf_norm", outliers.max_ffn_inf_norm);
  report.Add("max_layer_inf_norm", outliers.max_layer_inf_norm);
  report.Add("max_residual_inf_norm", outliers.max_residual_inf_norm);
  report.Add("max_any_inf_norm", outliers.max_any_inf_norm);
  report.Add("avg_kurtosis", outliers.avg_kurtosis);
  report.Add("max_kurtosis", outliers.max_kurtosis);
  report.Add("max_layer_kurtosis", outliers.max_layer_kurtosis);
  for (const SiteOutliers& site : sites) {
    report.Add("inf_norm", site.inf_norm, site.name);
    if (site.kurtosis) report.Add("kurtosis", *site.kurtosis, site.name);
  }
}

void ReportTokenOutliers(const TokenOutlierSummary& tokens, const std::vector<BlockTokenOutliers>& blocks,
                         FinalReport& report) {
  report.Add("kurtosis_all", tokens.kurtosis);
  report.Add("kurtosis_first", tokens.first.kurtosis);
  report.Add("kurtosis_first_over_ceiling", tokens.first_over_ceiling);
  report.Add("max_abs_first", tokens.first.max_abs);
  report.Add("norm_ratio_first", tokens.first.norm_ratio);
  report.Add("pearson_kurtosis_norm_ratio_first", tokens.first_pearson);
  if (tokens.rest) {
    report.Add("kurtosis_rest", tokens.rest->kurtosis);
    report.Add("kurtosis_rest_over_ceiling", tokens.rest_over_ceiling);
    report.Add("max_abs_rest", tokens.rest->max_abs);
    report.Add("norm_ratio_rest", tokens.rest->norm_ratio);
    report.Add("pearson_kurtosis_norm_ratio_rest", tokens.rest_pearson);
  }
  for (const BlockTokenOutliers& block : blocks) {
    report.Add("layer_kurtosis_first", block.first.kurtosis, block.site);
    report.Add("layer_max_abs_first", block.first.max_abs, block.site);
    report.Add("layer_norm_ratio_first", block.first.norm_ratio, block.site);
    if (block.rest) {
      report.Add("layer_kurtosis_rest", block.rest->kurtosis, block.site);
      report.Add("layer_max_abs_rest", block.rest->max_abs, block.site);
      report.Add("layer_norm_ratio_rest", block.rest->norm_ratio, block.site);
    }
    report.Add("six_sigma_count", block.six_sigma_count, block.site);
  }
}

void ReportAttention(const AttentionShares& attention, const std::vector<LayerAttention>& layers,
                     FinalReport& report) {
  report.Add("first_attention_share", attention.first_share);
  report.Add("first_attention_share_without_query1", attention.first_share_without_query1);
  report.Add("first_key_mass", attention.first_key_mass);
  report.Add("first_key_mass_normalised", attention.first_key_mass_normalised);
  report.Add("first_key_mass_without_query1", attention.first_key_mass_without_query1);
  report.Add("attention_zero_share", attention.zero_share);
  report.Add("attention_zero_row_share", attention.zero_row_share);
  for (const LayerAttention& layer : layers) {
    report.Add("layer_first_attention_share", layer.shares.first_share, layer.site);
    report.Add("layer_first_key_mass", layer.shares.first_key_mass, layer.site);
    report.Add("layer_attention_zero_share", layer.shares.zero_share, layer.site);
  }
}

}  // namespace

void ReportEvaluation(const EvaluationResult& result, const UnigramPerplexity& unigram, std::uint64_t step,
                      TrialSink& sink) {
  FinalReport report(step, sink);
  report.Add("loss", result.loss);
  report.Add("perplexity", result.perplexity);
  report.Add("accuracy", result.accuracy);
  report.Add("unigram_perplexity", unigram.own);
  ReportSequenceOutliers(result.outliers, result.sites, report);
  if (result.tokens) ReportTokenOutliers(*result.tokens, result.blocks, report);
  if (result.attention) ReportAttention(*result.attention, result.attention_layers, report);
  for (const GateMean& gate : result.gates) report.Add("gate_mean", gate.mean, gate.site);
  report.Add("evaluate_seconds", result.seconds);
}

}  // namespace inlier
