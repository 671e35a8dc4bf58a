#include "cli/programs/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/descriptor.h"
#include "base/processes/end_with_parent.h"
#include "base/processes/null_terminated.h"
#include "base/processes/usable_cpus.h"

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
}

// This process's environment, with the short spin of base/processes/usable_cpus.h unless it has a policy of its own.
std::vector<char*> ChildEnvironment() {
  static std::string spin = kShortSpin;
  std::vector<char*> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.push_back(*entry);
  if (!HasWaitPolicy()) entries.push_back(spin.data());
  entries.push_back(nullptr);
  return entries;
}

}  // namespace

absl::StatusOr<ChildEnd> RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                                    const std::function<void(const std::string&)>& on_line) {
  FdPair out, err;
  if (!out.Open() || !err.Open())
    return absl::ResourceExhaustedError(absl::StrCat("no pipe: ", std::strerror(errno)));
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  const std::vector<char*> argv = NullTerminated(words);
  const std::vector<char*> environment = ChildEnvironment();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return absl::ResourceExhaustedError(absl::StrCat("no process: ", std::strerror(errno)));
  if (child == 0) {
    EndWithParent(parent, SIGKILL);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out.write, STDOUT_FILENO);
    ::dup2(err.write, STDERR_FILENO);
    ::execvpe(argv[0], argv.data(), environment.data());
    ::_exit(127);
  }
  out.CloseWrite();
  err.CloseWrite();
  ChildEnd end;
  std::thread errors([&] {
    ReadLines(err.read, [&](const std::string& line) {
      if (!line.empty()) end.last_error = line;
    });
  });
  ReadLines(out.read, on_line);
  errors.join();
  while (::waitpid(child, &end.status, 0) < 0 && errno == EINTR) {
  }
  return end;
}

}  // namespace inlier
