// The names of an evaluation's reported numbers; spec/trial/measurements.cc has their meanings.
#include "core/train/evaluator.h"
#include "core/train/measurement_reporter.h"

namespace inlier {

void ReportEvaluation(const EvaluationResult& result, const Baseline& baseline, std::uint64_t step,
                      TrialSink& sink) {
  MeasurementReporter reporter(ReportKind::kResult, step, sink);
  reporter.Add("loss", result.scores.loss);
  reporter.Add("perplexity", result.scores.perplexity);
  reporter.Add("accuracy", result.scores.accuracy);
  reporter.Add("f1", result.scores.f1);
  reporter.Add("matthews_correlation", result.scores.matthews_correlation);
  reporter.Add("pearson_correlation", result.scores.pearson_correlation);
  reporter.Add("spearman_correlation", result.scores.spearman_correlation);
  reporter.Add("unigram_perplexity", baseline.unigram_perplexity);
  reporter.Add("majority_accuracy", baseline.majority_accuracy);
  ReportOutliers(result.outliers, reporter);
  reporter.Add("evaluate_seconds", result.seconds);
}

}  // namespace inlier
