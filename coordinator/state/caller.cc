#include "coordinator/state/caller.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/state/lookup.h"

namespace inlier {
namespace {

absl::Status CheckOwnerOf(const State& state, const Caller& caller, SweepId id) {
  const Sweep& sweep = state.sweeps.at(id);
  if (MayChange(caller, sweep) || INLIER_BUG("sweep_of_another_changed")) return absl::OkStatus();
  const std::string whose = sweep.owner.empty()
                                ? "was submitted while callers were not checked, so it has no owner"
                                : absl::StrCat("belongs to ", sweep.owner);
  return absl::PermissionDeniedError(absl::StrCat("sweep ", id.ToString(), " (", sweep.spec.name(), ") ",
                                                  whose, ", and ", caller.name, " is no admin; ask ",
                                                  sweep.owner.empty() ? "" : "its owner or ", "an admin"));
}

absl::Status Beyond(const Caller& caller, const std::string& what, const std::string& remedy) {
  return absl::PermissionDeniedError(
      absl::StrCat(what, " (the coordinator's limits for ", caller.name, "); ", remedy, ", or ask an admin"));
}

absl::Status CheckGroup(const Caller& caller, const v1::CallerLimits& limits, const std::string& group) {
  const auto& groups = limits.groups();
  if (groups.empty() || std::find(groups.begin(), groups.end(), group) != groups.end())
    return absl::OkStatus();
  const std::string names = absl::StrJoin(groups, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, name.empty() ? "none" : name);
  });
  return Beyond(
      caller,
      absl::StrCat("group: ", group.empty() ? "a sweep without a group" : absl::StrCat("'", group, "'"),
                   " is not one of ", names),
      absl::StrCat("set group to one of ", names));
}

}  // namespace

bool MayChange(const Caller& caller, const Sweep& sweep) {
  return caller.admin || sweep.owner == caller.name;
}

absl::Status CheckOwnerOfSweep(const State& state, const Caller& caller, const std::string& name) {
  const absl::StatusOr<SweepId> id = FindSweep(state, name, caller.name);
  return id.ok() ? CheckOwnerOf(state, caller, *id) : absl::OkStatus();
}

absl::Status CheckOwnerOfTrial(const State& state, const Caller& caller, const std::string& name) {
  const absl::StatusOr<TrialId> id = FindTrial(state, name);
  return id.ok() ? CheckOwnerOf(state, caller, state.trials.at(*id).sweep) : absl::OkStatus();
}

absl::Status CheckCallerLimits(const State& state, const Caller& caller, const v1::SweepSpec& spec,
                               const v1::SweepSpec* before) {
  const v1::CallerLimits* limits = state.options.LimitsOf(caller.name);
  if (caller.admin || limits == nullptr) return absl::OkStatus();
  if (before == nullptr || before->group() != spec.group())
    RETURN_IF_ERROR(CheckGroup(caller, *limits, spec.group()));
  const bool new_priority = before == nullptr || before->priority() != spec.priority();
  if (new_priority && limits->has_priority_max() && spec.priority() > limits->priority_max()) {
    return Beyond(
        caller,
        absl::StrCat("priority: ", spec.priority(), " is above the maximum of ", limits->priority_max()),
        absl::StrCat("set priority to at most ", limits->priority_max()));
  }
  const bool new_weight = before == nullptr || before->weight() != spec.weight();
  if (new_weight && limits->has_weight_max() && spec.weight() > limits->weight_max()) {
    return Beyond(caller,
                  absl::StrCat("weight: ", spec.weight(), " is above the maximum of ", limits->weight_max()),
                  absl::StrCat("set weight to at most ", limits->weight_max()));
  }
  return absl::OkStatus();
}

}  // namespace inlier
