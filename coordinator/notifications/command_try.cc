#include "coordinator/notifications/command_try.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"
#include "base/status.h"
#include "coordinator/notifications/hook_check.h"
#include "coordinator/store/hook_key.h"

namespace inlier {
namespace {

constexpr int kLookEveryMs = 20;
constexpr std::size_t kOutputBytesMax = 2000;

// A file without a name that holds the text, at its beginning.
absl::Status WriteInput(const std::string& text, Descriptor& input) {
  input = Descriptor(::memfd_create("notification", MFD_CLOEXEC));
  std::size_t written = 0;
  while (input.fd() >= 0 && written < text.size()) {
    const ssize_t n = ::write(input.fd(), text.data() + written, text.size() - written);
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  if (written < text.size() || ::lseek(input.fd(), 0, SEEK_SET) != 0)
    return ErrnoStatus("cannot make the input of the command");
  return absl::OkStatus();
}

absl::StatusOr<pid_t> Spawn(const std::string& program, const Notification& notification, int input,
                            int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  ::posix_spawn_file_actions_addchdir_np(&actions, "/");
  sigset_t every, none;
  ::sigfillset(&every);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &every);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const char* home = std::getenv("HOME");
  std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
      absl::StrCat("HOME=", home == nullptr ? "/" : home), absl::StrCat("INLIER_EVENT=", notification.event),
      absl::StrCat("INLIER_DELIVERY=", NotificationId(notification.number, notification.at))};
  std::vector<char*> variables;
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  std::string name = program;
  const std::array<char*, 2> arguments = {name.data(), nullptr};
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  errno = error;
  return ErrnoStatus(absl::StrCat("cannot start ", program));
}

// Appends what can be read, and keeps its end.
void ReadOutput(int descriptor, std::string& output) {
  std::array<char, 4096> bytes;
  ssize_t n = 0;
  // A bounded part at once: a program may write without an end.
  for (int i = 0; i < 64 && (n = ::read(descriptor, bytes.data(), bytes.size())) > 0; ++i) {
    output.append(bytes.data(), static_cast<std::size_t>(n));
    if (output.size() > kOutputBytesMax) output.erase(0, output.size() - kOutputBytesMax);
  }
}

// The status of waitpid(2) once it has ended; nullopt: its group was killed.
std::optional<int> WaitFor(pid_t pid, int output_end, Duration limit, const MustStop& must_stop,
                           std::string& output) {
  const Timestamp deadline = MonotonicNow() + limit;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    ReadOutput(output_end, output);
    if (ended == pid) return status;
    if (MonotonicNow() >= deadline || must_stop()) break;
    pollfd look{output_end, POLLIN, 0};
    // At its end the output is always readable: the pause is then a sleep.
    if (::poll(&look, 1, kLookEveryMs) > 0 && (look.revents & POLLHUP) != 0) ::usleep(kLookEveryMs * 1000);
  }
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

}  // namespace

TryOutcome RunCommand(const v1::HookConfig& hook, const Notification& notification, const MustStop& must_stop,
                      std::string& output) {
  const auto failed = [](const absl::Status& status) {
    return TryOutcome{.error = std::string(status.message())};
  };
  if (const absl::Status status = CheckCommand(hook.command()); !status.ok()) return failed(status);
  Descriptor input;
  if (const absl::Status status = WriteInput(notification.body, input); !status.ok()) return failed(status);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed(ErrnoStatus("cannot make a pipe for the command"));
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  ::fcntl(read_end.fd(), F_SETFL, O_NONBLOCK);
  const absl::StatusOr<pid_t> pid = Spawn(hook.command(), notification, input.fd(), write_end.fd());
  if (!pid.ok()) return failed(pid.status());
  write_end.Close();
  const std::optional<int> status =
      WaitFor(*pid, read_end.fd(), std::chrono::seconds(hook.timeout_seconds()), must_stop, output);
  if (!status)
    return {.error = absl::StrCat("it did not end within ", hook.timeout_seconds(), " s and was killed")};
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {.kind = TryOutcome::Kind::kTaken};
  return {.kind = TryOutcome::Kind::kRefused,
          .error = WIFEXITED(*status) ? absl::StrCat("it ended with status ", WEXITSTATUS(*status))
                                      : absl::StrCat("it was ended by signal ", WTERMSIG(*status))};
}

}  // namespace inlier
