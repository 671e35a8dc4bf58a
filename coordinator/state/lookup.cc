#include "coordinator/state/lookup.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/store/not_found.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
absl::StatusOr<SweepId> FindSweep(const State& state, const std::string& id_or_name) {
  if (const std::optional<SweepId> id = SweepId::Parse(id_or_name)) {
    if (state.sweeps.contains(*id)) return *id;
  }
  if (const std::optional<SweepId> id = state.sweeps.FindNewest(id_or_name)) return *id;
  return NoSuchSweep(id_or_name, state.sweeps.NewestNames(kNamesCompared));
}

absl::StatusOr<TrialId> FindTrial(const State& state, const std::string& id) {
  const std::optional<TrialId> trial = TrialId::Parse(id);
  if (trial && state.trials.contains(*trial)) return *trial;
  return NoSuchTrial(id);
}

absl::StatusOr<std::string> FindWorker(const State& state, const std::string& name) {
  if (state.workers.Find(name) != nullptr) return name;
  std::vector<std::string> connected, lost, names;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    names.push_back(worker.name);
    if (worker.name == name) (worker.connected ? connected : lost).push_back(incarnation);
  }
  const std::vector<std::string>& found = connected.empty() ? lost : connected;
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no worker \"", name, "\"", DidYouMean(name, names),
                                            "; ListWorkers (inlier workers) shows all"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(found.size(), " workers are called ", name,
                   "; name one by its incarnation: ", absl::StrJoin(found, ", ")));
}

}  // namespace inlier
