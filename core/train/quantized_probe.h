// The loss of a model as it is while it trains, quantized and in float, on the same batches of the validation part: the
// points of the curves of training.measure_quantized_every.
//
// Nothing of the training is touched: weights are rounded in copies, batches are functions of their numbers and seeds,
// and there is no dropout.
#ifndef INLIER_CORE_TRAIN_QUANTIZED_PROBE_H_
#define INLIER_CORE_TRAIN_QUANTIZED_PROBE_H_

#include <c10/core/Device.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/data/dataset.h"
#include "core/models/model.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Seed of the masks of the validation batches that a training measures: one, so that the points of a curve differ by
// the weights alone.
inline constexpr std::uint64_t kCurveMaskSeed = 1;

struct QuantizedLosses {
  double float_loss;      // As an evaluation's loss.
  double quantized_loss;  // As that of an evaluation with CurveQuantization of the spec.
};

// In float32, on the first training.quantized_curve.batches of the validation part, of training.batch_size examples.
// The model is in evaluation mode after it. InvalidArgument for an unsupported quantization.
absl::StatusOr<QuantizedLosses> MeasureQuantized(Model& model, const Dataset& dataset,
                                                 const v1::TrialSpec& spec, c10::Device device);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_QUANTIZED_PROBE_H_
