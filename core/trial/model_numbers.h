// The numbers of one trained model that its trial's measurements do not have, for the figures of one model
// (FigureSpec.Kind from DIMENSIONS on, but LAYERS).
#ifndef INLIER_CORE_TRIAL_MODEL_NUMBERS_H_
#define INLIER_CORE_TRIAL_MODEL_NUMBERS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/text/corpus.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

inline constexpr std::int64_t kDimensionExamples = 32;
inline constexpr std::int64_t kOutlierExamples = 256;  // In batches of kDimensionExamples.
inline constexpr std::int64_t kOutlierTokens = 24;     // Shown.

struct ModelQuestion {
  std::string checkpoint;  // A trained model of inlier.
  v1::FigureSpec::Kind kind = v1::FigureSpec::DIMENSIONS;
  std::uint32_t layer = 0;  // Counted from 0, of the kinds that name one. The same for the next.
  std::uint32_t head = 0;
  TextOpenOptions data;  // Where its trial's data are found.
};

// A grid of numbers in words of its own: {of, value, rows, columns, values}. `of` names their source ("over 32 validation
// examples"), `value` the quantity; rows and columns are {name, title, texts}, with tokens: true where the texts are
// tokens, and rows with downwards: true where the first is to be on top. HEADS has tiles {count, columns, size}: a
// (T, T) tile a head, side by side with a line of nulls between them.
//   DIMENSIONS      a row a layer: max over examples and tokens of |x_j| at the output of the layer, j = 0 .. d - 1
//   TOKENS          a row a layer: max over j of |x_j| at each position of the first validation example
//   ATTENTION       a row a query: the weight of each token after the normaliser, before dropout; HEADS the same
//   OUTLIER_…       a row a layer: elements of the feed-forward network's output beyond six standard deviations of their
//                   sequence (core/outliers/six_sigma_recorder.h), added up over the examples, by dimension or position
//   MEAN_ATTENTION  a row a query: mean over examples, heads and layers, each pair over the examples that have both tokens
//   MEAN_HIDDEN     a row a position: mean over examples with that token, and layers, of |x_j|
//   VALUES          a row a token: the values of the head as a cache keeps them (T, h); CONTEXTS: its part of the context
//   GATES           a row a head: the gate's value at each token, before the output factor
//   VALUE_NORMS     a row a head: the norm of each token's value
//   OUTLIER_TOKENS  a row a layer: the share in the same elements of the tokens with a text, a column a text; the last row:
//                   their share of all tokens
//   WEIGHT_NORMS, SECOND_MOMENTS, BASES: core/trial/weight_numbers.h
//   PATCHES         a row a row of patches: max over j of |x_j| at the output of the layer
// Masked tokens are those of the evaluation (evaluation.mask_seed). A number that is not finite is null. Tokens of
// images: "class", then the patches by row and column, then registers.
// InvalidArgument: no such layer or head, with those that there are; GATES of a model without gates, PATCHES of one that
// reads text; otherwise the errors of Checkpoint::Open and OpenTrialData.
absl::StatusOr<nlohmann::ordered_json> ReadModelNumbers(const ModelQuestion& question);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_MODEL_NUMBERS_H_
