// The names under which an evaluation's numbers are reported; their meanings are in
// proto/spec/measurements.cc.
#include "core/train/evaluator.h"
#include "core/train/measurement_writer.h"

namespace inlier {

void ReportEvaluation(const EvaluationResult& result, const Baseline& baseline, std::uint64_t step,
                      TrialSink& sink) {
  MeasurementWriter writer(ReportKind::kResult, step, sink);
  writer.Add("loss", result.scores.loss);
  writer.Add("perplexity", result.scores.perplexity);
  writer.Add("accuracy", result.scores.accuracy);
  writer.Add("f1", result.scores.f1);
  writer.Add("matthews_correlation", result.scores.matthews_correlation);
  writer.Add("pearson_correlation", result.scores.pearson_correlation);
  writer.Add("spearman_correlation", result.scores.spearman_correlation);
  writer.Add("unigram_perplexity", baseline.unigram_perplexity);
  writer.Add("majority_accuracy", baseline.majority_accuracy);
  ReportOutliers(result.outliers, writer);
  writer.Add("evaluate_seconds", result.seconds);
}

}  // namespace inlier
