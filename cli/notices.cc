#include "cli/notices.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/output.h"

namespace inlier {
namespace {

bool IsFailure(const std::string& reason) {
  return absl::StartsWith(reason, "FAILED") || absl::StrContains(reason, " FAILED: ");
}

}  // namespace

void Notices::Add(const std::string& notice) {
  Group group{.reason = Shown(notice, Layout::kCell), .trial = "", .count = 1};
  const std::size_t at =
      std::max(group.reason.rfind(" [train t-") + 1, group.reason.rfind(" [evaluate t-") + 1);
  if (at > 0 && absl::EndsWith(group.reason, "]")) {
    group.trial = group.reason.substr(at + 1, group.reason.size() - at - 2);
    group.reason.resize(at - 1);
  }
  const auto same = std::ranges::find_if(groups_, [&group](const Group& other) {
    return other.reason == group.reason && other.trial.empty() == group.trial.empty();
  });
  if (same != groups_.end()) {
    group.count += same->count;
    groups_.erase(same);
  }
  groups_.push_back(std::move(group));
}

std::string Notices::TextOf(const Group& group) {
  std::string text = group.reason;
  if (group.count > 1) absl::StrAppend(&text, " (x ", group.count, ")");
  if (!group.trial.empty()) absl::StrAppend(&text, group.count > 1 ? " [last: " : " [", group.trial, "]");
  return text;
}

std::vector<std::string> Notices::TextsOf(std::optional<bool> failures) const {
  std::vector<std::string> texts;
  for (const Group& group : groups_) {
    if (!failures || IsFailure(group.reason) == *failures) texts.push_back(TextOf(group));
  }
  return texts;
}

std::vector<std::string> Notices::TakeAllBut(std::size_t kept) {
  std::vector<std::string> texts;
  for (; groups_.size() > kept; groups_.pop_front()) texts.push_back(TextOf(groups_.front()));
  return texts;
}

}  // namespace inlier
