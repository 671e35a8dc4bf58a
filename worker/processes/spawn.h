// A new process: fork and exec of a command, with its descriptors set up and everything else closed.
//
// Thread safety: the child dies with the thread that spawned it (PR_SET_PDEATHSIG), so that is the worker's main thread.
#ifndef INLIER_WORKER_PROCESSES_SPAWN_H_
#define INLIER_WORKER_PROCESSES_SPAWN_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

struct Command {
  std::string program;
  std::vector<std::string> arguments;    // Without the program's name.
  std::vector<std::string> environment;  // "NAME=value"; the whole of it.
  std::string working_folder;
  bool has_input = false;  // A pipe for Send, in place of /dev/null.
  // It runs a script on another machine (worker/machines/launch.h): all that reaches the script is the input. The child
  // outlives this process until it has passed on the input's end.
  bool elsewhere = false;
};

struct Spawned {
  pid_t pid = -1;
  int pidfd = -1;
};

// Input, events (descriptor 3) and output (stdout and stderr) of the child are these, which stay the caller's; without an
// input (-1) it is /dev/null. An error names the step that failed, and the program.
absl::StatusOr<Spawned> Spawn(const Command& command, int input_fd, int events_fd, int output_fd);

}  // namespace inlier

#endif  // INLIER_WORKER_PROCESSES_SPAWN_H_
