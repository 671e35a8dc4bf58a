// Makes docs/reference/measurements.md for its generator and its test.
#ifndef INLIER_TESTS_SPEC_MEASUREMENTS_PAGE_H_
#define INLIER_TESTS_SPEC_MEASUREMENTS_PAGE_H_

#include <string>

#include "spec/trial/measurements.h"

namespace inlier {

inline std::string MeasurementsMarkdown() {
  std::string page =
      "# Measurements\n\n"
      "Generated from spec/trial/measurements.cc. What a trial may report; the names are a closed list.\n\n"
      "A row is a captured tensor at one index of its first dimension, flattened. Within a "
      "row: m4 = mean (x_j - mean)^4,\n"
      "s^2 = sum (x_j - mean)^2 / (n - 1). Of single tokens x, d features at the output of a layer:\n"
      "k(x) = mean (x_j - mean)^4 / (mean (x_j - mean)^2)^2, biased, at most about d - 2. Tokens count from "
      "1; padding is none, unless evaluation.outliers.count_padding.\n"
      "A[q,k] are attention weights after the normaliser, rows = queries. Numbers of activations and "
      "attention "
      "are of the first evaluation.outliers.batches batches. Column measure: the evaluation.measure that a "
      "final number needs.\nCurves of the evaluate stage's "
      "names are "
      "taken while training, every\ntraining.measure_outliers_every updates, on the first "
      "training.batch_size "
      "examples of the validation part;\nquantized_loss, float_loss and quantization_gap every "
      "training.measure_quantized_every updates and at the end.\n\n"
      "| name | unit | stage | over | reported | measure | better | formula |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const MeasurementInfo& info : Measurements()) {
    std::string formula;
    for (const char c : info.formula) formula += c == '|' ? "\\|" : std::string(1, c);
    page +=
        "| `" + std::string(info.name) + "` | " + std::string(info.unit) + " | " + std::string(info.source) +
        " | " + std::string(info.axis) + " | " + std::string(ReportedWord(info)) + " | " +
        (info.measure == v1::EvaluationSpec::SCORES ? "" : v1::EvaluationSpec::Measure_Name(info.measure)) +
        " | " + std::string(BetterWord(info.better)) + " | " + formula + " |\n";
  }
  return page;
}

}  // namespace inlier

#endif  // INLIER_TESTS_SPEC_MEASUREMENTS_PAGE_H_
