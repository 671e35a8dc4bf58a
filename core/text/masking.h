// The masks of masked language modelling (MLM), as BERT's: of the chosen tokens 80 % become [MASK], 10 % a
// uniform id of the whole vocabulary (special ids included), 10 % stay; all of them are targets.
#ifndef INLIER_CORE_TEXT_MASKING_H_
#define INLIER_CORE_TEXT_MASKING_H_

#include <cstdint>
#include <span>

#include "base/random_stream.h"

namespace inlier {

inline constexpr int64_t kNoTarget = -100;  // The label of a position without a target.

// The outcome of every draw; all spans have the length of the sequence.
struct MaskDraws {
  std::span<const uint8_t> selected;   // 1: a target. Must be 0 on special tokens.
  std::span<const uint8_t> to_mask;    // 1 (of chance 0.8): a target becomes [MASK].
  std::span<const uint8_t> to_random;  // 1 (of chance 0.5): a target other than [MASK] becomes the random id.
  std::span<const int64_t> random_ids;  // Uniform over the vocabulary.
};

// Replaces ids in place and writes the labels: the original id at targets, kNoTarget elsewhere.
void ApplyMask(const MaskDraws& draws, int64_t mask_id, std::span<int64_t> ids, std::span<int64_t> labels);

struct MaskOptions {
  double probability = 0;  // Chance of a token that is not special to be a target.
  int64_t mask_id = 0;
  int64_t vocab_size = 0;
};

// Draws a mask for one sequence and applies it. `special` is 1 at special tokens and padding, which are never chosen.
void DrawMask(const MaskOptions& options, std::span<const uint8_t> special, RandomStream& stream,
              std::span<int64_t> ids, std::span<int64_t> labels);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_MASKING_H_
