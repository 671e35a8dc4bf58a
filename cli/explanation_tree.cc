#include "cli/explanation_tree.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/output.h"
#include "cli/sweeps/sweep_text.h"

namespace inlier {
namespace {

// A state in words where it is a sweep's.
std::string StateWord(const std::string& state) {
  v1::SweepState sweep = v1::ACTIVE;
  return v1::SweepState_Parse(state, &sweep) ? SweepStateWord(sweep) : Shown(state, Layout::kCell);
}

// `above`: the state of the node above, which is not repeated.
void Append(const v1::Explanation& node, const std::string& indent, const std::string& above,
            std::string& out) {
  const std::string text = Shown(node.text(), Layout::kLines);
  // Lines of the text stay right of the tree.
  absl::StrAppend(
      &out, absl::StrReplaceAll(text, {{"\n", absl::StrCat("\n", indent, "  ")}}),
      node.state().empty() || node.state() == above ? "" : absl::StrCat(": ", StateWord(node.state())), "\n");
  for (int i = 0; i < node.because_size(); ++i) {
    const bool last = i + 1 == node.because_size();
    absl::StrAppend(&out, indent, last ? "└─ " : "├─ ");
    Append(node.because(i), absl::StrCat(indent, last ? "   " : "│  "),
           node.state().empty() ? above : node.state(), out);
  }
}

}  // namespace

std::string ExplanationTree(const v1::Explanation& explanation) {
  std::string out;
  Append(explanation, "", "", out);
  return out;
}

}  // namespace inlier
