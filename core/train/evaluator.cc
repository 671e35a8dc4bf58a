#include "core/train/evaluator.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "core/quant/make_quantization.h"
#include "core/train/batch_input.h"
#include "core/train/prediction.h"

namespace inlier {
namespace {

// Progress through the batches of one phase, with the current rate.
class PhaseProgress {
 public:
  PhaseProgress(const char* phase, std::int64_t batches, TrialSink& sink)
      : sink_(sink), start_(MonotonicNow()) {
    progress_.set_phase(phase);
    progress_.set_steps_total(static_cast<std::uint64_t>(batches));
  }
  void Done(std::int64_t batches, std::optional<double> loss) {
    progress_.set_step(static_cast<std::uint64_t>(batches));
    progress_.set_rate(static_cast<double>(batches) / std::max(ToSeconds(MonotonicNow() - start_), 1e-9));
    if (loss) progress_.set_loss(*loss);
    sink_.OnProgress(progress_);
  }

 private:
  TrialSink& sink_;
  const Timestamp start_;
  v1::Progress progress_;
};

absl::Status CheckStop(const std::function<bool()>& stop_requested) {
  if (stop_requested && stop_requested()) return absl::CancelledError("stopped on request during evaluation");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Quantization>> Calibrate(
    Model& model, const Dataset& dataset, const v1::QuantizationSpec& spec,
    v1::ModelSpec::ArchitectureCase architecture, c10::Device device,
    const std::function<absl::Status(std::int64_t, std::int64_t)>& after_batch) {
  model.eval();
  ASSIGN_OR_RETURN(std::unique_ptr<Quantization> quantization, MakeQuantization(spec, architecture));
  const v1::CalibrationSpec& calibration = spec.calibration();
  const std::int64_t batches = quantization->needs_calibration() ? calibration.batches() : 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch =
        dataset.CalibrationBatch(calibration.split(), i, calibration.batch_size(), calibration.seed());
    model.Observe(InputOf(batch, device), *quantization);
    RETURN_IF_ERROR(after_batch(i + 1, batches));
  }
  quantization->Freeze();
  return quantization;
}

absl::StatusOr<std::unique_ptr<Quantization>> CalibrateQuantization(
    Model& model, const Dataset& dataset, const v1::TrialSpec& spec, c10::Device device, TrialSink& sink,
    const std::function<bool()>& stop_requested) {
  const c10::InferenceMode inference;
  std::optional<PhaseProgress> progress;
  return Calibrate(model, dataset, spec.quantization(), spec.model().architecture_case(), device,
                   [&](std::int64_t done, std::int64_t batches) {
                     if (!progress) progress.emplace("calibrate", batches, sink);
                     progress->Done(done, std::nullopt);
                     return CheckStop(stop_requested);
                   });
}

absl::StatusOr<EvaluationResult> Evaluate(Model& model, const Dataset& dataset, const v1::TrialSpec& spec,
                                          c10::Device device, TrialSink& sink,
                                          const std::function<bool()>& stop_requested) {
  const Timestamp start = MonotonicNow();
  std::unique_ptr<Quantization> quantization;
  if (spec.has_quantization()) {
    ASSIGN_OR_RETURN(quantization, CalibrateQuantization(model, dataset, spec, device, sink, stop_requested));
  }
  ASSIGN_OR_RETURN(EvaluationResult result,
                   EvaluateQuantized(model, dataset, spec, device, quantization.get(), sink, stop_requested));
  result.seconds = ToSeconds(MonotonicNow() - start);
  return result;
}

absl::StatusOr<EvaluationResult> EvaluateQuantized(Model& model, const Dataset& dataset,
                                                   const v1::TrialSpec& spec, c10::Device device,
                                                   Quantization* quantization, TrialSink& sink,
                                                   const std::function<bool()>& stop_requested) {
  const c10::InferenceMode inference;
  const Timestamp start = MonotonicNow();
  model.eval();
  OutlierProbe probe(model, spec.model().architecture_case(),
                     static_cast<int>(spec.evaluation().kurtosis_batches()));
  std::vector<ActivationTap*> taps = probe.taps();
  if (quantization != nullptr) taps.insert(taps.begin(), quantization);
  TapChain tap(std::move(taps));

  const std::int64_t batch_size = spec.evaluation().batch_size();
  std::int64_t batches = dataset.ValidationBatches(batch_size);
  if (spec.evaluation().has_batches()) batches = std::min<std::int64_t>(batches, spec.evaluation().batches());
  INLIER_CHECK(batches > 0);
  PhaseProgress progress("evaluate", batches, sink);
  ScoreSum scores;
  for (std::int64_t i = 0; i < batches; ++i) {
    RETURN_IF_ERROR(CheckStop(stop_requested));
    const Batch batch = dataset.ValidationBatch(i, batch_size, spec.evaluation().mask_seed());
    scores.Add(Predict(model, InputOf(batch, device), batch.labels.to(device), &tap), batch.labels.size(0));
    progress.Done(i + 1, scores.MeanLoss());
  }
  EvaluationResult result{
      .scores = scores.Summary(), .outliers = probe.Report(), .examples = scores.examples(), .seconds = 0};
  result.seconds = ToSeconds(MonotonicNow() - start);
  return result;
}

}  // namespace inlier
