// One micro-batch of text as tensors on the CPU; whoever trains or measures moves it to its device.
#ifndef INLIER_CORE_DATA_BATCH_H_
#define INLIER_CORE_DATA_BATCH_H_

#include "torch/types.h"

namespace inlier {

struct Batch {
  // Token ids, (B, T) int64. MLM: some are replaced by the mask.
  torch::Tensor ids;

  // Targets, (B, T) int64, aligned with ids; -100 where nothing is to be predicted.
  // MLM: the original id at every chosen position. CLM: a copy of ids, as in the reference: the loss shifts,
  // position t predicts labels[:, t + 1], so the first token of a sequence is never a target.
  torch::Tensor labels;

  // 1 for tokens, 0 for padding, (B, T) int64. Undefined when every sequence is full, which is nearly always
  // so.
  torch::Tensor attention_mask;
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_BATCH_H_
