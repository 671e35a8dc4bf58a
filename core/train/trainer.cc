#include "core/train/trainer.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random_stream.h"
#include "base/status.h"
#include "base/time.h"
#include "base/version.h"
#include "core/models/parameter_names.h"
#include "core/optim/make_optimizer.h"
#include "core/optim/sharded_optimizer.h"
#include "core/train/batch_input.h"
#include "core/train/outlier_probe.h"
#include "core/train/prediction.h"
#include "core/train/quantized_probe.h"
#include "spec/trial/data_kind.h"

namespace inlier {
namespace {

// The first number of the stream (seed, "dropout", micro_batch). The device's generator is seeded with it too, in further
// parts of the micro-batch with the numbers that follow.
std::uint64_t SeedDropout(c10::Device device, std::uint64_t seed, std::uint64_t micro_batch,
                          std::uint64_t part) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::scoped_lock lock(generator.mutex());
  RandomStream stream(seed, "dropout", micro_batch);
  const std::uint64_t first = stream.Next();
  std::uint64_t of_part = first;
  for (std::uint64_t i = 0; i < part; ++i) of_part = stream.Next();
  generator.set_current_seed(of_part);
  return first;
}

UpdateSplit SplitOf(const v1::TrainingSpec& spec, const Gang& gang) {
  const absl::StatusOr<UpdateSplit> split = SplitUpdate(spec, static_cast<std::uint64_t>(gang.rank()),
                                                        static_cast<std::uint64_t>(gang.processes()));
  INLIER_CHECK(split.ok());
  return *split;
}

TrainingStep MakeStep(Model& model, const v1::TrainingSpec& spec, std::uint64_t updates, Gang& gang,
                      bool shard_optimizer) {
  const auto count = static_cast<std::int64_t>(updates);
  if (!shard_optimizer || gang.processes() == 1) return MakeTrainingStep(model, spec, count);
  return MakeTrainingStep(
      model, spec, count,
      std::make_unique<ShardedOptimizer>(ParametersOf(model), gang,
                                         [&spec](const std::vector<NamedParameter>& parameters) {
                                           return MakeOptimizer(spec.optimizer(), parameters);
                                         }));
}

// Updates and the time spent on them, since the last point of the curves.
struct Window {
  std::uint64_t updates = 0;
  double seconds = 0;
  double Rate() const { return static_cast<double>(updates) / std::max(seconds, 1e-9); }
};

void ReportParameters(const Model& model, MeasurementReporter& reporter) {
  std::int64_t parameters = 0, of_gates = 0;
  for (const auto& item : model.named_parameters()) {
    parameters += item.value().numel();
    if (IsGateParameter(item.key())) of_gates += item.value().numel();
  }
  reporter.Add("parameters", static_cast<double>(parameters));
  reporter.Add("gate_parameters", static_cast<double>(of_gates));
}

}  // namespace

std::uint64_t UpdatesOf(const v1::TrainingSpec& spec, const Dataset& dataset) {
  if (spec.has_steps()) return spec.steps();
  const std::uint64_t examples = spec.epochs() * static_cast<std::uint64_t>(dataset.train_examples());
  const std::uint64_t update = std::uint64_t{spec.batch_size()} * spec.gradient_accumulation();
  return (examples + update - 1) / update;
}

Trainer::Trainer(const v1::TrialSpec& spec, Model& model, const Dataset& dataset, c10::Device device,
                 TrialSink& sink, ModelOrigin origin, TrainingRanks ranks)
    : spec_(spec),
      model_(model),
      dataset_(dataset),
      device_(device),
      sink_(sink),
      origin_(std::move(origin)),
      updates_(UpdatesOf(spec.training(), dataset)),
      gang_(std::move(ranks.gang)),
      split_(SplitOf(spec.training(), gang_)),
      training_step_(MakeStep(model, spec.training(), updates_, gang_, ranks.shard_optimizer)),
      best_(spec.training(), sink) {}

absl::Status Trainer::Resume(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  RETURN_IF_ERROR(checkpoint.CheckMatches(spec_, dataset_.dataset_digest()));
  RETURN_IF_ERROR(checkpoint.LoadWeights(model_));
  RETURN_IF_ERROR(checkpoint.LoadOptimizer(training_step_.optimizer()));
  ASSIGN_OR_RETURN(std::optional<BestSoFar> best, checkpoint.LoadBest());
  if (best && gang_.rank() != 0) best->model.clear();
  best_.Resume(std::move(best));
  step_ = checkpoint.info().step;
  seconds_ = checkpoint.info().train_seconds;
  return absl::OkStatus();
}

