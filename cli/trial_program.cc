#include "cli/trial_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/local_mode.h"

namespace inlier {
namespace {

// Reads a pipe to its end, line by line.
void ReadLines(int descriptor, const std::function<void(const std::string&)>& on_line) {
  std::string line;
  char buffer[4096];
  while (true) {
    const ssize_t size = ::read(descriptor, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    for (const char* at = buffer; at < buffer + size; ++at) {
      if (*at != '\n') {
        line += *at;
        continue;
      }
      if (on_line) on_line(line);
      line.clear();
    }
  }
  if (!line.empty() && on_line) on_line(line);
  ::close(descriptor);
}

}  // namespace

absl::Status RunTrialProgram(const std::vector<std::string>& arguments,
                             const std::function<void(const std::string&)>& on_line) {
  const std::string program = (ProgramFolder() / "inlier-trial").string();
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
    return absl::ResourceExhaustedError(absl::StrCat("no pipe: ", std::strerror(errno)));
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return absl::ResourceExhaustedError(absl::StrCat("no process: ", std::strerror(errno)));
  if (child == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  std::string last_error;
  std::thread errors([&] { ReadLines(err[0], [&](const std::string& line) { last_error = line; }); });
  ReadLines(out[0], on_line);
  errors.join();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !std::filesystem::exists(program)) {
    return absl::FailedPreconditionError(
        absl::StrCat(program, ": there is no such program; `make build` builds it with LibTorch"));
  }
  constexpr char kPrefix[] = "inlier-trial: ";
  if (absl::StartsWith(last_error, kPrefix)) last_error = last_error.substr(sizeof(kPrefix) - 1);
  if (WIFSIGNALED(status)) last_error = absl::StrCat("inlier-trial was ended by signal ", WTERMSIG(status));
  return absl::FailedPreconditionError(last_error);
}

}  // namespace inlier
