// One forward pass of evaluation: the loss and predictions of a batch, and the scores of a whole pass over
// the validation part.
#ifndef INLIER_CORE_TRAIN_PREDICTION_H_
#define INLIER_CORE_TRAIN_PREDICTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/models/model.h"

namespace inlier {

struct Prediction {
  double loss = 0;           // As Model::Loss without smoothing; 0 when there is no target.
  std::int64_t targets = 0;  // Predicted labels: masked tokens, all but the first of a sequence, or examples.
  std::int64_t correct = 0;  // With the right class most probable (the first of equals); 0 for numbers.
  std::int64_t classes = 0;  // Of the model; 0 for numbers.
  std::int64_t bytes = 0;    // Of the text of all targets, where it is counted.
  // Of examples with one label each: (B) on the CPU; int64, for numbers double. Undefined for tokens.
  at::Tensor predicted;
  at::Tensor truth;
};

// `labels` as Model::Loss takes them; `token_bytes` as Dataset::token_bytes, on their device.
Prediction Predict(Model& model, const ModelInput& input, const at::Tensor& labels,
                   ActivationTap* tap = nullptr, const at::Tensor& token_bytes = {});

// The result of an evaluation. Perplexity is that of tokens; F1 and Matthews' correlation those of examples
// with a class each, the other correlations those of numbers.
struct Scores {
  // The batches' mean losses, each weighted by its number of examples, as in the reference; without batches that have
  // no target.
  double loss = 0;
  std::optional<double> perplexity;        // exp(loss)
  std::optional<double> token_perplexity;  // exp of the mean over all targets.
  std::optional<double>
      bits_per_byte;  // Sum of -log2 p over all targets / bytes of their text, where these are counted.
  std::optional<double> accuracy;  // Share of all targets that are predicted right.
  std::optional<double> f1;
  std::optional<double> matthews_correlation;
  std::optional<double> pearson_correlation;
  std::optional<double> spearman_correlation;
};

class ScoreSum {
 public:
  // Adds a batch of `examples` sequences or images.
  void Add(const Prediction& prediction, std::int64_t examples);

  // NaN before the first target.
  double MeanLoss() const { return loss_ / static_cast<double>(weight_); }
  std::int64_t examples() const { return examples_; }
  std::int64_t targets() const { return targets_; }
  // REQUIRES: at least one target.
  Scores Summary() const;

 private:
  double loss_ = 0;
  double target_loss_ = 0;   // Summed over targets.
  std::int64_t weight_ = 0;  // Examples of the batches that have targets.
  std::int64_t examples_ = 0;
  std::int64_t targets_ = 0;
  std::int64_t correct_ = 0;
  std::int64_t classes_ = 0;
  std::int64_t bytes_ = 0;
  std::vector<at::Tensor> predicted_;
  std::vector<at::Tensor> truth_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_PREDICTION_H_
