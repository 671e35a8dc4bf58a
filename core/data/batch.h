// One micro-batch as tensors on the CPU; the trainer or evaluator moves it to its device.
#ifndef INLIER_CORE_DATA_BATCH_H_
#define INLIER_CORE_DATA_BATCH_H_

#include "torch/types.h"

namespace inlier {

struct Batch {
  // Token ids, (B, T) int64; undefined for images. MLM: some are replaced by the mask.
  torch::Tensor ids;

  // The targets.
  // Text and instructions: (B, T) int64, aligned with ids; -100 where there is no target. MLM: the original
  // id at every chosen position. CLM: a copy of ids, as in the reference: the loss shifts, position t
  // predicts labels[:, t + 1], so the first token of a sequence is never a target.
  // Classes: (B) int64, or (B, classes) float32 where images are mixed. Numbers: (B) float32.
  torch::Tensor labels;

  // 1 for tokens, 0 for padding, (B, T) int64. Undefined when every sequence is full, as mostly in text.
  torch::Tensor attention_mask;

  // 1 for the tokens of the second sentence of a pair, else 0, (B, T) int64. Undefined where there are no pairs.
  torch::Tensor token_type_ids;

  // (B, channels, side, side) float32; undefined for text.
  torch::Tensor pixels;

  // Examples first … first + count - 1, sharing memory.
  Batch Examples(std::int64_t first, std::int64_t count) const {
    const auto part = [first, count](const torch::Tensor& tensor) {
      return tensor.defined() ? tensor.narrow(0, first, count) : tensor;
    };
    return {part(ids), part(labels), part(attention_mask), part(token_type_ids), part(pixels)};
  }
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_BATCH_H_
