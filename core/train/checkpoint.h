// Checkpoints: one safetensors file with a model's weights under their Hugging Face names, the optimizer's
// state ("optimizer/…"; in the final one only sums of second moments), and in its metadata the TrialSpec of its training.
//
// Because every random stream is a function of (seed, name, step), a resumed training needs only the step and
// the tensors. A file appears complete or not at all.
#ifndef INLIER_CORE_TRAIN_CHECKPOINT_H_
#define INLIER_CORE_TRAIN_CHECKPOINT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/io/safetensors.h"
#include "core/models/model.h"
#include "core/optim/optimizer.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The origin of a model in addition to its spec and its sequences, for uses with other data.
struct ModelOrigin {
  std::string start_digest;          // Of the model that it started from; empty: from random weights.
  std::string vocabulary;            // Digest of the vocabulary; empty: not known, or it reads no text.
  std::string scripts;               // Digests of the scripts of its attention; empty: it has none.
  std::vector<std::string> classes;  // Of its outputs in their order; empty: not known, or no classifier.
};

// The best step of a training so far (core/train/best_step.h).
struct BestSoFar {
  std::uint64_t step = 0;
  double value = 0;                // Of the curve; may be NaN.
  std::uint64_t points_since = 0;  // Points of the curve after it.
  TensorMap model = {};            // TrainedTensors after that step; empty on other ranks than 0.
};

struct CheckpointInfo {
  v1::TrialSpec spec;          // Resolved.
  std::uint64_t step = 0;      // Updates done.
  std::string dataset_digest;  // Of the sequences it was trained on.
  ModelOrigin origin;
  std::string build;         // Of the inlier that wrote it.
  bool final = false;        // The trained model, without optimizer state.
  double train_seconds = 0;  // Spent on updates. Not in final ones, whose bytes depend on the training alone.
};

// The tensors of the trained model after the latest update: weights, and of the optimizer's state what SecondMomentSums reads.
// They may share memory with the model.
TensorMap TrainedTensors(const Model& model, const std::vector<NamedParameter>& optimizer_state);

// The name of the trained model in an attempt's folder.
inline constexpr char kFinalCheckpointName[] = "model.safetensors";
// Name of the periodic checkpoint after `step` updates: "step-000000100.safetensors".
std::string PeriodicCheckpointName(std::uint64_t step);

// Writes folder/model.safetensors (info.final: TrainedTensors, or the best model where there is one) or the periodic
// checkpoint of info.step, with the best model so far, then removes all but the newest two periodic ones of the folder. An
// error names the file and, for a full disk, the cause.
absl::StatusOr<v1::CheckpointSaved> SaveCheckpoint(const std::filesystem::path& folder, const Model& model,
                                                   const std::vector<NamedParameter>& optimizer_state,
                                                   const CheckpointInfo& info,
                                                   const std::optional<BestSoFar>& best = {});

class Checkpoint {
 public:
  // NotFound or DataLoss with the reason; InvalidArgument for a safetensors file that inlier did not write.
  static absl::StatusOr<Checkpoint> Open(const std::filesystem::path& path, const DataRoots& roots = {});

  const CheckpointInfo& info() const { return info_; }

  // OK when the training of `spec` on this dataset wrote it. FailedPrecondition names the differences.
  absl::Status CheckMatches(const v1::TrialSpec& spec, const std::string& dataset_digest) const;

  // The shape of a weight; empty where there is none of that name.
  std::vector<std::int64_t> WeightShape(const std::string& name) const;

  // Copies the weights into `model`. InvalidArgument names a missing, superfluous or misshapen tensor;
  // nothing has been changed then.
  absl::Status LoadWeights(Model& model) const;

  // (d) float32: the sums over inputs of the optimizer's second moments of a weight that IsFfnOutputWeight. Undefined
  // where the optimizer keeps none, and in files of former releases.
  absl::StatusOr<at::Tensor> SecondMomentSums(const std::string& weight) const;

  // Copies the optimizer's state. FailedPrecondition when the checkpoint is a final one.
  absl::Status LoadOptimizer(Optimizer& optimizer) const;

  // The best step before a periodic checkpoint, if it has one.
  absl::StatusOr<std::optional<BestSoFar>> LoadBest() const;

 private:
  Checkpoint(std::filesystem::path path, SafetensorsReader reader, CheckpointInfo info);

  std::filesystem::path path_;
  SafetensorsReader reader_;
  CheckpointInfo info_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_CHECKPOINT_H_
