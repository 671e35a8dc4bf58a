// The conversion of a batch of the data to the input of a model.
#ifndef INLIER_CORE_TRAIN_BATCH_INPUT_H_
#define INLIER_CORE_TRAIN_BATCH_INPUT_H_

#include <c10/core/Device.h>

#include "core/data/batch.h"
#include "core/models/model.h"

namespace inlier {

// On `device`, without synchronisation. The labels stay on the CPU.
inline ModelInput InputOf(const Batch& batch, c10::Device device) {
  ModelInput input;
  const auto move = [device](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, /*non_blocking=*/true) : tensor;
  };
  input.ids = move(batch.ids);
  input.attention_mask = move(batch.attention_mask);
  input.token_type_ids = move(batch.token_type_ids);
  input.pixels = move(batch.pixels);
  return input;
}

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_BATCH_INPUT_H_