Batch Trainer::ReadPart(std::uint64_t micro_batch) const {
  const std::int64_t size = spec_.training().batch_size();
  const auto examples = static_cast<std::int64_t>(split_.part_examples);
  if (split_.parts > 1 && dataset_.mixes_examples()) {
    return dataset_.TrainBatch(spec_.seed(), micro_batch, size)
        .Examples(static_cast<std::int64_t>(split_.part) * examples, examples);
  }
  // Example r of batch i is number i * size + r of the training for every size (core/data/example_order.h).
  return dataset_.TrainBatch(spec_.seed(), micro_batch * split_.parts + split_.part, examples);
}

TrainingStep::Weight Trainer::WeightOf(const Batch& part) {
  if (split_.parts == 1) return {};
  // Ranks of other groups are at other micro-batches.
  const at::Tensor targets = at::zeros({static_cast<std::int64_t>(split_.groups)}, at::kLong);
  const at::Tensor of_group = targets[static_cast<std::int64_t>(split_.group)];
  const std::int64_t own = model_.TargetsIn(part.labels);
  of_group.fill_(own);
  gang_.Sum({targets});
  const auto all = of_group.item<std::int64_t>();
  return {.of_loss = all == 0 ? 0 : static_cast<double>(own) / static_cast<double>(all),
          .of_penalty = 1 / static_cast<double>(split_.parts)};
}

std::optional<Trainer::Update> Trainer::RunUpdate(const std::function<bool()>& stop_requested) {
  const std::uint64_t accumulation = spec_.training().gradient_accumulation();
  at::Tensor loss, penalty;
  const auto add = [](at::Tensor& sum, const at::Tensor& part) {
    if (part.defined()) sum = sum.defined() ? sum.add(part) : part;
  };
  for (std::uint64_t i = split_.group; i < accumulation; i += split_.groups) {
    if (i > split_.group && stop_requested()) return std::nullopt;
    const std::uint64_t micro_batch = step_ * accumulation + i;
    const Batch batch = ReadPart(micro_batch);
    ModelInput input = InputOf(batch, device_);
    input.dropout_seed = SeedDropout(device_, spec_.seed(), micro_batch, split_.part);
    input.first_example = static_cast<std::int64_t>(split_.part * split_.part_examples);
    add(loss, training_step_.AddMicroBatch(input, batch.labels.to(device_, /*non_blocking=*/true),
                                           WeightOf(batch)));
    add(penalty, training_step_.penalty());
  }
  if (gang_.processes() > 1) {
    std::vector<at::Tensor> sums = training_step_.Gradients();
    sums.push_back(loss);
    if (penalty.defined()) sums.push_back(penalty);
    gang_.Sum(sums);
  }
  for (at::Tensor* sum : {&loss, &penalty}) {
    if (accumulation > 1 && sum->defined()) *sum = sum->div(static_cast<double>(accumulation));
  }
  const TrainingStep::Applied applied = training_step_.Apply(static_cast<std::int64_t>(step_++));
  return Update{applied.learning_rate, loss, applied.gradient_norm, penalty};
}

void Trainer::MeasureOutliers() {
  const std::int64_t size = spec_.training().batch_size();
  const std::int64_t batches = std::min(dataset_.ValidationBatches(size), (kCurveExamples + size - 1) / size);
  // Not in inference mode, whose tensors a later update could not use.
  const at::NoGradGuard no_gradient;
  model_.eval();
  // By the defaults: trials that differ in their evaluation share a training.
  OutlierProbe probe(model_, spec_.model().architecture_case(),
                     /*kurtosis_batches=*/static_cast<int>(batches), v1::OutlierSpec::default_instance());
  TapChain tap(probe.taps());
  ScoreSum scores;
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = dataset_.ValidationBatch(i, size, kCurveMaskSeed);
    scores.Add(Predict(model_, InputOf(batch, device_), batch.labels.to(device_), &tap),
               batch.labels.size(0));
  }
  model_.train();
  MeasurementReporter reporter = Reporter(ReportKind::kCurve);
  if (scores.targets() > 0) reporter.Add("loss", scores.MeanLoss());
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

absl::Status Trainer::MeasureModel() {
  const v1::TrainingSpec& training = spec_.training();
  const bool last_of_best = step_ == updates_ && best_.IsPoint(step_, updates_);
  if (training.measure_outliers_every() > 0 && (IsDue(training.measure_outliers_every()) || last_of_best))
    MeasureOutliers();
  const bool quantized = training.measure_quantized_every() > 0 &&
                         (IsDue(training.measure_quantized_every()) || step_ == updates_);
  return quantized ? MeasureQuantizedLoss() : absl::OkStatus();
}

