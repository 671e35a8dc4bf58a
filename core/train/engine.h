// Chooses the code that computes a training step.
#ifndef INLIER_CORE_TRAIN_ENGINE_H_
#define INLIER_CORE_TRAIN_ENGINE_H_

#include <c10/core/Device.h>

#include <string>

#include "core/layer/precision.h"
#include "core/models/model.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

struct EngineChoice {
  layer::Products products = layer::Products::kReference;
  std::string reason;   // Why products are kReference though the spec asks for FUSED; else empty.
  std::string warning;  // About the spec's precision on this processor; mostly empty.
};

EngineChoice ChooseEngine(const v1::TrainingSpec& spec, const Model& model, c10::DeviceType device);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_ENGINE_H_
