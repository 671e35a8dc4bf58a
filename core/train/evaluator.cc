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
#include "core/train/intervention.h"
#include "core/train/phase_progress.h"
#include "core/train/row_sum_check.h"
#include "spec/trial/architecture.h"

namespace inlier {

namespace {

// Of `spec`; nothing where it changes nothing.
absl::StatusOr<std::optional<Intervention>> InterventionOf(const v1::TrialSpec& spec) {
  if (!spec.evaluation().has_intervention()) return std::nullopt;
  return Intervention::Create(spec.evaluation().intervention(), spec.model().architecture_case());
}

std::vector<std::string> TensorsOf(const std::vector<QuantizerError>& errors) {
  std::vector<std::string> tensors;
  for (const QuantizerError& error : errors) tensors.push_back(error.tensor);
  return tensors;
}

absl::Status NoTargets(std::int64_t batches) {
  return absl::FailedPreconditionError(
      absl::StrCat("evaluation: ", batches, batches == 1 ? " batch has" : " batches have",
                   " no token to predict, so the loss is undefined: raise evaluation.batches, or of text "
                   "data.text.mask_probability"));
}

std::int64_t BatchesOf(const Dataset& dataset, const v1::EvaluationSpec& evaluation) {
  const std::int64_t all = dataset.ValidationBatches(evaluation.batch_size());
  return evaluation.has_batches() ? std::min<std::int64_t>(all, evaluation.batches()) : all;
}

// Of calibration: batches of its runs, and updates of a rotation.
std::int64_t PassesOf(const v1::TrialSpec& spec) {
  const v1::QuantizationSpec& quantization = spec.quantization();
  std::int64_t runs = 1;
  if (quantization.gptq().layer_by_layer()) {
    VisitArchitecture(spec.model(), [&runs](std::string_view, const auto& model) { runs = model.layers(); });
    const v1::OptSpec& opt = spec.model().opt();
    const bool projects = spec.model().has_opt() && opt.embedding_size() != opt.hidden_size();
    runs += projects + (projects || quantization.absmax().head() || quantization.zeropoint().head());
  }
  const v1::RotationSpec& rotation = quantization.rotation();
  return runs * quantization.calibration().batches() +
         (rotation.has_learned() ? rotation.learned().steps() : 0);
}

// What is recorded behind `before` and `quantization`, in order; `errors` is made where it is measured.
std::vector<ActivationTap*> MeasuringTaps(const std::vector<ActivationTap*>& before,
                                          Quantization* quantization, const v1::EvaluationSpec& evaluation,
                                          OutlierProbe& probe,
                                          std::optional<QuantizationErrorRecorder>& errors) {
  std::vector<ActivationTap*> taps = before;
  if (quantization != nullptr) {
    const bool recorded = evaluation.measure() == v1::EvaluationSpec::ALL;
    if (recorded) errors.emplace(*quantization, evaluation.outliers().count_padding());
    taps.push_back(recorded ? static_cast<ActivationTap*>(&*errors) : quantization);
  }
  for (ActivationTap* recorder : probe.taps()) taps.push_back(recorder);
  return taps;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Quantization>> Calibrate(
    Model& model, const Dataset& dataset, const v1::QuantizationSpec& spec,
    v1::ModelSpec::ArchitectureCase architecture, c10::Device device, ActivationTap* before,
    const std::function<absl::Status(std::int64_t)>& after_batch) {
  model.eval();
  ASSIGN_OR_RETURN(std::unique_ptr<Quantization> quantization, MakeQuantization(spec, architecture));
  std::vector<ActivationTap*> taps = {quantization.get()};
  if (before != nullptr) taps.insert(taps.begin(), before);
  TapChain tap(std::move(taps));
  const v1::CalibrationSpec& calibration = spec.calibration();
  const auto batch_of = [&](std::int64_t index) {
    return dataset.CalibrationBatch(calibration.split(), index, calibration.batch_size(), calibration.seed());
  };
  std::int64_t done = 0;
  RETURN_IF_ERROR(quantization->Learn([&](std::int64_t update) -> absl::StatusOr<at::Tensor> {
    const Batch batch = batch_of(update % calibration.batches());
    const at::Tensor loss = model.Loss(InputOf(batch, device), batch.labels.to(device), &tap);
    RETURN_IF_ERROR(after_batch(++done));
    return loss;
  }));
  for (bool again = quantization->needs_calibration(); again;) {
    for (std::int64_t i = 0; i < calibration.batches(); ++i) {
      model.Observe(InputOf(batch_of(i), device), tap);
      RETURN_IF_ERROR(after_batch(++done));
    }
    ASSIGN_OR_RETURN(again, quantization->EndRun());
  }
  RETURN_IF_ERROR(quantization->Freeze());
  return quantization;
}

absl::StatusOr<std::unique_ptr<Quantization>> CalibrateQuantization(
    Model& model, const Dataset& dataset, const v1::TrialSpec& spec, c10::Device device, TrialSink& sink,
    const std::function<bool()>& stop_requested) {
  const c10::InferenceMode inference;
  RETURN_IF_ERROR(CheckStop(stop_requested));
  ASSIGN_OR_RETURN(std::optional<Intervention> intervention, InterventionOf(spec));
  PhaseProgress progress("calibrate", PassesOf(spec), sink);
  return Calibrate(model, dataset, spec.quantization(), spec.model().architecture_case(), device,
                   intervention ? &*intervention : nullptr, [&](std::int64_t done) {
                     progress.Done(done, std::nullopt);
                     return CheckStop(stop_requested);
                   });
}

absl::StatusOr<EvaluationResult> Evaluate(Model& model, const Dataset& dataset, const v1::TrialSpec& spec,
                                          c10::Device device, TrialSink& sink,
                                          const std::function<bool()>& stop_requested,
                                          std::span<const Question> questions) {
  const Timestamp start = MonotonicNow();
  std::unique_ptr<Quantization> quantization;
  if (spec.has_quantization()) {
    ASSIGN_OR_RETURN(quantization, CalibrateQuantization(model, dataset, spec, device, sink, stop_requested));
  }
  ASSIGN_OR_RETURN(
      EvaluationResult result,
      EvaluateQuantized(model, dataset, spec, device, quantization.get(), sink, stop_requested, questions));
  result.seconds = ToSeconds(MonotonicNow() - start);
  return result;
}

absl::StatusOr<EvaluationResult> EvaluateQuantized(Model& model, const Dataset& dataset,
                                                   const v1::TrialSpec& spec, c10::Device device,
                                                   Quantization* quantization, TrialSink& sink,
                                                   const std::function<bool()>& stop_requested,
                                                   std::span<const Question> questions) {
  const c10::InferenceMode inference;
  const Timestamp start = MonotonicNow();
  model.eval();
  const v1::EvaluationSpec& evaluation = spec.evaluation();
  OutlierProbe probe(model, spec.model().architecture_case(), static_cast<int>(evaluation.kurtosis_batches()),
                     evaluation.outliers(), evaluation.measure());
  ASSIGN_OR_RETURN(std::optional<Intervention> intervention, InterventionOf(spec));
  std::vector<ActivationTap*> taps;
  if (intervention) taps.push_back(&*intervention);
  const std::vector<ActivationTap*> before = taps;
  if (quantization != nullptr) taps.push_back(quantization);
  // Batches that are not measured have a tap too, so that the model's own numbers do not depend on it.
  TapChain unmeasured(std::move(taps));
  std::optional<QuantizationErrorRecorder> errors;
  TapChain measured(MeasuringTaps(before, quantization, evaluation, probe, errors));
  RowSumCheck row_sums(spec.attention().softmax());
  TapChain first({&row_sums, &measured});

  const std::int64_t batch_size = evaluation.batch_size(), batches = BatchesOf(dataset, evaluation);
  INLIER_CHECK(batches > 0);
  const std::int64_t measured_batches =
      evaluation.outliers().has_batches() ? evaluation.outliers().batches() : batches;
  const std::int64_t sensitivity_batches = std::min<std::int64_t>(batches, evaluation.sensitivity_batches());
  double sensitivity_baseline = 0;
  PhaseProgress progress("evaluate", batches, sink);
  ScoreSum scores;
  at::Tensor token_bytes = dataset.token_bytes();
  if (token_bytes.defined()) token_bytes = token_bytes.to(device);
  for (std::int64_t i = 0; i < batches; ++i) {
    RETURN_IF_ERROR(CheckStop(stop_requested));
    const Batch batch = dataset.ValidationBatch(i, batch_size, evaluation.mask_seed());
    TapChain& tap = i == 0 ? first : i < measured_batches ? measured : unmeasured;
    scores.Add(Predict(model, InputOf(batch, device), batch.labels.to(device), &tap, token_bytes),
               batch.labels.size(0));
    RETURN_IF_ERROR(row_sums.status());
    if (intervention) RETURN_IF_ERROR(intervention->CheckHeads());
    progress.Done(i + 1, scores.targets() > 0 ? std::optional(scores.MeanLoss()) : std::nullopt);
    if (i + 1 == sensitivity_batches) sensitivity_baseline = scores.MeanLoss();
  }
  if (scores.targets() == 0) return NoTargets(batches);
  EvaluationResult result{
      .scores = scores.Summary(), .outliers = probe.Report(), .examples = scores.examples()};
  if (errors) result.quantizers = errors->Report();
  if (errors && sensitivity_batches > 0) {
    ASSIGN_OR_RETURN(
        std::vector<LeaveOneOutLoss> losses,
        MeasureLeaveOneOut(model, dataset, evaluation, device, *quantization, TensorsOf(result.quantizers),
                           sensitivity_batches, sink, stop_requested));
    result.sensitivity = Sensitivity{.baseline = sensitivity_baseline, .leave_one_out = std::move(losses)};
  }
  if (!questions.empty()) {
    ASSIGN_OR_RETURN(const auto of_choices,
                     ScoreChoices(dynamic_cast<LanguageModel&>(model), questions, batch_size, device,
                                  before.empty() && quantization == nullptr ? nullptr : &unmeasured, sink,
                                  stop_requested));
    result.groups = ScoreGroups(questions, of_choices);
  }
  result.seconds = ToSeconds(MonotonicNow() - start);
  return result;
}

}  // namespace inlier