absl::Status Trainer::CompareStep() {
  if (!best_.IsPoint(step_, updates_)) return absl::OkStatus();
  bool better = false;
  if (gang_.rank() == 0) {
    ASSIGN_OR_RETURN(better, best_.IsBetter(step_));
  }
  better = gang_.Any(better);
  TensorMap model;
  if (better) {
    // On every rank: a sharded state is gathered.
    const std::vector<NamedParameter> state = training_step_.optimizer().State();
    if (gang_.rank() == 0) model = TrainedTensors(model_, state);
    for (auto& [name, tensor] : model)
      tensor = tensor.to(at::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  }
  best_.Count(step_, better, std::move(model));
  return absl::OkStatus();
}

absl::Status Trainer::Save(const std::filesystem::path& folder, bool final) {
  // On every rank: a sharded state is gathered.
  const std::vector<NamedParameter> state = training_step_.optimizer().State();
  if (gang_.rank() != 0) return absl::OkStatus();
  // Fields that only evaluation reads are left out: the trained model is the same file for every trial that
  // shares the training.
  v1::TrialSpec spec = spec_;
  spec.clear_quantization();
  spec.clear_evaluation();
  const CheckpointInfo info{.spec = std::move(spec),
                            .step = final && best_.best() ? best_.best()->step : step_,
                            .dataset_digest = dataset_.dataset_digest(),
                            .origin = origin_,
                            .build = BuildId(),
                            .final = final,
                            .train_seconds = seconds_};
  ASSIGN_OR_RETURN(const v1::CheckpointSaved saved,
                   SaveCheckpoint(folder, model_, state, info, best_.best()));
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

TrainResult Trainer::Diverged(const Update& update, double loss) const {
  return {TrainResult::End::kDiverged, step_,
          absl::StrCat("diverged at update ", step_, " of ", updates_, ": loss ", loss, ", gradient norm ",
                       update.gradient_norm.item<double>(),
                       "; a lower learning rate or a longer warm-up may help")};
}

TrainResult Trainer::Finished(MeasurementReporter& reporter) const {
  reporter.Add("train_seconds", seconds_);
  ReportParameters(model_, reporter);
  const std::optional<BestSoFar>& best = best_.best();
  if (!best) return {TrainResult::End::kFinished, step_, ""};
  reporter.Add("best_step", static_cast<double>(best->step));
  reporter.Add("last_step", static_cast<double>(step_));
  if (step_ == updates_) return {TrainResult::End::kFinished, step_, ""};
  return {TrainResult::End::kFinished, step_,
          absl::StrCat("ended by training.patience after update ", step_, " of ", updates_, ": ",
                       spec_.training().best_by(), " was best, ", best->value, ", at update ", best->step)};
}

absl::StatusOr<TrainResult> Trainer::Run(const std::filesystem::path& folder,
                                         const std::function<bool()>& stop_requested) {
  const auto stops = [&] { return gang_.Any(stop_requested && stop_requested()); };
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

  while (step_ < updates_ && !best_.IsOver()) {
    const Timestamp start = MonotonicNow();
    const std::optional<Update> finished = RunUpdate(stops);
    if (!finished) return Stopped(folder);
    const Update& update = *finished;
    health = health.defined() ? health.add(update.loss).add(update.gradient_norm)
                              : update.loss.add(update.gradient_norm);
    const bool last = step_ == updates_;
    const bool measure = IsDue(training.measure_every()) || step_ == 1 || last;
    const bool save = IsDue(training.checkpoint_every()) && !last;
    bool healthy = true;
    // Reading a number from a GPU waits for it, so only where a report, a checkpoint or an end by patience needs one.
    const bool read = device_.is_cpu() || measure || save || best_.IsPoint(step_, updates_);
    if (read) {
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
    if (training_step_.HasFusedLoops()) loop_threads_.OnUpdate(seconds);

    // The first update is slower than later ones: it waits for what they find ready, on a GPU most of all.
    const bool first = whole.updates == 1;
    if (!first && (measure || (read && !progress.has_rate()))) progress.set_rate(window.Rate());
    if (measure || !healthy) ReportUpdate(update, progress.loss(), window.Rate() * tokens_per_update);
    if (measure || first) window = Window();
    if (!healthy) return Diverged(update, progress.loss());
    progress.set_step(step_);
    sink_.OnProgress(progress);
    if (gang_.rank() == 0) RETURN_IF_ERROR(MeasureModel());
    RETURN_IF_ERROR(CompareStep());
    if (last || best_.IsOver()) break;
    if (stops()) return Stopped(folder);
    if (save) RETURN_IF_ERROR(Save(folder, /*final=*/false));
  }
  RETURN_IF_ERROR(Save(folder, /*final=*/true));
  MeasurementReporter reporter = Reporter(ReportKind::kResult);
  if (whole.updates > 0) {
    reporter.Add("train_loss", progress.loss());
    reporter.Add("tokens_per_second", whole.Rate() * tokens_per_update);
    reporter.Add("updates_per_second", whole.Rate());
  }
  return Finished(reporter);
}

}  // namespace inlier
