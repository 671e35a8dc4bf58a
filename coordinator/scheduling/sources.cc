#include "coordinator/scheduling/sources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

// Zero: there is none.
TrialId FirstTrialOf(const State& state, const Stage& source) {
  for (const TrialId id : source.DependentTrials()) {
    if (state.trials.at(id).train == source.id) return id;
  }
  for (const SweepId sweep : source.sweeps) {
    const auto& trials = state.sweeps.at(sweep).trials;
    const auto at =
        std::ranges::find_if(trials, [&](TrialId id) { return state.trials.at(id).train == source.id; });
    if (at != trials.end()) return *at;
  }
  return TrialId();
}

}  // namespace

absl::InlinedVector<StageId, 2> OpenSources(const State& state, const Stage& train) {
  absl::InlinedVector<StageId, 2> sources;
  const Stage* stage = &train;
  while (stage->state != v1::SUCCEEDED && stage->start) {
    stage = &state.stages.at(stage->start);
    if (stage->state != v1::SUCCEEDED) sources.push_back(stage->id);
  }
  return sources;
}

std::string SourceText(const State& state, const Stage& source) {
  const TrialId trial = FirstTrialOf(state, source);
  return absl::StrCat(trial ? absl::StrCat("the training of ", trial.ToString()) : source.id.ToString(),
                      ", which its start_from names");
}

}  // namespace inlier
