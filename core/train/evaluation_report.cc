// The names of an evaluation's reported numbers; spec/trial/measurements.cc has their meanings.
#include <cmath>
#include <optional>
#include <vector>

#include "core/train/evaluator.h"
#include "core/train/measurement_reporter.h"

namespace inlier {
namespace {

void ReportQuantizers(const std::vector<QuantizerError>& quantizers, MeasurementReporter& reporter) {
  std::optional<double> lowest;
  for (const QuantizerError& quantizer : quantizers) {
    if (quantizer.sqnr_db) {
      const double sqnr = *quantizer.sqnr_db;
      reporter.Add("sqnr", sqnr, quantizer.tensor);
      // NaN is the lowest: a broken quantizer must not look healthy.
      if (!lowest || std::isnan(sqnr) || sqnr < *lowest) lowest = sqnr;
    }
    if (quantizer.crest_factor) reporter.Add("crest_factor", *quantizer.crest_factor, quantizer.tensor);
  }
  reporter.Add("min_sqnr", lowest);
}

void ReportChoices(const std::vector<GroupScores>& groups, MeasurementReporter& reporter) {
  if (groups.empty()) return;
  double accuracy = 0, accuracy_norm = 0;
  for (const GroupScores& group : groups) {
    reporter.Add("task_choice_accuracy", group.accuracy, group.group);
    reporter.Add("task_choice_accuracy_norm", group.accuracy_norm, group.group);
    if (group.accuracy_stderr)
      reporter.Add("task_choice_accuracy_stderr", *group.accuracy_stderr, group.group);
    if (group.accuracy_norm_stderr)
      reporter.Add("task_choice_accuracy_norm_stderr", *group.accuracy_norm_stderr, group.group);
    accuracy += group.accuracy / static_cast<double>(groups.size());
    accuracy_norm += group.accuracy_norm / static_cast<double>(groups.size());
  }
  reporter.Add("choice_accuracy", accuracy);
  reporter.Add("choice_accuracy_norm", accuracy_norm);
}

void ReportSensitivity(const Sensitivity& sensitivity, MeasurementReporter& reporter) {
  reporter.Add("sensitivity_baseline", sensitivity.baseline);
  for (const LeaveOneOutLoss& without : sensitivity.leave_one_out) {
    reporter.Add("leave_one_out_loss", without.loss, without.tensor);
    reporter.Add("sensitivity", sensitivity.baseline - without.loss, without.tensor);
  }
}

}  // namespace

void ReportEvaluation(const EvaluationResult& result, const Baseline& baseline, std::uint64_t step,
                      TrialSink& sink) {
  MeasurementReporter reporter(ReportKind::kResult, step, sink);
  reporter.Add("loss", result.scores.loss);
  reporter.Add("perplexity", result.scores.perplexity);
  reporter.Add("token_perplexity", result.scores.token_perplexity);
  reporter.Add("bits_per_byte", result.scores.bits_per_byte);
  reporter.Add("accuracy", result.scores.accuracy);
  reporter.Add("f1", result.scores.f1);
  reporter.Add("matthews_correlation", result.scores.matthews_correlation);
  reporter.Add("pearson_correlation", result.scores.pearson_correlation);
  reporter.Add("spearman_correlation", result.scores.spearman_correlation);
  reporter.Add("unigram_perplexity", baseline.unigram_perplexity);
  reporter.Add("majority_accuracy", baseline.majority_accuracy);
  ReportChoices(result.groups, reporter);
  ReportOutliers(result.outliers, reporter);
  ReportQuantizers(result.quantizers, reporter);
  if (result.sensitivity) ReportSensitivity(*result.sensitivity, reporter);
  reporter.Add("evaluate_seconds", result.seconds);
}

}  // namespace inlier
