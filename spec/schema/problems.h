// Problems of a spec: all of them at once, each with the path of its field.
#ifndef INLIER_SPEC_SCHEMA_PROBLEMS_H_
#define INLIER_SPEC_SCHEMA_PROBLEMS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace inlier {

// One mistake. `text` names the value and the remedy.
struct Problem {
  std::string path;  // "training.steps", "axes[2].values[0]"; empty for the whole.
  std::string text;
};

// Collects at most kKept problems and counts the rest.
class Problems {
 public:
  static constexpr std::size_t kKept = 20;

  void Add(std::string path, std::string text) {
    if (kept_.size() < kKept) kept_.push_back({std::move(path), std::move(text)});
    ++count_;
  }
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  const std::vector<Problem>& kept() const { return kept_; }

  // OK when empty, else InvalidArgument with a line `path: text` for each and `<before>... and 3 more` at the end.
  absl::Status ToStatus(const std::string& before = "") const;

 private:
  std::vector<Problem> kept_;
  std::size_t count_ = 0;
};

// "a.b" + "c" -> "a.b.c"; an empty prefix adds no dot.
inline std::string JoinPath(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// "axes[2]".
template <typename Index>
std::string ItemPath(const std::string& list, Index index) {
  return list + "[" + std::to_string(index) + "]";
}

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_PROBLEMS_H_
