// The notices of a sweep as lines: the reason first, then the trial; equal reasons are one line with their number.
//
// Pure. The texts are Shown (output.h).
#ifndef INLIER_CLI_NOTICES_H_
#define INLIER_CLI_NOTICES_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace inlier {

class Notices {
 public:
  // Of "REASON [train t-7 (seed=1)]", as the coordinator writes notices about a trial; any other text is all reason.
  void Add(const std::string& notice);

  // The groups, the oldest first: "FAILED, INVALID_SPEC: no corpus x (x 28) [last: train t-28 (seed=4)]".
  std::vector<std::string> Texts() const { return TextsOf(std::nullopt); }
  // The same of trials that failed, and of all else.
  std::vector<std::string> Failures() const { return TextsOf(true); }
  std::vector<std::string> Others() const { return TextsOf(false); }

  // Removes and returns the oldest groups beyond the latest `kept`.
  std::vector<std::string> TakeAllBut(std::size_t kept);

 private:
  struct Group {
    std::string reason;
    std::string trial;  // The latest one; empty: about no trial.
    std::uint64_t count = 0;
  };
  static std::string TextOf(const Group& group);
  std::vector<std::string> TextsOf(std::optional<bool> failures) const;

  std::deque<Group> groups_;  // By their latest notice.
};

}  // namespace inlier

#endif  // INLIER_CLI_NOTICES_H_
