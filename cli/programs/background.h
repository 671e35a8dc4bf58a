// A process that continues in the background when it is ready, while the one that was called returns.
//
// Thread safety: none; Enter before any other thread.
#ifndef INLIER_CLI_PROGRAMS_BACKGROUND_H_
#define INLIER_CLI_PROGRAMS_BACKGROUND_H_

#include <filesystem>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

class Background {
 public:
  // Makes the second process, which gets `background` and continues. The first one returns 0 when the second has left, or its
  // exit status; an interrupt of the first ends the second.
  static absl::StatusOr<int> Enter(std::optional<Background>& background);

  // From here on what this process prints goes to `log`, and its starter returns.
  absl::Status Leave(const std::filesystem::path& log) const;

 private:
  explicit Background(int ready) : ready_(ready) {}

  int ready_;  // The starter's pipe; the process has it until it leaves or ends.
};

}  // namespace inlier

#endif  // INLIER_CLI_PROGRAMS_BACKGROUND_H_
