#include "core/train/quantized_probe.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>

#include "base/status.h"
#include "core/train/batch_input.h"
#include "core/train/evaluator.h"
#include "core/train/prediction.h"
#include "spec/trial/quantized_curve.h"

namespace inlier {

absl::StatusOr<QuantizedLosses> MeasureQuantized(Model& model, const Dataset& dataset,
                                                 const v1::TrialSpec& spec, c10::Device device) {
  // Not in inference mode, whose tensors a later update could not use.
  const at::NoGradGuard no_gradient;
  ASSIGN_OR_RETURN(const std::unique_ptr<Quantization> quantization,
                   Calibrate(model, dataset, CurveQuantization(spec), spec.model().architecture_case(),
                             device, /*before=*/nullptr, [](std::int64_t) { return absl::OkStatus(); }));
  ActivationTap nothing;  // An evaluation always has a tap.
  const std::int64_t batch_size = spec.training().batch_size();
  const std::int64_t batches = std::min<std::int64_t>(dataset.ValidationBatches(batch_size),
                                                      spec.training().quantized_curve().batches());
  ScoreSum in_float, quantized;
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = dataset.ValidationBatch(i, batch_size, kCurveMaskSeed);
    const ModelInput input = InputOf(batch, device);
    const at::Tensor labels = batch.labels.to(device);
    in_float.Add(Predict(model, input, labels, &nothing), labels.size(0));
    quantized.Add(Predict(model, input, labels, quantization.get()), labels.size(0));
  }
  return QuantizedLosses{.float_loss = in_float.MeanLoss(), .quantized_loss = quantized.MeanLoss()};
}

}  // namespace inlier
