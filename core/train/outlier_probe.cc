#include "core/train/outlier_probe.h"

namespace inlier {
namespace {

void ReportSequenceOutliers(const OutlierSummary& outliers, const std::vector<SiteOutliers>& sites,
                            MeasurementWriter& writer) {
  writer.Add("max_inf_norm", outliers.max_inf_norm);
  writer.Add("max_ffn_inf_norm", outliers.max_ffn_inf_norm);
  writer.Add("max_layer_inf_norm", outliers.max_layer_inf_norm);
  writer.Add("max_residual_inf_norm", outliers.max_residual_inf_norm);
  writer.Add("max_any_inf_norm", outliers.max_any_inf_norm);
  writer.Add("avg_kurtosis", outliers.avg_kurtosis);
  writer.Add("max_kurtosis", outliers.max_kurtosis);
  writer.Add("max_layer_kurtosis", outliers.max_layer_kurtosis);
  if (!writer.has_sites()) return;
  for (const SiteOutliers& site : sites) {
    writer.Add("inf_norm", site.inf_norm, site.name);
    if (site.kurtosis) writer.Add("kurtosis", *site.kurtosis, site.name);
  }
}

void ReportTokenOutliers(const TokenOutlierSummary& tokens, const std::vector<BlockTokenOutliers>& blocks,
                         MeasurementWriter& writer) {
  writer.Add("kurtosis_all", tokens.kurtosis);
  writer.Add("kurtosis_first", tokens.first.kurtosis);
  writer.Add("kurtosis_first_over_ceiling", tokens.first_over_ceiling);
  writer.Add("max_abs_first", tokens.first.max_abs);
  writer.Add("norm_ratio_first", tokens.first.norm_ratio);
  writer.Add("pearson_kurtosis_norm_ratio_first", tokens.first_pearson);
  if (tokens.rest) {
    writer.Add("kurtosis_rest", tokens.rest->kurtosis);
    writer.Add("kurtosis_rest_over_ceiling", tokens.rest_over_ceiling);
    writer.Add("max_abs_rest", tokens.rest->max_abs);
    writer.Add("norm_ratio_rest", tokens.rest->norm_ratio);
    writer.Add("pearson_kurtosis_norm_ratio_rest", tokens.rest_pearson);
  }
  if (!writer.has_sites()) return;
  for (const BlockTokenOutliers& block : blocks) {
    writer.Add("layer_kurtosis_first", block.first.kurtosis, block.site);
    writer.Add("layer_max_abs_first", block.first.max_abs, block.site);
    writer.Add("layer_norm_ratio_first", block.first.norm_ratio, block.site);
    if (block.rest) {
      writer.Add("layer_kurtosis_rest", block.rest->kurtosis, block.site);
      writer.Add("layer_max_abs_rest", block.rest->max_abs, block.site);
      writer.Add("layer_norm_ratio_rest", block.rest->norm_ratio, block.site);
    }
    writer.Add("six_sigma_count", block.six_sigma_count, block.site);
  }
}

void ReportAttention(const AttentionShares& attention, const std::vector<LayerAttention>& layers,
                     MeasurementWriter& writer) {
  writer.Add("first_attention_share", attention.first_share);
  writer.Add("first_attention_share_without_query1", attention.first_share_without_query1);
  writer.Add("first_key_mass", attention.first_key_mass);
  writer.Add("first_key_mass_normalised", attention.first_key_mass_normalised);
  writer.Add("first_key_mass_without_query1", attention.first_key_mass_without_query1);
  writer.Add("attention_zero_share", attention.zero_share);
  writer.Add("attention_zero_row_share", attention.zero_row_share);
  if (!writer.has_sites()) return;
  for (const LayerAttention& layer : layers) {
    writer.Add("layer_first_attention_share", layer.shares.first_share, layer.site);
    writer.Add("layer_first_key_mass", layer.shares.first_key_mass, layer.site);
    writer.Add("layer_attention_zero_share", layer.shares.zero_share, layer.site);
  }
}

}  // namespace

OutlierProbe::OutlierProbe(const Model& model, v1::ModelSpec::ArchitectureCase architecture,
                           int kurtosis_batches)
    : activations_(architecture, {.kurtosis_batches = kurtosis_batches}),
      tokens_(architecture),
      attention_(model.causal()) {}

OutlierReport OutlierProbe::Report() const {
  return {.summary = activations_.Summary(),
          .sites = activations_.Sites(),
          .tokens = tokens_.Summary(),
          .blocks = tokens_.Blocks(),
          .attention = attention_.Summary(),
          .attention_layers = attention_.Layers(),
          .gates = attention_.Gates()};
}

void ReportOutliers(const OutlierReport& report, MeasurementWriter& writer) {
  ReportSequenceOutliers(report.summary, report.sites, writer);
  if (report.tokens) ReportTokenOutliers(*report.tokens, report.blocks, writer);
  if (report.attention) ReportAttention(*report.attention, report.attention_layers, writer);
  if (!writer.has_sites()) return;
  for (const GateMean& gate : report.gates) writer.Add("gate_mean", gate.mean, gate.site);
}

}  // namespace inlier
