#include "cli/connection/stored_state.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/files/descriptor.h"
#include "base/processes/end_with_parent.h"
#include "base/status.h"
#include "cli/connection/local_mode.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

// Runs `program --show-stored dir` with `out` as its standard output. It ends with this process.
absl::StatusOr<pid_t> Spawn(const std::string& program, const std::string& dir, int out) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return ErrnoStatus("fork");
  if (child > 0) return child;
  ::setpgid(0, 0);  // Ctrl-C is for `inlier`, whose end is the child's.
  EndWithParent(parent, SIGTERM);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::execl(program.c_str(), program.c_str(), "--show-stored", dir.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

// The first line of a pipe, or what there is of it at its end.
std::string ReadLine(int descriptor) {
  std::string line;
  for (char c = 0;;) {
    const ssize_t size = ::read(descriptor, &c, 1);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0 || c == '\n') return line;
    line += c;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoredState>> StoredState::Open(const std::filesystem::path& dir) {
  const std::string program = (ProgramFolder() / "inlier-coordinator").string();
  if (::access(program.c_str(), X_OK) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("the program ", program, ", which reads ", dir.string(),
                                                      ", is not there; build it with `make build`"));
  }
  FdPair pipe;
  if (!pipe.Open()) return ErrnoStatus("no pipe");
  ASSIGN_OR_RETURN(const pid_t child, Spawn(program, dir.string(), pipe.write));
  pipe.CloseWrite();
  std::unique_ptr<StoredState> state(new StoredState(child));
  const std::string line = ReadLine(pipe.read);
  const auto answer = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (answer.is_object() && answer.contains("grpc")) {
    state->address_ = answer.value("grpc", "");
    state->token_ = answer.value("token", "");
    return state;
  }
  if (answer.is_object())
    return absl::Status(static_cast<absl::StatusCode>(answer.value("code", 13)), answer.value("message", ""));
  return absl::InternalError(absl::StrCat(program, " ended before it could read ", dir.string(),
                                          "; inlier doctor --dir ", dir.string(), " examines the folder"));
}

StoredState::~StoredState() {
  ::kill(child_, SIGTERM);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace inlier
