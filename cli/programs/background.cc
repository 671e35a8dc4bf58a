#include "cli/programs/background.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"

namespace inlier {
namespace {

// The exit status of the first process.
int WaitFor(pid_t child, int ready) {
  constexpr int kPeriodMs = 100;
  pollfd waited{.fd = ready, .events = POLLIN, .revents = 0};
  bool told = false;
  while (::poll(&waited, 1, kPeriodMs) <= 0) {
    if (Interrupted() && !told) ::kill(child, SIGTERM);
    told = Interrupted();
  }
  char byte = 0;
  if (::read(ready, &byte, 1) == 1) return kExitOk;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kExitInternal);
}

}  // namespace

absl::StatusOr<int> Background::Enter(std::optional<Background>& background) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("no pipe");
  const pid_t child = ::fork();
  if (child < 0) return ErrnoStatus("fork");
  ::close(ends[child == 0 ? 0 : 1]);
  if (child > 0) return WaitFor(child, ends[0]);
  ::setsid();
  background.emplace(Background(ends[1]));
  return kExitOk;
}

absl::Status Background::Leave(const std::filesystem::path& log) const {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (out < 0 || in < 0) return ErrnoStatus(absl::StrCat("opening ", log.string()));
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  WriteAll(ready_, "r");
  for (const int descriptor : {in, out, ready_}) ::close(descriptor);
  return absl::OkStatus();
}

}  // namespace inlier
