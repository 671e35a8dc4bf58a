#include "coordinator/sweeps/start_source.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "coordinator/store/not_found.h"
#include "coordinator/sweeps/training_choice.h"
#include "spec/schema/limits.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

absl::Status ModelIsGone(const std::string& of) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the model of ", of,
      " was removed by `inlier gc`; train it again (`inlier submit --again`), and name that one"));
}

absl::StatusOr<StageId> NotFreed(const State& state, StageId training, const std::string& name) {
  if (!state.stages.at(training).IsFreed()) return training;
  return ModelIsGone(name);
}

absl::StatusOr<StageId> TrainingOf(const State& state, const Trial& trial) {
  if (state.sweeps.at(trial.sweep).spec.has_imported())
    return absl::InvalidArgumentError(absl::StrCat(
        trial.id.ToString(), " was imported and has no model to start from; name a trial of this coordinator"));
  if (trial.train) return NotFreed(state, trial.train, trial.id.ToString());
  return absl::InvalidArgumentError(absl::StrCat(trial.id.ToString(), " can never run (", trial.message(),
                                                 "); name another trial, or mend that one"));
}

absl::StatusOr<StageId> TrainingAt(const State& state, Sweep& sweep, std::uint64_t point) {
  if (sweep.expansion.by_point.empty()) {
    for (const TrialId id : sweep.trials) sweep.expansion.by_point.emplace(state.trials.at(id).point, id);
  }
  const auto at = sweep.expansion.by_point.find(point);
  if (at != sweep.expansion.by_point.end()) return TrainingOf(state, state.trials.at(at->second));
  return absl::InvalidArgumentError(
      absl::StrCat("point ", point, " of the sweep, which it names, has no trial"));
}

// `start` names a trial or a training.
absl::StatusOr<StageId> TrainingNamed(const State& state, const v1::StartFromSpec& start) {
  if (start.has_trial()) {
    // Also one of a removed sweep: a sweep that named it before makes its trials later.
    const std::optional<TrialId> trial = TrialId::Parse(start.trial());
    if (trial && state.trials.contains(*trial)) return TrainingOf(state, state.trials.at(*trial));
    return absl::InvalidArgumentError(NoSuchTrial(start.trial()).message());
  }
  const std::optional<Digest> fingerprint = ParseSha256Hex(start.training());
  const Stage* stage = fingerprint ? state.stages.Find(*fingerprint) : nullptr;
  if (stage != nullptr && stage->kind == v1::TRAIN_STAGE)
    return NotFreed(state, stage->id, "the training that it names");
  return absl::InvalidArgumentError(absl::StrCat("this coordinator has no training with fingerprint ",
                                                 start.training(), "; name a trial, such as {trial: t-17}"));
}

// Counts the trainings that start from each other, up to this one.
int LengthOf(const State& state, StageId stage) {
  int length = 0;
  while (stage && length <= Limits::kStartsMax) {
    stage = state.stages.at(stage).start;
    ++length;
  }
  return length;
}

}  // namespace

absl::Status CheckStarts(const State& state, const SweepGrid& grid) {
  Problems problems;
  for (const auto& [path, start] : grid.Starts()) {
    const absl::StatusOr<StageId> training = TrainingNamed(state, start);
    if (!training.ok()) problems.Add(path, std::string(training.status().message()));
  }
  return problems.ToStatus();
}

std::set<StageId> StartsToCome(const State& state, const Sweep& sweep) {
  std::set<StageId> trainings;
  if (sweep.state != v1::ACTIVE || sweep.Exhausted()) return trainings;
  const absl::StatusOr<SweepGrid> grid = SweepGrid::Create(sweep.spec);
  if (!grid.ok()) return trainings;  // It makes no trials.
  for (const auto& [path, start] : grid->Starts()) {
    if (const absl::StatusOr<StageId> training = TrainingNamed(state, start); training.ok())
      trainings.insert(*training);
  }
  return trainings;
}

absl::Status CheckStartModel(const State& state, StageId start, const ExpandedTrial& trial,
                             std::uint32_t number) {
  if (state.stages.at(start).fate == StageFate::kWhole) return absl::OkStatus();
  const Stage* own = state.stages.Find(FingerprintOf(DigestOfHex(trial.train->fingerprint), number));
  if (own != nullptr && IsResult(own->state)) return absl::OkStatus();  // It has started from it.
  return absl::InvalidArgumentError(
      absl::StrCat("training.start_from: ", std::string(ModelIsGone("that training").message())));
}

absl::StatusOr<StageId> FindStart(const State& state, Sweep& sweep, const ExpandedTrial& expanded) {
  const v1::StartFromSpec& start = expanded.unlinked->training().start_from();
  const absl::StatusOr<StageId> training =
      expanded.start_point ? TrainingAt(state, sweep, *expanded.start_point) : TrainingNamed(state, start);
  if (!training.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("training.start_from: ", std::string(training.status().message())));
  if (LengthOf(state, *training) < Limits::kStartsMax) return *training;
  return absl::InvalidArgumentError(absl::StrCat("training.start_from: it is the last of more than ",
                                                 Limits::kStartsMax,
                                                 " trainings in a row; make the row shorter"));
}

}  // namespace inlier
