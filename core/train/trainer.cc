#include "core/train/trainer.h"

#include <ATen/Context.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/time.h"
#include "base/version.h"
#include "core/data/random_stream.h"
#include "core/train/batch_input.h"
#include "core/train/checkpoint.h"

namespace inlier {
namespace {

// Makes what follows draw the numbers of stream (seed, "dropout", micro_batch) from the device's generator.
void SeedDropout(c10::Device device, std::uint64_t seed, std::uint64_t micro_batch) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::scoped_lock lock(generator.mutex());
  generator.set_current_seed(RandomStream(seed, "dropout", micro_batch).Next());
}

// Updates and the time spent on them, since the last point of the curves.
struct Window {
  std::uint64_t updates = 0;
  double seconds = 0;
  double Rate() const { return static_cast<double>(updates) / std::max(seconds, 1e-9); }
};

}  // namespace

Trainer::Trainer(const v1::TrialSpec& spec, LanguageModel& model, const TextDataset& dataset,
                 c10::Device device, TrialSink& sink)
    : spec_(spec),
      model_(model),
      dataset_(dataset),
      device_(device),
      sink_(sink),
      training_step_(MakeTrainingStep(model, spec.training())) {}

absl::Status Trainer::Resume(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  RETURN_IF_ERROR(checkpoint.CheckMatches(spec_, dataset_.dataset_digest()));
  RETURN_IF_ERROR(checkpoint.LoadWeights(model_));
  RETURN_IF_ERROR(checkpoint.LoadOptimizer(training_step_.optimizer()));
  step_ = checkpoint.info().step;
  seconds_ = checkpoint.info().train_seconds;
  return absl::OkStatus();
}

Trainer::Update Trainer::RunUpdate() {
  const std::uint64_t accumulation = spec_.training().gradient_accumulation();
  at::Tensor loss;
  for (std::uint64_t i = 0; i < accumulation; ++i) {
    const std::uint64_t micro_batch = step_ * accumulation + i;
    const Batch batch = dataset_.TrainBatch(spec_.seed(), micro_batch, spec_.training().batch_size());
    const ModelInput input = InputOf(batch, device_);
    SeedDropout(device_, spec_.seed(), micro_batch);
    const at::Tensor part =
        training_step_.AddMicroBatch(input, batch.labels.to(device_, /*non_blocking=*/true));
    loss = loss.defined() ? loss.add(part) : part;
  }
  if (accumulation > 1) loss = loss.div(static_cast<double>(accumulation));
  const TrainingStep::Applied applied = training_step_.Apply(static_cast<std::int64_t>(step_));
  ++step_;
  return {applied.learning_rate, loss, applied.gradient_norm};
}

void Trainer::Measure(const char* name, double value, bool final) {
  v1::MeasurementPoint point;
  point.set_name(name);
  point.set_step(step_);
  point.set_value(value);
  point.set_final(final);
  sink_.OnMeasurement(point);
}

absl::Status Trainer::Save(const std::filesystem::path& folder, bool final) {
  // What only evaluation reads is left out: the trained model is the same file for every trial that shares
  // the training.
  v1::TrialSpec spec = spec_;
  spec.clear_quantization();
  spec.clear_evaluation();
  const CheckpointInfo info{.spec = std::move(spec),
                            .step = step_,
                            .dataset_digest = dataset_.dataset_digest(),
                            .build = BuildId(),
                            .final = final,
                            .train_seconds = seconds_};
  ASSIGN_OR_RETURN(const v1::CheckpointSaved saved,
                   SaveCheckpoint(folder, model_, training_step_.optimizer(), info));
  sink_.OnCheckpoint(saved);
  return absl::OkStatus();
}

bool Trainer::IsDue(std::uint64_t period) const { return step_ % period == 0; }

absl::StatusOr<TrainResult> Trainer::Run(const std::filesystem::path& folder,
                                         const std::function<bool()>& stop_requested) {
  const v1::TrainingSpec& training = spec_.training();
  const std::uint64_t steps = training.steps();
  const double tokens_per_update = static_cast<double>(training.batch_size()) *
                                   static_cast<double>(training.gradient_accumulation()) *
                                   static_cast<double>(dataset_.sequence_length());
  model_.train();
  v1::Progress progress;
  progress.set_phase("train");
  progress.set_steps_total(steps);
  Window window, whole;
  at::Tensor
      health;  // Sum of all losses and gradient norms not looked at yet: not finite once one of them is not.

  while (step_ < steps) {
    const Timestamp start = MonotonicNow();
    const Update update = RunUpdate();
    health = health.defined() ? health.add(update.loss).add(update.gradient_norm)
                              : update.loss.add(update.gradient_norm);
    const bool last = step_ == steps;
    const bool measure = IsDue(training.measure_every()) || step_ == 1 || last;
    const bool save = IsDue(training.checkpoint_every()) && !last;
    bool healthy = true;
    // Reading a number from a GPU waits for it, so that is done only where something is reported or kept.
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

    if (measure || !healthy) {
      progress.set_rate(window.Rate());
      Measure("train_loss", progress.loss());
      Measure("learning_rate", update.learning_rate);
      Measure("gradient_norm", update.gradient_norm.item<double>());
      Measure("tokens_per_second", window.Rate() * tokens_per_update);
      window = Window();
    }
    if (!healthy) {
      return TrainResult{TrainResult::End::kDiverged, step_,
                         absl::StrCat("diverged at update ", step_, " of ", steps, ": loss ", progress.loss(),
                                      ", gradient norm ", update.gradient_norm.item<double>(),
                                      "; a lower learning rate or a longer warm-up may help")};
    }
    progress.set_step(step_);
    sink_.OnProgress(progress);
    const bool stop = !last && stop_requested && stop_requested();
    if (save || stop) RETURN_IF_ERROR(Save(folder, /*final=*/false));
    if (stop) {
      return TrainResult{TrainResult::End::kStopped, step_,
                         absl::StrCat("stopped on request after update ", step_, " of ", steps,
                                      "; goes on from ", PeriodicCheckpointName(step_))};
    }
  }
  RETURN_IF_ERROR(Save(folder, /*final=*/true));
  if (whole.updates > 0) {
    Measure("train_loss", progress.loss(), /*final=*/true);
    Measure("tokens_per_second", whole.Rate() * tokens_per_update, /*final=*/true);
  }
  Measure("train_seconds", seconds_, /*final=*/true);
  return TrainResult{TrainResult::End::kFinished, step_, ""};
}

}  // namespace inlier
