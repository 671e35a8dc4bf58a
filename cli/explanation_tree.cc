#include "cli/explanation_tree.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/output.h"

namespace inlier {
namespace {

void Append(const v1::Explanation& node, const std::string& indent, std::string& out) {
  const std::string text = Shown(node.text(), Layout::kLines);
  // Lines of the text stay right of the tree.
  absl::StrAppend(&out, absl::StrReplaceAll(text, {{"\n", absl::StrCat("\n", indent, "  ")}}),
                  node.state().empty() ? "" : absl::StrCat(": ", Shown(node.state(), Layout::kCell)), "\n");
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
