// Trains one model by its spec: steps, curves, checkpoints, resuming.
//
// Deterministic: on the CPU the same spec, the same number of threads and of ranks give bit-equal weights and
// measurements (except rates), uninterrupted or resumed at any update, because batches, masks, dropout and
// roundings by chance are functions of (seed, update) alone. CPUs that are lent to the training change the time only.
//
// Ranks of a gang share the examples of each update (spec/trial/update_split.h). They add up their gradients before
// clipping, so that all of them do the same update; rank 0 alone measures and writes checkpoints. Another number of
// ranks rounds the sums in another order, and nothing else: a checkpoint is the same file for any number of them. On a
// GPU with engine REFERENCE LibTorch draws the dropout, by rank.
#ifndef INLIER_CORE_TRAIN_TRAINER_H_
#define INLIER_CORE_TRAIN_TRAINER_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/dataset.h"
#include "core/gang/gang.h"
#include "core/models/model.h"
#include "core/train/best_step.h"
#include "core/train/checkpoint.h"
#include "core/train/loop_threads.h"
#include "core/train/measurement_reporter.h"
#include "core/train/training_step.h"
#include "core/train/trial_sink.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/trial/update_split.h"

namespace inlier {

struct TrainResult {
  enum class End {
    kFinished,  // The final checkpoint is written.
    kDiverged,  // Loss or gradient is not finite: a result. No checkpoint is written for it.
    kStopped,   // Stopped on request; the state is in a periodic checkpoint, once there is an update.
  };
  End end;
  std::uint64_t step;   // Updates done.
  std::string message;  // For display; empty when finished after all updates.
};

// The number of updates of a training of `spec` on `dataset`: its steps, or those of its epochs.
std::uint64_t UpdatesOf(const v1::TrainingSpec& spec, const Dataset& dataset);

// Examples of a point of the outlier curves, where the validation part has them. More where a batch has more.
inline constexpr std::int64_t kCurveExamples = 32;

struct TrainingRanks {
  Gang gang = {};                // One process by itself.
  bool shard_optimizer = false;  // Each rank keeps a part of the optimizer's state.
};

class Trainer {
 public:
  // `spec` is resolved; `model` is made from it, has its initial weights and is on `device`; CheckOptimizer
  // is OK for both, SplitUpdate for the ranks. All of them must outlive the trainer. `origin` goes into the checkpoints.
  Trainer(const v1::TrialSpec& spec, Model& model, const Dataset& dataset, c10::Device device,
          TrialSink& sink, ModelOrigin origin = {}, TrainingRanks ranks = {});

  // Continues from a periodic checkpoint of the same training. The error names the mismatch.
  absl::Status Resume(const std::filesystem::path& checkpoint);

  // Trains to the end, writing checkpoints to `folder`. Calls `stop_requested` after every micro-batch; the
  // update that has then started is left out. All ranks stop where one is asked to. An error when a checkpoint cannot be
  // written; LibTorch's exceptions and GangBroken pass through.
  absl::StatusOr<TrainResult> Run(const std::filesystem::path& folder,
                                  const std::function<bool()>& stop_requested);

 private:
  struct Update {
    double learning_rate;
    at::Tensor loss;           // Mean over the update's micro-batches, on the device.
    at::Tensor gradient_norm;  // Before clipping, on the device.
    at::Tensor penalty;        // As loss; undefined without a regularizer.
  };
  // Nothing when it was stopped midway.
  std::optional<Update> RunUpdate(const std::function<bool()>& stop_requested);
  // This rank's examples of a micro-batch.
  Batch ReadPart(std::uint64_t micro_batch) const;
  TrainingStep::Weight WeightOf(const Batch& part);
  absl::StatusOr<TrainResult> Stopped(const std::filesystem::path& folder);
  TrainResult Diverged(const Update& update, double loss) const;
  // Reports what is known without the updates of this process, with the best step.
  TrainResult Finished(MeasurementReporter& reporter) const;
  bool IsDue(std::uint64_t period) const;
  MeasurementReporter Reporter(ReportKind kind) { return {kind, step_, best_}; }
  void ReportUpdate(const Update& update, double loss, double tokens_per_second);
  // The curves of outliers and of the quantized model, where they have a point now.
  absl::Status MeasureModel();
  // Loss and outliers of the first kCurveExamples of the validation part, in batches of the training, without dropout.
  void MeasureOutliers();
  // The same batch or more of them, quantized and in float.
  absl::Status MeasureQuantizedLoss();
  // Keeps the model of this step where it is the best so far. On every rank.
  absl::Status CompareStep();
  absl::Status Save(const std::filesystem::path& folder, bool final);

  const v1::TrialSpec& spec_;
  Model& model_;
  const Dataset& dataset_;
  const c10::Device device_;
  TrialSink& sink_;
  const ModelOrigin origin_;
  const std::uint64_t updates_;  // In all.
  Gang gang_;
  const UpdateSplit split_;
  TrainingStep training_step_;
  std::uint64_t step_ = 0;
  BestStep best_;
  LoopThreads loop_threads_;
  double seconds_ = 0;  // Spent on updates, in earlier attempts too.
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_TRAINER_H_
