#include "coordinator/state/lookup.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/store/not_found.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {

absl::StatusOr<SweepId> FindSweep(const State& state, const std::string& id_or_name,
                                  const std::string& caller) {
  if (const std::optional<SweepId> id = SweepId::Parse(id_or_name)) {
    if (state.sweeps.contains(*id)) {
      const SweepOrder& order = state.sweeps.at(*id).order;
      if (!order.removed) return *id;
      return WasRemoved(id_or_name, id_or_name, order.freed);
    }
  }
  if (const std::optional<SweepId> id = state.sweeps.FindNewest(id_or_name, caller)) return *id;
  return NoSuchSweep(id_or_name, state.sweeps.NewestNames(kNamesCompared));
}

std::optional<SweepId> FindAnySweep(const State& state, const std::string& id_or_name,
                                    const std::string& caller) {
  if (const absl::StatusOr<SweepId> found = FindSweep(state, id_or_name, caller); found.ok()) return *found;
  const std::optional<SweepId> id = SweepId::Parse(id_or_name);
  return id && state.sweeps.contains(*id) ? id : std::nullopt;
}

absl::StatusOr<SweepId> FindRemovedSweep(const State& state, const std::string& id_or_name,
                                         const std::string& caller) {
  const std::optional<SweepId> id = SweepId::Parse(id_or_name);
  if (id && state.sweeps.contains(*id) && state.sweeps.at(*id).order.removed) return *id;
  if (const std::optional<SweepId> named = state.sweeps.FindRemoved(id_or_name, caller)) return *named;
  return FindSweep(state, id_or_name, caller);
}

std::string NoteOnName(const State& state, const std::string& id_or_name, const std::string& caller,
                       bool may_own) {
  const auto* const by_owner = state.sweeps.NewestByOwner(id_or_name);
  if (by_owner == nullptr) return "";
  const absl::StatusOr<SweepId> meant = FindSweep(state, id_or_name, caller);
  if (!meant.ok() || state.sweeps.at(*meant).spec.name() != id_or_name) return "";
  const std::string& owner = state.sweeps.at(*meant).owner;
  const bool foreign = may_own && !caller.empty() && !owner.empty() && owner != caller;
  if (by_owner->size() == 1 && !foreign) return "";
  std::vector<std::string> others;
  for (const auto& [other, id] : *by_owner) {
    if (other != owner)
      others.push_back(absl::StrCat(id.ToString(), " of ", other.empty() ? "no owner" : other));
  }
  constexpr std::size_t kOwnersListed = 3;
  const std::size_t more = others.size() - std::min(others.size(), kOwnersListed);
  others.resize(others.size() - more);
  return absl::StrCat("\"", id_or_name, "\" is ", meant->ToString(), " of ",
                      owner.empty() ? "no owner" : owner, others.empty() ? "" : "; there are also ",
                      absl::StrJoin(others, ", "), more == 0 ? "" : absl::StrCat(" and ", more, " more"),
                      others.empty() ? "" : ": name one of them by its id");
}

absl::StatusOr<TrialId> FindTrial(const State& state, const std::string& id) {
  const std::optional<TrialId> trial = TrialId::Parse(id);
  if (!trial || !state.trials.contains(*trial)) return NoSuchTrial(id);
  const Sweep& sweep = state.sweeps.at(state.trials.at(*trial).sweep);
  if (!sweep.order.removed) return *trial;
  return WasRemoved(id, sweep.id.ToString(), sweep.order.freed);
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
                                            "; `inlier workers` shows all"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(found.size(), " workers are called ", name,
                   "; name one by its incarnation: ", absl::StrJoin(found, ", ")));
}

}  // namespace inlier
