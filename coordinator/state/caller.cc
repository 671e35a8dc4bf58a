#include "coordinator/state/caller.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/deliberate_bug.h"
#include "base/status.h"

namespace inlier {
namespace {

absl::Status Beyond(const Caller& caller, const std::string& what, const std::string& remedy) {
  return absl::PermissionDeniedError(
      absl::StrCat(what, " (the coordinator's limits for ", caller.name, "); ", remedy, ", or ask an admin"));
}

absl::Status CheckGroup(const Caller& caller, const v1::CallerLimits& limits, const std::string& group) {
  const auto& groups = limits.groups();
  if (groups.empty() || std::ranges::find(groups, group) != groups.end()) return absl::OkStatus();
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

absl::Status CheckMayChange(const State& state, const Caller& caller, SweepId id) {
  const Sweep& sweep = state.sweeps.at(id);
  if (MayChange(caller, sweep) || INLIER_BUG("sweep_of_another_changed")) return absl::OkStatus();
  const std::string whose = sweep.owner.empty()
                                ? "was submitted while callers were not checked, so it has no owner"
                                : absl::StrCat("belongs to ", sweep.owner);
  return absl::PermissionDeniedError(absl::StrCat("sweep ", id.ToString(), " (", sweep.spec.name(), ") ",
                                                  whose, ", and ", caller.name, " is not an admin; ask ",
                                                  sweep.owner.empty() ? "" : "its owner or ", "an admin"));
}

absl::Status CheckCallerLimits(const State& state, const Caller& caller, const v1::SweepSpec& spec,
                               const v1::SweepSpec* before) {
  const v1::CallerLimits* limits = state.options.LimitsOf(caller.name);
  if (caller.admin || limits == nullptr) return absl::OkStatus();
  if (before == nullptr || before->group() != spec.group())
    RETURN_IF_ERROR(CheckGroup(caller, *limits, spec.group()));
  const auto above = [&](const char* field, auto value, auto max) {
    return Beyond(caller, absl::StrCat(field, ": ", value, " is above the maximum of ", max),
                  absl::StrCat("set ", field, " to at most ", max));
  };
  const bool new_priority = before == nullptr || before->priority() != spec.priority();
  if (new_priority && limits->has_priority_max() && spec.priority() > limits->priority_max())
    return above("priority", spec.priority(), limits->priority_max());
  const bool new_weight = before == nullptr || before->weight() != spec.weight();
  if (new_weight && limits->has_weight_max() && spec.weight() > limits->weight_max())
    return above("weight", spec.weight(), limits->weight_max());
  return absl::OkStatus();
}

}  // namespace inlier
