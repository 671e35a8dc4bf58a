// Leave-one-out sensitivity of a quantized model: the loss with every quantizer but one. What a quantizer costs is
// the loss with all of them minus that; a negative cost means that its rounding helps.
#ifndef INLIER_CORE_TRAIN_SENSITIVITY_H_
#define INLIER_CORE_TRAIN_SENSITIVITY_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/dataset.h"
#include "core/models/model.h"
#include "core/quant/quantization.h"
#include "core/train/trial_sink.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

struct LeaveOneOutLoss {
  std::string tensor;  // Whose quantizer is off, as QuantizedTensor (core/quant/quantizer_tap.h) names it.
  double loss;         // Weighed as an evaluation's (core/train/prediction.h).
};

// The loss on the first `batches` validation batches of `spec`'s evaluation without each of the quantizers `tensors`:
// as many passes as there are of them. Progress is the phase "sensitivity". Cancelled when `stop_requested`.
// REQUIRES: `quantization` is calibrated; 1 <= batches <= the batches of the validation part.
absl::StatusOr<std::vector<LeaveOneOutLoss>> MeasureLeaveOneOut(
    Model& model, const Dataset& dataset, const v1::EvaluationSpec& spec, c10::Device device,
    Quantization& quantization, const std::vector<std::string>& tensors, std::int64_t batches,
    TrialSink& sink, const std::function<bool()>& stop_requested);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_SENSITIVITY_H_
