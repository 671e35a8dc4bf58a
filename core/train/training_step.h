// One optimizer update: micro-batches forward and backward, clipping, the optimizer at the schedule's rate.
// Only the arithmetic of training: no data, files, clock or reports, so that the golden cases run exactly the
// trainer's code.
//
//   for each update k:  AddMicroBatch(…) once or more;  Apply(k)
//
// Every micro-batch's loss is divided by the accumulation count of the settings, also when an update has
// fewer of them (as the reference at the end of a pass over the data).
//
// On a GPU AddMicroBatch waits for the device once where the model predicts tokens, whose loss is
// computed at the targets (LanguageModel::Loss); Apply does not wait.
#ifndef INLIER_CORE_TRAIN_TRAINING_STEP_H_
#define INLIER_CORE_TRAIN_TRAINING_STEP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/models/model.h"
#include "core/optim/lr_schedule.h"
#include "core/optim/optimizer.h"
#include "core/train/low_precision/low_precision.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

class TrainingStep {
 public:
  struct Settings {
    LrSchedule schedule;
    double gradient_clip_norm;  // 0: no clipping.
    int gradient_accumulation;
    v1::Precision precision;
    double label_smoothing = 0;
    layer::Products products = layer::Products::kReference;  // Of ChooseEngine.
    v1::RegularizerSpec regularizer = {};  // REQUIRES: kReference with kurtosis, on a GPU with any.
  };

  // `model` must outlive the step; `optimizer` works on its parameters, and on the scales of `low_precision` (null: operands
  // are not rounded), which needs kReference.
  TrainingStep(Model& model, std::unique_ptr<Optimizer> optimizer, const Settings& settings,
               std::unique_ptr<LowPrecision> low_precision = nullptr);

  // How much the means over a part of a micro-batch count in those over all of it: its shares of the targets and of the
  // examples. 1 for a whole one.
  struct Weight {
    double of_loss = 1;
    double of_penalty = 1;
  };
  // Forward and backward. Returns the micro-batch's mean loss before the division, without penalties, detached, on the
  // model's device; of a part what it adds to that mean.
  at::Tensor AddMicroBatch(const ModelInput& input, const at::Tensor& labels, const Weight& weight);
  at::Tensor AddMicroBatch(const ModelInput& input, const at::Tensor& labels) {
    return AddMicroBatch(input, labels, Weight());
  }

  // The part of the last micro-batch's loss that the regularizer added, detached; undefined without one.
  const at::Tensor& penalty() const { return penalty_; }

  // Of all parameters, gathered since the last update; not copies. Zeros of one that has none: where no position of a
  // part is a target, the head has not been run.
  std::vector<at::Tensor> Gradients();

  struct Applied {
    double learning_rate;
    at::Tensor gradient_norm;  // Before clipping; one number on the model's device.
  };
  // Update number k, from 0, with the gradients gathered since the last one, which are then dropped.
  Applied Apply(std::int64_t k);

  Optimizer& optimizer() { return *optimizer_; }

  // True where the fused engine's loops on the CPU compute an update.
  bool HasFusedLoops() const {
    return device_type_ == c10::kCPU && settings_.products != layer::Products::kReference;
  }

 private:
  Model& model_;
  const std::unique_ptr<Optimizer> optimizer_;
  const Settings settings_;
  const std::unique_ptr<LowPrecision> low_precision_;
  std::vector<at::Tensor> parameters_;  // Of the model, then scales.
  at::Tensor penalty_;
  const c10::DeviceType device_type_;
};

// The settings and the optimizer of a resolved spec, for a training of `updates` updates.
// REQUIRES: CheckOptimizer is OK.
TrainingStep MakeTrainingStep(Model& model, const v1::TrainingSpec& spec, std::int64_t updates);
// The same with another optimizer. REQUIRES: no learned scales.
TrainingStep MakeTrainingStep(Model& model, const v1::TrainingSpec& spec, std::int64_t updates,
                              std::unique_ptr<Optimizer> optimizer);

// The model's trainable tensors with their Hugging Face names, tied ones once.
std::vector<NamedParameter> ParametersOf(const Model& model);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_TRAINING_STEP_H_
