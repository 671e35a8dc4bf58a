#include "core/train/sensitivity.h"

#include <c10/core/InferenceMode.h>

#include <optional>

#include "base/status.h"
#include "core/quant/quantizer_tap.h"
#include "core/train/batch_input.h"
#include "core/train/phase_progress.h"
#include "core/train/prediction.h"

namespace inlier {

absl::StatusOr<std::vector<LeaveOneOutLoss>> MeasureLeaveOneOut(
    Model& model, const Dataset& dataset, const v1::EvaluationSpec& spec, c10::Device device,
    Quantization& quantization, const std::vector<std::string>& tensors, std::int64_t batches,
    TrialSink& sink, const std::function<bool()>& stop_requested) {
  const c10::InferenceMode inference;
  model.eval();
  std::vector<LeaveOneOutLoss> losses;
  PhaseProgress progress("sensitivity", static_cast<std::int64_t>(tensors.size()) * batches, sink);
  std::int64_t done = 0;
  for (const std::string& tensor : tensors) {
    LeaveOneOut tap(quantization, tensor);
    ScoreSum scores;
    for (std::int64_t i = 0; i < batches; ++i) {
      RETURN_IF_ERROR(CheckStop(stop_requested));
      const Batch batch = dataset.ValidationBatch(i, spec.batch_size(), spec.mask_seed());
      scores.Add(Predict(model, InputOf(batch, device), batch.labels.to(device), &tap), batch.labels.size(0));
      progress.Done(++done, std::nullopt);
    }
    losses.push_back({tensor, scores.MeanLoss()});
  }
  return losses;
}

}  // namespace inlier
