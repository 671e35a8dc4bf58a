// Measures a trained model on the validation split: its scores (perplexity as the reference computes it,
// accuracy and the metrics of GLUE), and the outlier metrics. With a QuantizationSpec the model is calibrated
// and quantized first, and every number is that of the quantized model. With evaluation.intervention every number, and the
// ranges, are of the changed model.
//
// Perplexity is exp of the mean of the batches' mean losses, each weighted by its number of sequences, not targets.
#ifndef INLIER_CORE_TRAIN_EVALUATOR_H_
#define INLIER_CORE_TRAIN_EVALUATOR_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/dataset.h"
#include "core/models/model.h"
#include "core/quant/quantization.h"
#include "core/quant/quantization_error.h"
#include "core/train/multiple_choice.h"
#include "core/train/outlier_probe.h"
#include "core/train/prediction.h"
#include "core/train/sensitivity.h"
#include "core/train/trial_sink.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

struct Sensitivity {
  double baseline;  // Loss with every quantizer, on the first evaluation.sensitivity_batches batches.
  std::vector<LeaveOneOutLoss> leave_one_out;  // On the same batches, in order of first use.
};

struct EvaluationResult {
  Scores scores;
  OutlierReport outliers;
  std::vector<QuantizerError> quantizers = {};  // In order of first use; none in float.
  std::optional<Sensitivity> sensitivity = {};  // Of a quantized model, with evaluation.sensitivity_batches.
  std::vector<GroupScores> groups = {};         // Of the questions.
  std::int64_t examples;
  double seconds = 0;  // Of calibration, evaluation and sensitivity.
};

// Baselines without a model, to compare an evaluation's scores with.
struct Baseline {
  std::optional<double> unigram_perplexity;  // Of the validation targets' own token shares.
  std::optional<double> majority_accuracy;   // Of always predicting the most frequent training class.
};

// Evaluates `model` (made from the resolved `spec`, on `device`) in float32; progress goes to `sink`.
// Cancelled when `stop_requested` returns true between batches; InvalidArgument for an unsupported quantization, and
// for a script of a softmax whose rows do not sum as declared. `questions` (evaluation.multiple_choice) are of a LanguageModel.
absl::StatusOr<EvaluationResult> Evaluate(Model& model, const Dataset& dataset, const v1::TrialSpec& spec,
                                          c10::Device device, TrialSink& sink,
                                          const std::function<bool()>& stop_requested,
                                          std::span<const Question> questions = {});

// Ranges of `spec` for a model of `architecture`, from its calibration batches where it needs any; `before` (may be null) is
// chained before it. A rotation that is learned takes them first, in order, from the first again behind the last. An error of
// `after_batch`, which gets the number of batches done, ends it. The caller chooses between no gradients and inference mode, which
// learning leaves; the model is in evaluation mode after it, and its parameters have no gradients from it.
absl::StatusOr<std::unique_ptr<Quantization>> Calibrate(
    Model& model, const Dataset& dataset, const v1::QuantizationSpec& spec,
    v1::ModelSpec::ArchitectureCase architecture, c10::Device device, ActivationTap* before,
    const std::function<absl::Status(std::int64_t)>& after_batch);

// The two halves of Evaluate: Calibrate with `spec`'s quantization, in inference mode; REQUIRES: it has one.
absl::StatusOr<std::unique_ptr<Quantization>> CalibrateQuantization(
    Model& model, const Dataset& dataset, const v1::TrialSpec& spec, c10::Device device, TrialSink& sink,
    const std::function<bool()>& stop_requested);

// With a calibrated quantization, or null for float.
absl::StatusOr<EvaluationResult> EvaluateQuantized(Model& model, const Dataset& dataset,
                                                   const v1::TrialSpec& spec, c10::Device device,
                                                   Quantization* quantization, TrialSink& sink,
                                                   const std::function<bool()>& stop_requested,
                                                   std::span<const Question> questions = {});

// Reports every number of `result` and of `baseline` as a final measurement at `step`.
void ReportEvaluation(const EvaluationResult& result, const Baseline& baseline, std::uint64_t step,
                      TrialSink& sink);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_EVALUATOR_H_
