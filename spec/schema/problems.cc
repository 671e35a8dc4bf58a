#include "spec/schema/problems.h"

namespace inlier {

absl::Status Problems::ToStatus(const std::string& before) const {
  if (empty()) return absl::OkStatus();
  std::string text;
  for (const Problem& problem : kept_) {
    if (!text.empty()) text += "\n";
    text += problem.path.empty() ? problem.text : problem.path + ": " + problem.text;
  }
  if (count_ > kept_.size())
    text += "\n" + before + "... and " + std::to_string(count_ - kept_.size()) + " more";
  return absl::InvalidArgumentError(text);
}

}  // namespace inlier
