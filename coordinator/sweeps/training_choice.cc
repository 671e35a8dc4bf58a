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

}  // namespace

Digest FingerprintOf(const Digest& specification, std::uint32_t number) {
  if (number == 1) return specification;
  return DigestOfHex(Sha256Hex(absl::StrCat("number ", number, "\n", HexOf(specification))));
}

std::optional<TrainingChoice> ChooseTraining(Context& context, Sweep& sweep, const StagePart& train) {
  State& state = context.state;
  const std::vector<const Stage*> stages = StagesOf(state, DigestOfHex(train.fingerprint));
  const auto number_at = [&](auto at) { return static_cast<std::uint32_t>(stages.rend() - at); };
  for (auto at = stages.rbegin(); at != stages.rend(); ++at) {
    if ((*at)->HasSweep(sweep.id)) return TrainingChoice{.number = number_at(at)};
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
  if (stages.empty()) return fresh;
  const Stage& newest = *stages.back();
  // It could not start, and never will.
  if (newest.state == v1::DIVERGED && !ExpectedData(state, newest))
    return TrainingChoice{.number = fresh.number - 1};
  const bool untouched = !ExpectedData(state, newest) && newest.live() == 0 && !IsResult(newest.state);
  if (sweep.again && !untouched) return fresh;
  for (auto at = stages.rbegin(); data && !sweep.again && at != stages.rend(); ++at) {
    if (ExpectedData(state, **at) == data) return TrainingChoice{.number = number_at(at)};
  }
  if (untouched) return TrainingChoice{.number = fresh.number - 1};
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

std::string LikelyTraining(const State& state, const StagePart& train) {
  const std::vector<const Stage*> stages = StagesOf(state, DigestOfHex(train.fingerprint));
  return stages.empty() ? "" : HexOf(stages.back()->fingerprint);
}

bool HasKnownResult(const State& state, const ExpandedTrial& trial) {
  if (!trial.problem.ok() || trial.train == nullptr) return false;
  const std::vector<const Stage*> stages = StagesOf(state, DigestOfHex(trial.train->fingerprint));
  if (stages.empty()) return false;
  if (stages.back()->state == v1::DIVERGED) return true;
  const auto number = static_cast<std::uint32_t>(stages.size());
  const Stage* evaluate = state.stages.Find(FingerprintOf(DigestOfHex(trial.evaluate.fingerprint), number));
  return evaluate != nullptr && IsResult(evaluate->state);
}

}  // namespace inlier
