#include "core/train/evaluator.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "core/quant/make_quantization.h"
#include "core/train/batch_input.h"
#include "core/train/phase_progress.h"
#include "core/train/row_sum_check.h"

namespace inlier {

absl::StatusOr<std::unique_ptr<Quantization>> Calibrate(
    Model& model, const Dataset& dataset, const v1::QuantizationSpec& spec,
    v1::ModelSpec::ArchitectureCase architecture, c10::Device device,
    const std::function<absl::Status(std::int64_t)>& after_batch) {
  model.eval();
  ASSIGN_OR_RETURN(std::unique_ptr<Quantization> quantization, MakeQuantization(spec, architecture));
  const v1::CalibrationSpec& calibration = spec.calibration();
  const std::int64_t batches = quantization->needs_calibration() ? calibration.batches() : 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch =
        dataset.CalibrationBatch(calibration.split(), i, calibration.batch_size(), calibration.seed());
    model.Observe(InputOf(batch, device), *quantization);
    RETURN_IF_ERROR(after_batch(i + 1));
  }
  RETURN_IF_ERROR(quantization->Freeze());
  return quantization;
}

absl::StatusOr<std::unique_ptr<Quantization>> CalibrateQuantization(
    Model& model, const Dataset& dataset, const v1::TrialSpec& spec, c10::Device device, TrialSink& sink,
    const std::function<bool()>& stop_requested) {
  const c10::InferenceMode inference;
  RETURN_IF_ERROR(CheckStop(stop_requested));
  PhaseProgress progress("calibrate", spec.quantization().calibration().batches(), sink);
  return Calibrate(model, dataset, spec.quantization(), spec.model().architecture_case(), device,
                   [&](std::int64_t done) {
                     progress.Done(done, std::nullopt);
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
  const v1::OutlierSpec& outliers = spec.evaluation().outliers();
  OutlierProbe probe(model, spec.model().architecture_case(),
                     static_cast<int>(spec.evaluation().kurtosis_batches()), outliers);
  std::vector<ActivationTap*> taps;
  if (quantization != nullptr) taps.push_back(quantization);
  // Batches that are not measured have a tap too, so that the model's own numbers do not depend on it.
  TapChain unmeasured(taps);
  std::optional<QuantizationErrorRecorder> errors;
  if (quantization != nullptr) taps = {&errors.emplace(*quantization, outliers.count_padding())};
  for (ActivationTap* recorder : probe.taps()) taps.push_back(recorder);
  TapChain measured(std::move(taps));
  RowSumCheck row_sums(spec.attention().softmax());
  TapChain first({&row_sums, &measured});

  const std::int64_t batch_size = spec.evaluation().batch_size();
  std::int64_t batches = dataset.ValidationBatches(batch_size);
  if (spec.evaluation().has_batches()) batches = std::min<std::int64_t>(batches, spec.evaluation().batches());
  INLIER_CHECK(batches > 0);
  const std::int64_t measured_batches = outliers.has_batches() ? outliers.batches() : batches;
  const std::int64_t sensitivity_batches =
      std::min<std::int64_t>(batches, spec.evaluation().sensitivity_batches());
  double sensitivity_baseline = 0;
  PhaseProgress progress("evaluate", batches, sink);
  ScoreSum scores;
  for (std::int64_t i = 0; i < batches; ++i) {
    RETURN_IF_ERROR(CheckStop(stop_requested));
    const Batch batch = dataset.ValidationBatch(i, batch_size, spec.evaluation().mask_seed());
    TapChain& tap = i == 0 ? first : i < measured_batches ? measured : unmeasured;
    scores.Add(Predict(model, InputOf(batch, device), batch.labels.to(device), &tap), batch.labels.size(0));
    RETURN_IF_ERROR(row_sums.status());
    progress.Done(i + 1, scores.targets() > 0 ? std::optional(scores.MeanLoss()) : std::nullopt);
    if (i + 1 == sensitivity_batches) sensitivity_baseline = scores.MeanLoss();
  }
  if (scores.targets() == 0)
    return absl::FailedPreconditionError(
        absl::StrCat("evaluation: ", batches, batches == 1 ? " batch has" : " batches have",
                     " no token to predict, so the loss is undefined: raise evaluation.batches, or of text "
                     "data.text.mask_probability"));
  EvaluationResult result{
      .scores = scores.Summary(), .outliers = probe.Report(), .examples = scores.examples()};
  if (errors) result.quantizers = errors->Report();
  if (errors && sensitivity_batches > 0) {
    std::vector<std::string> tensors;
    for (const QuantizerError& error : result.quantizers) tensors.push_back(error.tensor);
    ASSIGN_OR_RETURN(std::vector<LeaveOneOutLoss> losses,
                     MeasureLeaveOneOut(model, dataset, spec.evaluation(), device, *quantization, tensors,
                                        sensitivity_batches, sink, stop_requested));
    result.sensitivity = Sensitivity{.baseline = sensitivity_baseline, .leave_one_out = std::move(losses)};
  }
  result.seconds = ToSeconds(MonotonicNow() - start);
  return result;
}

}  // namespace inlier
