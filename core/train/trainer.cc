#include "core/train/trainer.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/random_stream.h"
#include "base/status.h"
#include "base/time.h"
#include "base/version.h"
#include "core/train/batch_input.h"
#include "core/train/checkpoint.h"
#include "core/train/outlier_probe.h"
#include "core/train/prediction.h"
#include "core/train/quantized_probe.h"
#include "spec/trial/data_kind.h"

namespace inlier {
namespace {

// The first number of the stream (seed, "dropout", micro_batch), with which the device's generator is seeded too.
std::uint64_t SeedDropout(c10::Device device, std::uint64_t seed, std::uint64_t micro_batch) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::scoped_lock lock(generator.mutex());
  const std::uint64_t first = RandomStream(seed, "dropout", micro_batch).Next();
  generator.set_current_seed(first);
  return first;
}

// Updates and the time spent on them, since the last point of the curves.
struct Window {
  std::uint64_t updates = 0;
  double seconds = 0;
  double Rate() const { return static_cast<double>(updates) / std::max(seconds, 1e-9); }
};

}  // namespace

std::uint64_t UpdatesOf(const v1::TrainingSpec& spec, const Dataset& dataset) {
  if (spec.has_steps()) return spec.steps();
  const std::uint64_t examples = spec.epochs() * static_cast<std::uint64_t>(dataset.train_examples());
  const std::uint64_t update = std::uint64_t{spec.batch_size()} * spec.gradient_accumulation();
  return (examples + update - 1) / update;
}

Trainer::Trainer(const v1::TrialSpec& spec, Model& model, const Dataset& dataset, c10::Device device,
                 TrialSink& sink, std::string start_digest)
    : spec_(spec),
      model_(model),
      dataset_(dataset),
      device_(device),
      sink_(sink),
      start_digest_(std::move(start_digest)),
      updates_(UpdatesOf(spec.training(), dataset)),
      training_step_(MakeTrainingStep(model, spec.training(), static_cast<std::int64_t>(updates_))) {}

absl::Status Trainer::Resume(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  RETURN_IF_ERROR(checkpoint.CheckMatches(spec_, dataset_.dataset_digest()));
  RETURN_IF_ERROR(checkpoint.LoadWeights(model_));
  RETURN_IF_ERROR(checkpoint.LoadOptimizer(training_step_.optimizer()));
  step_ = checkpoint.info().step;
  seconds_ = checkpoint.info().train_seconds;
  return absl::OkStatus();
}

std::optional<Trainer::Update> Trainer::RunUpdate(const std::function<bool()>& stop_requested) {
  const std::uint64_t accumulation = spec_.training().gradient_accumulation();
  at::Tensor loss, penalty;
  const auto add = [](at::Tensor& sum, const at::Tensor& part) {
    if (part.defined()) sum = sum.defined() ? sum.add(part) : part;
  };
  for (std::uint64_t i = 0; i < accumulation; ++i) {
    if (i > 0 && stop_requested && stop_requested()) return std::nullopt;
    const std::uint64_t micro_batch = step_ * accumulation + i;
    const Batch batch = dataset_.TrainBatch(spec_.seed(), micro_batch, spec_.training().batch_size());
    ModelInput input = InputOf(batch, device_);
    input.dropout_seed = SeedDropout(device_, spec_.seed(), micro_batch);
    const at::Tensor part =
        training_step_.AddMicroBatch(input, batch.labels.to(device_, /*non_blocking=*/true));
    add(loss, part);
    add(penalty, training_step_.penalty());
  }
  for (at::Tensor* sum : {&loss, &penalty}) {
    if (accumulation > 1 && sum->defined()) *sum = sum->div(static_cast<double>(accumulation));
  }
  const TrainingStep::Applied applied = training_step_.Apply(static_cast<std::int64_t>(step_));
  ++step_;
  return Update{applied.learning_rate, loss, applied.gradient_norm, penalty};
}

void Trainer::MeasureOutliers() {
  // The first validation examples. Not in inference mode, whose tensors a later update could not use.
  const std::int64_t size = spec_.training().batch_size();
  const Batch batch = dataset_.ValidationBatch(0, size, kCurveMaskSeed);
  const at::NoGradGuard no_gradient;
  model_.eval();
  // By the defaults: trials that differ in their evaluation share a training.
  OutlierProbe probe(model_, spec_.model().architecture_case(), /*kurtosis_batches=*/1,
                     v1::OutlierSpec::default_instance());
  TapChain tap(probe.taps());
  const Prediction prediction = Predict(model_, InputOf(batch, device_), batch.labels.to(device_), &tap);
  model_.train();
  MeasurementReporter reporter = Reporter(ReportKind::kCurve);
  reporter.Add("loss", prediction.loss);
  ReportOutliers(probe.Report(), reporter);
}

absl::Status Trainer::MeasureQuantizedLoss() {
  ASSIGN_OR_RETURN(const QuantizedLosses losses, MeasureQuantized(model_, dataset_, spec_, device_));
  model_.train();
  MeasurementReporter reporter = Reporter(ReportKind::kCurve);
  reporter.Add("quantized_loss", losses.quantized_loss);
  reporter.Add("float_loss", losses.float_loss);
  reporter.Add("quantization_gap", losses.quantized_loss - losses.float_loss);
  return absl::OkStatus();
}

