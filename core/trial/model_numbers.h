// The numbers of one trained model that its trial's measurements do not have, for figures: the largest magnitudes by
// hidden dimension and by token, the attention of one head, and where the elements beyond six standard deviations are.
//
// Thread safety: pure functions.
#ifndef INLIER_CORE_TRIAL_MODEL_NUMBERS_H_
#define INLIER_CORE_TRIAL_MODEL_NUMBERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/text/corpus.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

enum class ModelNumbers {
  kDimensions,         // Over kDimensionExamples validation examples and their tokens.
  kTokens,             // Of the first validation example.
  kAttention,          // The same.
  kOutlierDimensions,  // Over the first kOutlierExamples validation examples. The same for the next.
  kOutlierPositions,
};
inline constexpr std::int64_t kDimensionExamples = 32;
inline constexpr std::int64_t kOutlierExamples = 256;  // In batches of kDimensionExamples.

struct ModelQuestion {
  std::string checkpoint;  // A trained model of inlier.
  ModelNumbers numbers = ModelNumbers::kDimensions;
  std::uint32_t layer = 0;  // kAttention; counted from 0. The same for the next.
  std::uint32_t head = 0;
  TextOpenOptions data;  // Where its trial's data are found.
};

// {examples, values: rows of numbers, and names of rows and columns}:
//   kDimensions  a row a layer: max over examples and tokens of |x_j| at the output of the layer, j = 0 .. d - 1
//   kTokens      a row a layer: max over j of |x_j| at each position; tokens: the text of each position
//   kAttention   a row a query: the weight of each token after the normaliser, before dropout; tokens as above
//   kOutlier…    a row a layer: elements of the feed-forward network's output beyond six standard deviations of their
//                sequence (core/outliers/six_sigma_recorder.h), added up over the examples, by dimension or position
// Masked tokens are those of the evaluation (evaluation.mask_seed). A number that is not finite is null. `tokens` of
// images: "class", then the patches by row and column, then registers.
// InvalidArgument: no such layer or head, with those that there are; otherwise the errors of Checkpoint::Open and
// OpenTrialData.
absl::StatusOr<nlohmann::ordered_json> ReadModelNumbers(const ModelQuestion& question);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_MODEL_NUMBERS_H_
