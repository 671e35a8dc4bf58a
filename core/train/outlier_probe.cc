#include "core/train/outlier_probe.h"

namespace inlier {
namespace {

void ReportSequenceOutliers(const OutlierSummary& outliers, const std::vector<SiteOutliers>& sites,
                            MeasurementReporter& reporter) {
  reporter.Add("max_inf_norm", outliers.max_inf_norm);
  reporter.Add("max_ffn_inf_norm", outliers.max_ffn_inf_norm);
  reporter.Add("max_layer_inf_norm", outliers.max_layer_inf_norm);
  reporter.Add("max_residual_inf_norm", outliers.max_residual_inf_norm);
  reporter.Add("max_any_inf_norm", outliers.max_any_inf_norm);
  reporter.Add("avg_kurtosis", outliers.avg_kurtosis);
  reporter.Add("max_kurtosis", outliers.max_kurtosis);
  reporter.Add("max_layer_kurtosis", outliers.max_layer_kurtosis);
  if (!reporter.has_sites()) return;
  for (const SiteOutliers& site : sites) {
    reporter.Add("inf_norm", site.inf_norm, site.name);
    if (site.kurtosis) reporter.Add("kurtosis", *site.kurtosis, site.name);
  }
}

void ReportTokenOutliers(const TokenOutlierSummary& tokens, const std::vector<BlockTokenOutliers>& blocks,
                         MeasurementReporter& reporter) {
  reporter.Add("kurtosis_all", tokens.kurtosis);
  reporter.Add("kurtosis_first", tokens.first.kurtosis);
  reporter.Add("kurtosis_first_over_ceiling", tokens.first.over_ceiling);
  reporter.Add("max_abs_first", tokens.first.max_abs);
  reporter.Add("mean_max_abs_first", tokens.first.mean_max_abs);
  reporter.Add("norm_ratio_first", tokens.first.norm_ratio);
  reporter.Add("pearson_kurtosis_norm_ratio_first", tokens.first.pearson);
  reporter.Add("massive_activation_count", tokens.massive_count);
  if (tokens.rest) {
    reporter.Add("kurtosis_rest", tokens.rest->kurtosis);
    reporter.Add("kurtosis_rest_over_ceiling", tokens.rest->over_ceiling);
    reporter.Add("max_abs_rest", tokens.rest->max_abs);
    reporter.Add("mean_max_abs_rest", tokens.rest->mean_max_abs);
    reporter.Add("norm_ratio_rest", tokens.rest->norm_ratio);
    reporter.Add("pearson_kurtosis_norm_ratio_rest", tokens.rest->pearson);
  }
  if (!reporter.has_sites()) return;
  for (const BlockTokenOutliers& block : blocks) {
    reporter.Add("layer_kurtosis_first", block.first.kurtosis, block.site);
    reporter.Add("layer_max_abs_first", block.first.max_abs, block.site);
    reporter.Add("layer_norm_ratio_first", block.first.norm_ratio, block.site);
    if (block.rest) {
      reporter.Add("layer_kurtosis_rest", block.rest->kurtosis, block.site);
      reporter.Add("layer_max_abs_rest", block.rest->max_abs, block.site);
      reporter.Add("layer_norm_ratio_rest", block.rest->norm_ratio, block.site);
    }
    reporter.Add("six_sigma_count", block.six_sigma_count, block.site);
    reporter.Add("layer_massive_activation_count", block.massive_count, block.site);
  }
}

void ReportAttention(const AttentionShares& attention, const std::vector<LayerAttention>& layers,
                     MeasurementReporter& reporter) {
  reporter.Add("first_attention_share", attention.first_share);
  reporter.Add("first_attention_share_without_query1", attention.first_share_without_query1);
  reporter.Add("first_key_mass", attention.first_key_mass);
  reporter.Add("first_key_mass_normalised", attention.first_key_mass_normalised);
  reporter.Add("first_key_mass_without_query1", attention.first_key_mass_without_query1);
  reporter.Add("uniform_first_key_mass", attention.uniform_first_key_mass);
  reporter.Add("uniform_first_key_mass_without_query1", attention.uniform_first_key_mass_without_query1);
  reporter.Add("sink_rate", attention.sink_rate);
  reporter.Add("attention_entropy", attention.entropy);
  reporter.Add("attention_max_weight", attention.max_weight);
  reporter.Add("attention_zero_share", attention.zero_share);
  reporter.Add("attention_zero_row_share", attention.zero_row_share);
  if (!reporter.has_sites()) return;
  for (const LayerAttention& layer : layers) {
    reporter.Add("layer_first_attention_share", layer.shares.first_share, layer.site);
    reporter.Add("layer_first_key_mass", layer.shares.first_key_mass, layer.site);
    reporter.Add("layer_sink_rate", layer.shares.sink_rate, layer.site);
    reporter.Add("layer_attention_entropy", layer.shares.entropy, layer.site);
    reporter.Add("layer_attention_max_weight", layer.shares.max_weight, layer.site);
    reporter.Add("layer_attention_zero_share", layer.shares.zero_share, layer.site);
  }
}

}  // namespace

OutlierProbe::OutlierProbe(const Model& model, v1::ModelSpec::ArchitectureCase architecture,
                           int kurtosis_batches, const v1::OutlierSpec& options,
                           v1::EvaluationSpec::Measure measure)
    : measure_(measure),
      activations_(architecture,
                   {.kurtosis_batches = kurtosis_batches, .count_padding = options.count_padding()}),
      tokens_(architecture, options.count_padding()),
      six_sigma_(options.count_padding()),
      attention_(model.causal(), {.count_padding = options.count_padding(),
                                  .sink_threshold = options.sink_threshold(),
                                  .prefix_tokens = model.prefix_tokens()}) {}

std::vector<ActivationTap*> OutlierProbe::taps() {
  switch (measure_) {
    case v1::EvaluationSpec::SCORES:
      return {};
    case v1::EvaluationSpec::NORMS:
      return {&activations_};
    case v1::EvaluationSpec::ALL:
      break;
  }
  return {&activations_, &tokens_, &six_sigma_, &attention_};
}

OutlierReport OutlierProbe::Report() const {
  if (measure_ == v1::EvaluationSpec::SCORES) return {};
  if (measure_ == v1::EvaluationSpec::NORMS)
    return {.summary = activations_.Summary(), .sites = activations_.Sites()};
  return {.summary = activations_.Summary(),
          .sites = activations_.Sites(),
          .tokens = tokens_.Summary(),
          .blocks = tokens_.Blocks(),
          .ffn_six_sigma = six_sigma_.Sites(),
          .attention = attention_.Summary(),
          .attention_layers = attention_.Layers(),
          .gates = attention_.Gates()};
}

void ReportOutliers(const OutlierReport& report, MeasurementReporter& reporter) {
  if (report.summary) ReportSequenceOutliers(*report.summary, report.sites, reporter);
  if (report.tokens) ReportTokenOutliers(*report.tokens, report.blocks, reporter);
  if (report.attention) ReportAttention(*report.attention, report.attention_layers, reporter);
  if (!reporter.has_sites()) return;
  for (const SixSigmaSite& layer : report.ffn_six_sigma)
    reporter.Add("ffn_six_sigma_count", layer.mean_count, layer.site);
  for (const GateMean& gate : report.gates) reporter.Add("gate_mean", gate.mean, gate.site);
}

}  // namespace inlier
