#include "cli/programs/sampler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/processes/end_with_parent.h"
#include "base/processes/null_terminated.h"
#include "base/status.h"
#include "cli/programs/python_module.h"

namespace inlier {
namespace {

constexpr int kStartsAgainMax = 20;  // What is killed each time must not be started for ever.

// Its last line, without "error: ".
std::string LastLine(const std::filesystem::path& log) {
  std::string text = ReadFile(log).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text = text.substr(text.rfind('\n') + 1);
  return text.starts_with("error: ") ? text.substr(7) : text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> Sampler::Start(std::vector<std::string> arguments,
                                                        std::filesystem::path log) {
  auto sampler = std::unique_ptr<Sampler>(new Sampler(std::move(arguments), std::move(log)));
  RETURN_IF_ERROR(sampler->Spawn());
  return sampler;
}

absl::Status Sampler::Spawn() {
  const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return ErrnoStatus(absl::StrCat("opening ", log_.string()));
  const std::vector<std::string> command = PythonCommand(kOptimizeModule, arguments_);
  const std::vector<char*> argv = NullTerminated(command);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);  // Ctrl-C goes to `inlier` alone.
    EndWithParent(parent, SIGTERM);
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  const absl::Status forked = pid_ < 0 ? ErrnoStatus("fork") : absl::OkStatus();
  ::close(log);
  return forked;
}

absl::Status Sampler::Poll() {
  int status = 0;
  if (pid_ < 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return absl::OkStatus();
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    if (++killed_ <= kStartsAgainMax) return Spawn();
    return absl::FailedPreconditionError(
        absl::StrCat("the sampler was killed ", killed_, " times, at last by signal ", WTERMSIG(status),
                     ", and the sweep keeps its points; its log is ", log_.string()));
  }
  if (WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WEXITSTATUS(status) == 127) return NoPython(kOptimizeModule);
  return absl::FailedPreconditionError(
      absl::StrCat("the sampler has ended, and the sweep keeps its points: ", LastLine(log_)));
}

Sampler::~Sampler() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);  // It has nothing to save.
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace inlier
