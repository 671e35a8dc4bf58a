#include "worker/processes/spawn.h"

#include <linux/close_range.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/files/descriptor.h"
#include "base/processes/end_with_parent.h"
#include "base/processes/null_terminated.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr int kEventDescriptor = 3;

// The data of the child between fork and exec. It is made before the fork, so that the child makes only calls
// that are safe after a fork of a process with threads.
struct Prepared {
  std::vector<char*> arguments, environment;
  const char* folder = nullptr;
  pid_t parent = 0;
  bool elsewhere = false;
  int input_fd = -1, events_fd = -1, output_fd = -1, failure_fd = -1;
};

enum Step : int { kFolder = 1, kDescriptors, kExec };

[[noreturn]] void FailInChild(const Prepared& prepared, Step step) {
  const int report[2] = {step, errno};
  [[maybe_unused]] const ssize_t written = ::write(prepared.failure_fd, report, sizeof(report));
  ::_exit(127);
}

[[noreturn]] void RunChild(const Prepared& prepared) {
  ::setpgid(0, 0);
  EndWithParent(prepared.parent, prepared.elsewhere ? 0 : SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(score, "500", 3);
    ::close(score);
  }
  if (::chdir(prepared.folder) != 0) FailInChild(prepared, kFolder);
  // All sources are above the targets (Start made sure), so no dup2 destroys one that is still needed.
  if (::dup2(prepared.input_fd, 0) < 0 || ::dup2(prepared.output_fd, 1) < 0 ||
      ::dup2(prepared.output_fd, 2) < 0 || ::dup2(prepared.events_fd, kEventDescriptor) < 0) {
    FailInChild(prepared, kDescriptors);
  }
  // The failure pipe must stay until exec: everything else above 3 is closed by it.
  ::syscall(SYS_close_range, static_cast<unsigned>(kEventDescriptor + 1), ~0U, CLOSE_RANGE_CLOEXEC);
  ::execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  FailInChild(prepared, kExec);
}

// A copy of `fd` numbered above the descriptors that the child sets up.
int MoveUp(int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, 16); }

absl::Status StepFailed(int step, int error, const Command& command) {
  errno = error;
  switch (step) {
    case kFolder:
      return ErrnoStatus(absl::StrCat("cannot enter the folder ", command.working_folder));
    case kExec:
      return ErrnoStatus(absl::StrCat("cannot execute ", command.program));
    default:
      return ErrnoStatus(absl::StrCat("cannot set up the descriptors of ", command.program));
  }
}

}  // namespace

absl::StatusOr<Spawned> Spawn(const Command& command, int input_fd, int events_fd, int output_fd) {
  std::vector<std::string> arguments = {command.program};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  Prepared prepared;
  prepared.arguments = NullTerminated(arguments);
  prepared.environment = NullTerminated(command.environment);
  prepared.folder = command.working_folder.c_str();
  prepared.parent = ::getpid();
  prepared.elsewhere = command.elsewhere;
  FdPair failure;
  const int null_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const bool opened = failure.Open() && null_fd >= 0;
  prepared.input_fd = MoveUp(input_fd >= 0 ? input_fd : null_fd);
  prepared.events_fd = MoveUp(events_fd);
  prepared.output_fd = MoveUp(output_fd);
  prepared.failure_fd = MoveUp(failure.write);
  if (null_fd >= 0) ::close(null_fd);
  failure.CloseWrite();
  Spawned spawned;
  int fork_error = errno;
  if (opened && prepared.input_fd >= 0 && prepared.events_fd >= 0 && prepared.output_fd >= 0 &&
      prepared.failure_fd >= 0) {
    spawned.pid = ::fork();
    if (spawned.pid == 0) RunChild(prepared);
    fork_error = errno;
  }
  for (const int fd : {prepared.input_fd, prepared.events_fd, prepared.output_fd, prepared.failure_fd}) {
    if (fd >= 0) ::close(fd);
  }
  if (spawned.pid < 0) {
    errno = fork_error;
    return ErrnoStatus(absl::StrCat("cannot start ", command.program));
  }
  ::setpgid(spawned.pid, spawned.pid);  // Both sides set it, so that neither sees it unset.
  int report[2] = {0, 0};
  ssize_t got = 0;
  do {
    got = ::read(failure.read, report, sizeof(report));
  } while (got < 0 && errno == EINTR);
  if (got == sizeof(report)) {
    ::waitpid(spawned.pid, nullptr, 0);
    return StepFailed(report[0], report[1], command);
  }
  spawned.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, spawned.pid, 0));
  if (spawned.pidfd < 0) {
    const absl::Status status =
        ErrnoStatus("cannot watch a child (pidfd_open); Linux 5.3 or newer is needed");
    ::kill(-spawned.pid, SIGKILL);
    ::waitpid(spawned.pid, nullptr, 0);
    return status;
  }
  return spawned;
}

}  // namespace inlier
