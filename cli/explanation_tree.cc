#include "cli/explanation_tree.h"

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

void Append(const v1::Explanation& node, const std::string& indent, std::string& out) {
  absl::StrAppend(&out, node.text(), node.state().empty() ? "" : absl::StrCat(": ", node.state()), "\n");
  for (int i = 0; i < node.because_size(); ++i) {
    const bool last = i + 1 == node.because_size();
    absl::StrAppend(&out, indent, last ? "└─ " : "├─ ");
    Append(node.because(i), absl::StrCat(indent, last ? "   " : "│  "), out);
  }
}

}  // namespace

std::string ExplanationTree(const v1::Explanation& explanation) {
  std::string out;
  Append(explanation, "", out);
  return out;
}

}  // namespace inlier
