// One forward pass of evaluation: the loss of a batch, and how many of its targets the model names.
#ifndef INLIER_CORE_TRAIN_PREDICTION_H_
#define INLIER_CORE_TRAIN_PREDICTION_H_

#include <cstdint>

#include "core/models/language_model.h"

namespace inlier {

struct Prediction {
  double loss = 0;           // As LanguageModel::Loss.
  std::int64_t targets = 0;  // Labels that are predicted: masked tokens, or all but the first of a sequence.
  std::int64_t correct = 0;  // Those whose most probable token is the right one; of equals the first counts.
};

// `labels` as LanguageModel::Loss takes them.
Prediction Predict(LanguageModel& model, const ModelInput& input, const at::Tensor& labels,
                   ActivationTap* tap = nullptr);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_PREDICTION_H_
