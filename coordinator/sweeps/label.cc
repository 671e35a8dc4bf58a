#include "coordinator/sweeps/label.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

constexpr std::size_t kTagBytesMax = 64;
constexpr std::size_t kTagsMax = 32;

absl::Status CheckTag(const std::string& tag) {
  const bool fits =
      !tag.empty() && tag.size() <= kTagBytesMax && tag[0] != '+' && tag[0] != '-' &&
      std::ranges::none_of(tag, [](unsigned char c) { return c <= ' ' || c == ',' || c == 127; });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", tag, "' cannot be a tag: use 1 to ", kTagBytesMax,
                   " bytes without spaces and commas, and neither + nor - first"));
}

// The tags of `order` with the additions and removals of the request.
absl::Status ChangeTags(const v1::LabelSweepRequest& request, SweepOrder& order) {
  std::set<std::string> tags(order.tags.begin(), order.tags.end());
  for (const std::string& tag : request.add_tags()) {
    RETURN_IF_ERROR(CheckTag(tag));
    tags.insert(tag);
  }
  for (const std::string& tag : request.remove_tags()) tags.erase(tag);
  if (tags.size() > kTagsMax) {
    return absl::InvalidArgumentError(absl::StrCat("the sweep would have ", tags.size(), " tags; at most ",
                                                   kTagsMax, " are kept; take others off"));
  }
  order.tags = {tags.begin(), tags.end()};
  return absl::OkStatus();
}

}  // namespace

void CommitOrder(Context& context, Sweep& sweep) {
  ++sweep.version;
  context.out.changes.Add(SweepLabelled{.id = sweep.id, .name = sweep.spec.name(), .order = sweep.order});
}

absl::StatusOr<v1::LabelSweepResponse> LabelSweep(Context& context, const v1::LabelSweepRequest& request,
                                                  const Caller& caller) {
  State& state = context.state;
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller.name));
  Sweep& sweep = state.sweeps.at(id);
  SweepOrder order = sweep.order;
  if (request.has_archived()) order.archived = request.archived();
  if (request.has_note()) order.note = request.note();
  RETURN_IF_ERROR(ChangeTags(request, order));
  const std::string before = sweep.spec.name();
  const std::string name = request.has_name() ? request.name() : before;
  if (name != before) RETURN_IF_ERROR(CheckSweepName(name));
  v1::LabelSweepResponse response;
  response.set_sweep_id(id.ToString());
  response.set_changed(name != before || order != sweep.order);
  response.set_name(name);
  *response.mutable_tags() = {order.tags.begin(), order.tags.end()};
  if (!response.changed()) return response;
  sweep.order = std::move(order);
  if (name != before) {
    sweep.spec.set_name(name);
    state.sweeps.FindAgain(before, sweep.owner);
    state.sweeps.FindAgain(name, sweep.owner);
    Notice(context, sweep, "sweep_renamed",
           absl::StrCat("the sweep was renamed, from ", before, " to ", name));
  }
  CommitOrder(context, sweep);
  return response;
}

}  // namespace inlier
