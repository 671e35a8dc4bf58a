// A batch of the data as a model takes it.
#ifndef INLIER_CORE_TRAIN_BATCH_INPUT_H_
#define INLIER_CORE_TRAIN_BATCH_INPUT_H_

#include <c10/core/Device.h>

#include "core/data/batch.h"
#include "core/models/model.h"

namespace inlier {

// On `device`; nothing waits for the copy. The labels stay where they are.
inline ModelInput InputOf(const Batch& batch, c10::Device device) {
  ModelInput input;
  input.ids = batch.ids.to(device, /*non_blocking=*/true);
  if (batch.attention_mask.defined())
    input.attention_mask = batch.attention_mask.to(device, /*non_blocking=*/true);
  return input;
}

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_BATCH_INPUT_H_
