#include "coordinator/sweeps/start_source.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "coordinator/state/lookup.h"
#include "spec/schema/limits.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

absl::StatusOr<StageId> TrainingOf(const Trial& trial) {
  if (trial.train) return trial.train;
  return absl::InvalidArgumentError(absl::StrCat(trial.id.ToString(), " can never run (", trial.message(),
                                                 "); name another trial, or mend that one"));
}

absl::StatusOr<StageId> TrainingAt(const State& state, Sweep& sweep, std::uint64_t point) {
  if (sweep.expansion.by_point.empty()) {
    for (const TrialId id : sweep.trials) sweep.expansion.by_point.emplace(state.trials.at(id).point, id);
  }
  const auto at = sweep.expansion.by_point.find(point);
  if (at != sweep.expansion.by_point.end()) return TrainingOf(state.trials.at(at->second));
  return absl::InvalidArgumentError(
      absl::StrCat("point ", point, " of the sweep, which it names, has no trial"));
}

// `start` names a trial or a training.
absl::StatusOr<StageId> TrainingNamed(const State& state, const v1::StartFromSpec& start) {
  if (start.has_trial()) {
    const absl::StatusOr<TrialId> trial = FindTrial(state, start.trial());
    if (!trial.ok()) return absl::InvalidArgumentError(trial.status().message());
    return TrainingOf(state.trials.at(*trial));
  }
  const std::optional<Digest> fingerprint = ParseSha256Hex(start.training());
  const Stage* stage = fingerprint ? state.stages.Find(*fingerprint) : nullptr;
  if (stage != nullptr && stage->kind == v1::TRAIN_STAGE) return stage->id;
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
