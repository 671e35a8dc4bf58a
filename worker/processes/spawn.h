// A new process: fork and exec of a command, with its descriptors set up and everything else closed.
//
// Thread safety: the child dies with the thread that spawned it (PR_SET_PDEATHSIG), so that is the worker's main thread.
#ifndef INLIER_WORKER_PROCESSES_SPAWN_H_
#define INLIER_WORKER_PROCESSES_SPAWN_H_

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <utility>
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

// Both ends of a pipe, closed with it.
struct FdPair {
  int read = -1, write = -1;
  FdPair() = default;
  FdPair(const FdPair&) = delete;
  FdPair& operator=(const FdPair&) = delete;
  ~FdPair() {
    CloseRead();
    CloseWrite();
  }
  bool Open() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) return false;
    read = fds[0];
    write = fds[1];
    return true;
  }
  void CloseRead() { Close(read); }
  void CloseWrite() { Close(write); }
  int ReleaseRead() { return std::exchange(read, -1); }
  int ReleaseWrite() { return std::exchange(write, -1); }

 private:
  static void Close(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
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
