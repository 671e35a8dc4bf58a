#include "spec/schema/problems.h"

namespace inlier {

absl::Status Problems::ToStatus() const {
  if (empty()) return absl::OkStatus();
  std::string text;
  for (const Problem& problem : kept_) {
    if (!text.empty()) text += "\n";
    text += problem.path.empty() ? problem.text : problem.path + ": " + problem.text;
  }
  if (count_ > kept_.size()) text += "\n... and " + std::to_string(count_ - kept_.size()) + " more";
  return absl::InvalidArgumentError(text);
}

std::string JoinPath(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace inlier
