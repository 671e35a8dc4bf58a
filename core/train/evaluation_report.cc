// The names under which an evaluation's numbers are reported; their meanings are in
// proto/spec/measurements.cc.
#include "core/train/evaluator.h"

namespace inlier {

void ReportEvaluation(const EvaluationResult& result, const UnigramPerplexity& unigram, std::uint64_t step,
                      TrialSink& sink) {
  const auto report = [step, &sink](const char* name, double value, const std::string& site = "") {
    v1::MeasurementPoint point;
    point.set_name(name);
    point.set_step(step);
    point.set_value(value);
    if (!site.empty()) point.set_site(site);
    point.set_final(true);
    sink.OnMeasurement(point);
  };
  report("loss", result.loss);
  report("perplexity", result.perplexity);
  report("accuracy", result.accuracy);
  report("unigram_perplexity", unigram.own);
  const OutlierSummary& outliers = result.outliers;
  report("max_inf_norm", outliers.max_inf_norm);
  report("max_ffn_inf_norm", outliers.max_ffn_inf_norm);
  report("max_layer_inf_norm", outliers.max_layer_inf_norm);
  if (outliers.max_residual_inf_norm) report("max_residual_inf_norm", *outliers.max_residual_inf_norm);
  report("max_any_inf_norm", outliers.max_any_inf_norm);
  report("avg_kurtosis", outliers.avg_kurtosis);
  report("max_kurtosis", outliers.max_kurtosis);
  report("max_layer_kurtosis", outliers.max_layer_kurtosis);
  report("evaluate_seconds", result.seconds);
  for (const SiteOutliers& site : result.sites) {
    report("inf_norm", site.inf_norm, site.name);
    if (site.kurtosis) report("kurtosis", *site.kurtosis, site.name);
  }
}

}  // namespace inlier
