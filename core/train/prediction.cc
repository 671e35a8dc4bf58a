#include "core/train/prediction.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "core/nn/precision.h"
#include "core/train/label_metrics.h"

namespace inlier {
namespace {

// Counts the rows of logits (N, classes) that are largest at their target (N), at the first place of several equal ones.
// Only rows whose target has the largest logit need the slow search for the place.
std::int64_t CountCorrect(const at::Tensor& logits, const at::Tensor& targets) {
  const at::Tensor of_target = logits.gather(1, targets.unsqueeze(1)).squeeze(1);
  const at::Tensor rows = of_target.eq(logits.amax(1)).nonzero().squeeze(1);
  return logits.index_select(0, rows).argmax(1).eq(targets.index_select(0, rows)).sum().item<std::int64_t>();
}

Prediction PredictNumbers(const at::Tensor& outputs, const at::Tensor& labels) {
  const at::Tensor numbers = outputs.squeeze(1).to(at::kDouble);
  return {.loss = at::mse_loss(numbers, labels.to(at::kDouble)).item<double>(),
          .targets = labels.numel(),
          .predicted = numbers.to(at::kCPU),
          .truth = labels.to(at::kCPU, at::kDouble)};
}

}  // namespace

Prediction Predict(Model& model, const ModelInput& input, const at::Tensor& labels, ActivationTap* tap,
                   const at::Tensor& token_bytes) {
  const auto [logits, targets] = model.Predictions(input, labels, tap);  // (N, classes), (N)
  if (targets.is_floating_point()) return PredictNumbers(logits, targets);
  Prediction prediction{.targets = targets.numel(), .classes = logits.size(1)};
  if (prediction.targets > 0) {
    prediction.loss = at::cross_entropy_loss(AtLeastFloat32(logits), targets).item<double>();
    prediction.correct = CountCorrect(logits, targets);
    if (token_bytes.defined())
      prediction.bytes = token_bytes.index_select(0, targets).sum().item<std::int64_t>();
  }
  if (labels.dim() == 1) {
    prediction.predicted = logits.argmax(1).to(at::kCPU);
    prediction.truth = labels.to(at::kCPU);
  }
  return prediction;
}

void ScoreSum::Add(const Prediction& prediction, std::int64_t examples) {
  examples_ += examples;
  if (prediction.targets == 0) return;
  loss_ += prediction.loss * static_cast<double>(examples);
  target_loss_ += prediction.loss * static_cast<double>(prediction.targets);
  weight_ += examples;
  targets_ += prediction.targets;
  correct_ += prediction.correct;
  classes_ = prediction.classes;
  bytes_ += prediction.bytes;
  if (!prediction.predicted.defined()) return;
  predicted_.push_back(prediction.predicted);
  truth_.push_back(prediction.truth);
}

Scores ScoreSum::Summary() const {
  INLIER_CHECK(targets_ > 0);
  Scores scores{.loss = MeanLoss()};
  if (classes_ > 0) {
    scores.accuracy = static_cast<double>(correct_) / std::max<double>(static_cast<double>(targets_), 1);
  }
  if (predicted_.empty()) {
    scores.perplexity = std::exp(scores.loss);
    scores.token_perplexity = std::exp(target_loss_ / static_cast<double>(targets_));
    if (bytes_ > 0) scores.bits_per_byte = target_loss_ / std::numbers::ln2 / static_cast<double>(bytes_);
    return scores;
  }
  const at::Tensor predicted = at::cat(predicted_), truth = at::cat(truth_);
  if (classes_ > 0) {
    scores.f1 = F1(predicted, truth, classes_);
    scores.matthews_correlation = MatthewsCorrelation(predicted, truth, classes_);
  } else {
    scores.pearson_correlation = PearsonCorrelation(predicted, truth);
    scores.spearman_correlation = SpearmanCorrelation(predicted, truth);
  }
  return scores;
}

}  // namespace inlier
