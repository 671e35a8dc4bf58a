// Runs another program to its end.
//
// Thread safety: safe from any thread.
#ifndef INLIER_CLI_PROGRAMS_CHILD_PROGRAM_H_
#define INLIER_CLI_PROGRAMS_CHILD_PROGRAM_H_

#include <sys/wait.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

struct ChildEnd {
  int status = 0;          // Of waitpid(2); the exit status is 127 where the program could not be started.
  std::string last_error;  // The last line of its standard error that is not empty.

  bool succeeded() const { return status == 0; }
  bool not_started() const { return WIFEXITED(status) && WEXITSTATUS(status) == 127; }
};

// Runs `program` (without "/": one of PATH) with `arguments`, without input, passes every line of its standard output to
// `on_line` (null: dropped) as it comes, and waits for it. It ends with this process. Its threads of OpenMP wait as
// base/processes/usable_cpus.h sets unless the environment has another policy. ResourceExhausted: no pipe or process.
absl::StatusOr<ChildEnd> RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                                    const std::function<void(const std::string&)>& on_line = nullptr);

}  // namespace inlier

#endif  // INLIER_CLI_PROGRAMS_CHILD_PROGRAM_H_