absl::Status Trainer::Save(const std::filesystem::path& folder, bool final) {
  // Fields that only evaluation reads are left out: the trained model is the same file for every trial that
  // shares the training.
  v1::TrialSpec spec = spec_;
  spec.clear_quantization();
  spec.clear_evaluation();
  const CheckpointInfo info{.spec = std::move(spec),
                            .step = step_,
                            .dataset_digest = dataset_.dataset_digest(),
                            .start_digest = start_digest_,
                            .build = BuildId(),
                            .final = final,
                            .train_seconds = seconds_};
  ASSIGN_OR_RETURN(const v1::CheckpointSaved saved,
                   SaveCheckpoint(folder, model_, training_step_.optimizer(), info));
  sink_.OnCheckpoint(saved);
  return absl::OkStatus();
}

bool Trainer::IsDue(std::uint64_t period) const { return step_ % period == 0; }

void Trainer::ReportUpdate(const Update& update, double loss, double tokens_per_second) {
  MeasurementReporter reporter = Reporter(ReportKind::kCurve);
  reporter.Add("train_loss", loss);
  reporter.Add("learning_rate", update.learning_rate);
  reporter.Add("gradient_norm", update.gradient_norm.item<double>());
  if (update.penalty.defined()) reporter.Add("penalty", update.penalty.item<double>());
  reporter.Add("tokens_per_second", tokens_per_second);
}

absl::StatusOr<TrainResult> Trainer::Stopped(const std::filesystem::path& folder) {
  if (step_ == 0)
    return TrainResult{TrainResult::End::kStopped, 0, "stopped on request before the first update"};
  RETURN_IF_ERROR(Save(folder, /*final=*/false));
  return TrainResult{TrainResult::End::kStopped, step_,
                     absl::StrCat("stopped on request after update ", step_, " of ", updates_,
                                  "; continues from ", PeriodicCheckpointName(step_))};
}

absl::StatusOr<TrainResult> Trainer::Run(const std::filesystem::path& folder,
                                         const std::function<bool()>& stop_requested) {
  const v1::TrainingSpec& training = spec_.training();
  const double tokens_per_update = static_cast<double>(training.batch_size()) *
                                   static_cast<double>(training.gradient_accumulation()) *
                                   static_cast<double>(SequenceLength(spec_));
  model_.train();
  v1::Progress progress;
  progress.set_phase("train");
  progress.set_steps_total(updates_);
  Window window, whole;
  at::Tensor health;  // Sum of all unchecked losses and gradient norms: not finite once one of them is not.

  while (step_ < updates_) {
    const Timestamp start = MonotonicNow();
    const std::optional<Update> finished = RunUpdate(stop_requested);
    if (!finished) return Stopped(folder);
    const Update& update = *finished;
    health = health.defined() ? health.add(update.loss).add(update.gradient_norm)
                              : update.loss.add(update.gradient_norm);
    const bool last = step_ == updates_;
    const bool measure = IsDue(training.measure_every()) || step_ == 1 || last;
    const bool save = IsDue(training.checkpoint_every()) && !last;
    bool healthy = true;
    // Reading a number from a GPU waits for it, so only where a report or a checkpoint needs one.
    const bool look = device_.is_cpu() || measure || save;
    if (look) {
      healthy = std::isfinite(health.item<double>());
      health.reset();
      progress.set_loss(update.loss.item<double>());
    }
    const double seconds = ToSeconds(MonotonicNow() - start);
    for (Window* time : {&window, &whole}) {
      ++time->updates;
      time->seconds += seconds;
    }
    seconds_ += seconds;
    lent_cpus_.OnUpdate(seconds);

    if (measure || !healthy) {
      progress.set_rate(window.Rate());
      ReportUpdate(update, progress.loss(), window.Rate() * tokens_per_update);
      window = Window();
    }
    if (!healthy) {
      return TrainResult{
          TrainResult::End::kDiverged, step_,
          absl::StrCat("diverged at update ", step_, " of ", updates_, ": loss ", progress.loss(),
                       ", gradient norm ", update.gradient_norm.item<double>(),
                       "; a lower learning rate or a longer warm-up may help")};
    }
    progress.set_step(step_);
    sink_.OnProgress(progress);
    if (training.measure_outliers_every() > 0 && IsDue(training.measure_outliers_every())) MeasureOutliers();
    if (training.measure_quantized_every() > 0 && (IsDue(training.measure_quantized_every()) || last))
      RETURN_IF_ERROR(MeasureQuantizedLoss());
    const bool stop = !last && stop_requested && stop_requested();
    if (stop) return Stopped(folder);
    if (save) RETURN_IF_ERROR(Save(folder, /*final=*/false));
  }
  RETURN_IF_ERROR(Save(folder, /*final=*/true));
  MeasurementReporter reporter = Reporter(ReportKind::kResult);
  if (whole.updates > 0) {
    reporter.Add("train_loss", progress.loss());
    reporter.Add("tokens_per_second", whole.Rate() * tokens_per_update);
    reporter.Add("updates_per_second", whole.Rate());
  }
  reporter.Add("train_seconds", seconds_);
  return TrainResult{TrainResult::End::kFinished, step_, ""};
}

}  // namespace inlier
