#include "coordinator/sweeps/training_choice.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "coordinator/data/data_binding.h"
#include "coordinator/data/data_check.h"

namespace inlier {
namespace {

// The data of the sweep: those with which it began, or those that a worker has found since. The source itself where no
// worker could read it; zero: not known.
DataId DataOf(const State& state, const Sweep& sweep, DataId source) {
  if (const auto began = sweep.bound.of_source.find(source); began != sweep.bound.of_source.end())
    return began->second;
  const DataSource& found = state.data.source(source);
  const bool fresh = found.as_of >= sweep.bound.since || INLIER_BUG("known_result_of_old_data");
  return fresh ? found.latest : DataId();
}

// The stages of the specification, the first one first.
std::vector<const Stage*> StagesOf(const State& state, const Digest& specification) {
  std::vector<const Stage*> stages;
  for (std::uint32_t number = 1;; ++number) {
    const Stage* stage = state.stages.Find(FingerprintOf(specification, number));
    if (stage == nullptr) return stages;
    stages.push_back(stage);
  }
}

// A new trial may have the training with this number: it is whole, or only its model has gone, and the trial's evaluation of it
// has its result.
bool MayHave(const State& state, const Stage& train, const ExpandedTrial& trial, std::uint32_t number) {
  if (train.fate != StageFate::kNoModel) return !train.IsFreed() || INLIER_BUG("freed_stage_given_again");
  const Stage* evaluate = state.stages.Find(FingerprintOf(DigestOfHex(trial.evaluate.fingerprint), number));
  return evaluate != nullptr && IsResult(evaluate->state);
}

// Makes the digest of the evaluation's own files a part of its fingerprint; those data, zero where it has none. Nullopt: they are
// not known, and the sweep waits for them.
std::optional<DataId> BindEvaluation(Context& context, Sweep& sweep, ExpandedTrial& trial) {
  if (trial.evaluate.names == nullptr) return DataId();
  State& state = context.state;
  const DataId source = FindOrAddSource(context, *trial.evaluate.names);
  const DataId data = DataOf(state, sweep, source);
  if (!data) {
    WaitForData(context, sweep, source, /*ask=*/true);
    return std::nullopt;
  }
  // Where no worker could read them, an attempt tells why; no other sweep gets that stage.
  const std::string found = state.data.IsKnown(data)
                                ? HexOf(*state.data.at(data).digest)
                                : absl::StrCat("unread ", state.data.source(source).as_of);
  trial.evaluate.fingerprint = Sha256Hex(absl::StrCat("data ", found, "\n", trial.evaluate.fingerprint));
  return data;
}

std::optional<TrainingChoice> ChooseKnown(Context& context, Sweep& sweep, const ExpandedTrial& trial) {
  const StagePart& train = *trial.train;
  State& state = context.state;
  const std::vector<const Stage*> stages = StagesOf(state, DigestOfHex(train.fingerprint));
  std::vector<std::uint32_t> numbers;  // Of those that it may have, the newest first.
  for (auto number = static_cast<std::uint32_t>(stages.size()); number > 0; --number) {
    if (MayHave(state, *stages[number - 1], trial, number)) numbers.push_back(number);
  }
  for (const std::uint32_t number : numbers) {
    if (stages[number - 1]->HasSweep(sweep.id)) return TrainingChoice{.number = number};
  }
  const DataId source = FindOrAddSource(context, *train.names);
  // A sweep may name the version of its program's source.
  const std::optional<Digest> version = ParseSha256Hex(train.version);
  const DataId data =
      version ? FindOrAddVersion(context, source, *version, /*worker=*/"") : DataOf(state, sweep, source);
  if (train.asks_first && !data) {
    WaitForData(context, sweep, source, /*ask=*/true);
    return std::nullopt;
  }
  TrainingChoice fresh{.number = static_cast<std::uint32_t>(stages.size()) + 1, .data = data ? data : source};
  if (numbers.empty()) return fresh;
  const Stage& newest = *stages[numbers.front() - 1];
  // It could not start, and never will.
  if (newest.state == v1::DIVERGED && !ExpectedData(state, newest))
    return TrainingChoice{.number = numbers.front()};
  const bool untouched = !ExpectedData(state, newest) && newest.live() == 0 && !IsResult(newest.state);
  if (sweep.submission.again && !untouched) return fresh;
  for (const std::uint32_t number : numbers) {
    if (data && !sweep.submission.again && ExpectedData(state, *stages[number - 1]) == data)
      return TrainingChoice{.number = number};
  }
  if (untouched) return TrainingChoice{.number = numbers.front()};
  if (!data) {
    WaitForData(context, sweep, source, /*ask=*/true);
    return std::nullopt;
  }
  if (!ExpectedData(state, newest) && newest.live() != 0) {
    WaitForData(context, sweep, source, /*ask=*/false);
    return std::nullopt;
  }
  return fresh;
}

}  // namespace

Digest FingerprintOf(const Digest& specification, std::uint32_t number) {
  if (number == 1) return specification;
  return DigestOfHex(Sha256Hex(absl::StrCat("number ", number, "\n", HexOf(specification))));
}

std::optional<TrainingChoice> ChooseTraining(Context& context, Sweep& sweep, ExpandedTrial& trial) {
  const std::optional<DataId> evaluation = BindEvaluation(context, sweep, trial);
  if (!evaluation) return std::nullopt;
  std::optional<TrainingChoice> choice = ChooseKnown(context, sweep, trial);
  if (choice) choice->evaluation_data = *evaluation;
  return choice;
}

std::string LikelyTraining(const State& state, const StagePart& train) {
  const std::vector<const Stage*> stages = StagesOf(state, DigestOfHex(train.fingerprint));
  return stages.empty() ? "" : HexOf(stages.back()->fingerprint);
}

bool HasKnownResult(const State& state, const ExpandedTrial& trial) {
  if (!trial.problem.ok() || trial.train == nullptr) return false;
  const std::vector<const Stage*> stages = StagesOf(state, DigestOfHex(trial.train->fingerprint));
  if (stages.empty() || stages.back()->IsFreed()) return false;
  if (stages.back()->state == v1::DIVERGED) return true;
  const auto number = static_cast<std::uint32_t>(stages.size());
  const Stage* evaluate = state.stages.Find(FingerprintOf(DigestOfHex(trial.evaluate.fingerprint), number));
  return evaluate != nullptr && IsResult(evaluate->state);
}

}  // namespace inlier
