// Measures a trained model on the validation split: perplexity as the reference computes it, and the outlier
// metrics. With a QuantizationSpec the model is calibrated and quantized first, and every number is that of
// the quantized model.
//
// Perplexity is exp of the mean of the batches' mean losses, each weighted by its number of sequences (not of
// targets).
//
// Thread safety: none.
#ifndef INLIER_CORE_TRAIN_EVALUATOR_H_
#define INLIER_CORE_TRAIN_EVALUATOR_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/text_dataset.h"
#include "core/models/language_model.h"
#include "core/outliers/activation_recorder.h"
#include "core/outliers/attention_recorder.h"
#include "core/outliers/token_outlier_recorder.h"
#include "core/quant/quantization.h"
#include "core/train/trial_sink.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The reference's evaluation loss: batch means weighted by the number of sequences.
class EvaluationLoss {
 public:
  void Add(double batch_mean_loss, std::int64_t sequences) {
    sum_ += batch_mean_loss * static_cast<double>(sequences);
    sequences_ += sequences;
  }
  double Mean() const { return sum_ / static_cast<double>(sequences_); }
  std::int64_t sequences() const { return sequences_; }

 private:
  double sum_ = 0;
  std::int64_t sequences_ = 0;
};

struct EvaluationResult {
  double loss;
  double perplexity;
  double accuracy;  // Share of all targets that the model names.
  OutlierSummary outliers;
  std::vector<SiteOutliers> sites;
  std::optional<TokenOutlierSummary> tokens;  // Nothing where the model shows no hidden states.
  std::vector<BlockTokenOutliers> blocks;
  std::optional<AttentionShares> attention;  // Nothing where the model shows no attention.
  std::vector<LayerAttention> attention_layers;
  std::vector<GateMean> gates;
  std::int64_t sequences;
  double seconds;  // Of calibration and evaluation.
};

// Evaluates `model` (made from the resolved `spec`, on `device`) in float32; progress goes to `sink`.
// Cancelled when `stop_requested` says so between batches; InvalidArgument where the quantization cannot be
// had.
absl::StatusOr<EvaluationResult> Evaluate(LanguageModel& model, const TextDataset& dataset,
                                          const v1::TrialSpec& spec, c10::Device device, TrialSink& sink,
                                          const std::function<bool()>& stop_requested);

// The two halves of it. Ranges from the calibration batches of `spec`'s quantization; REQUIRES: it has one.
absl::StatusOr<std::unique_ptr<Quantization>> CalibrateQuantization(
    LanguageModel& model, const TextDataset& dataset, const v1::TrialSpec& spec, c10::Device device,
    TrialSink& sink, const std::function<bool()>& stop_requested);

// With a calibrated quantization, or null for float.
absl::StatusOr<EvaluationResult> EvaluateQuantized(LanguageModel& model, const TextDataset& dataset,
                                                   const v1::TrialSpec& spec, c10::Device device,
                                                   Quantization* quantization, TrialSink& sink,
                                                   const std::function<bool()>& stop_requested);

// Reports every number of `result` as a final measurement at `step`, and the unigram perplexity of the same
// tokens.
void ReportEvaluation(const EvaluationResult& result, const UnigramPerplexity& unigram, std::uint64_t step,
                      TrialSink& sink);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_EVALUATOR_H_
