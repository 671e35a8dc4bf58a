#include "base/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/files/descriptor.h"
#include "base/files/file.h"
#include "base/processes/null_terminated.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr int kLookEveryMs = 20;

// OK where the file or folder belongs to root or this user and no other user can write it.
absl::Status CheckOwned(const std::filesystem::path& path, bool folder) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return absl::InvalidArgumentError(absl::StrCat(path.string(), " is not there"));
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), " belongs to another user (uid ",
                                                   info.st_uid, "), who could change what runs: chown ",
                                                   ::geteuid(), " ", path.string()));
  }
  if (folder && (info.st_mode & S_ISVTX) != 0)
    return absl::OkStatus();  // As /tmp: others cannot rename what is not theirs.
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), " is writable by other users, who could change what runs: chmod go-w ",
                     path.string()));
  }
  return absl::OkStatus();
}

// Makes `input` an unnamed file with the text, at its beginning.
absl::Status WriteInput(const std::string& text, Descriptor& input) {
  input = Descriptor(::memfd_create("input", MFD_CLOEXEC));
  if (input.fd() < 0 || !WriteAll(input.fd(), text) || ::lseek(input.fd(), 0, SEEK_SET) != 0)
    return ErrnoStatus("cannot make the input of a program");
  return absl::OkStatus();
}

absl::Status OpenOutput(FdPair& pipe) {
  if (!pipe.Open()) return ErrnoStatus("cannot make a pipe for a program");
  ::fcntl(pipe.read, F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

absl::StatusOr<pid_t> Spawn(const ProgramCall& call, int input, int output, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
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
  std::vector<std::string> words = call.arguments;
  words.insert(words.begin(), call.program);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, call.program.c_str(), &actions, &attributes,
                                  NullTerminated(words).data(), NullTerminated(call.environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  errno = error;
  return ErrnoStatus(absl::StrCat("cannot start ", call.program));
}

// Appends what can be read, and keeps the last `bytes_max` bytes. False at the end of it.
bool Read(int descriptor, std::size_t bytes_max, std::string& text) {
  std::array<char, 4096> bytes;
  ssize_t n = -1;
  // A bounded part at once: a program may write without an end.
  for (int i = 0; i < 64 && (n = ::read(descriptor, bytes.data(), bytes.size())) > 0; ++i) {
    text.append(bytes.data(), static_cast<std::size_t>(n));
    if (text.size() > bytes_max) text.erase(0, text.size() - bytes_max);
  }
  return n != 0;
}

}  // namespace

std::string ProgramEnd::HowText() const {
  return WIFEXITED(*status) ? absl::StrCat("it ended with status ", WEXITSTATUS(*status))
                            : absl::StrCat("it was ended by signal ", WTERMSIG(*status), " (",
                                           ::strsignal(WTERMSIG(*status)), ")");
}

absl::StatusOr<ProgramEnd> RunToEnd(const ProgramCall& call, const std::function<bool()>& must_stop) {
  Descriptor input;
  FdPair output, errors;
  RETURN_IF_ERROR(WriteInput(call.input, input));
  RETURN_IF_ERROR(OpenOutput(output));
  RETURN_IF_ERROR(OpenOutput(errors));
  const Timestamp deadline = MonotonicNow() + call.limit;
  ASSIGN_OR_RETURN(const pid_t pid,
                   Spawn(call, input.fd(), output.write, (call.join_errors ? output : errors).write));
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  output.CloseWrite();
  errors.CloseWrite();
  ProgramEnd end;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    const bool output_open = Read(output.read, call.output_bytes_max, end.output);
    const bool errors_open = Read(errors.read, call.output_bytes_max, end.errors);
    if (ended == pid) {
      end.status = status;
      return end;
    }
    if (MonotonicNow() >= deadline || must_stop()) break;
    pollfd look[3] = {{output_open ? output.read : -1, POLLIN, 0},
                      {errors_open ? errors.read : -1, POLLIN, 0},
                      {process.fd(), POLLIN, 0}};
    ::poll(look, 3, kLookEveryMs);
  }
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return end;
}

absl::Status CheckProgram(const std::string& path) {
  const auto wrong = [](const std::string& what) { return absl::InvalidArgumentError(what); };
  if (path.empty() || path.front() != '/')
    return wrong("the path must be absolute, and arguments are not possible: write a script that has them");
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);  // Links resolved.
  if (error) return wrong(absl::StrCat(path, ": ", error.message()));
  if (!std::filesystem::is_regular_file(file, error)) return wrong(absl::StrCat(path, " is not a file"));
  RETURN_IF_ERROR(CheckOwned(file, /*folder=*/false));
  RETURN_IF_ERROR(CheckOwned(file.parent_path(), /*folder=*/true));
  if (::access(file.c_str(), X_OK) != 0)
    return wrong(absl::StrCat(path, " is not executable: chmod u+x ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::string> OutputOf(ProgramCall call, const std::string& name) {
  call.join_errors = true;
  ASSIGN_OR_RETURN(const ProgramEnd end, RunToEnd(call, [] { return false; }));
  if (end.Succeeded()) return end.output;
  const std::string printed(absl::StripAsciiWhitespace(end.output));
  return absl::UnavailableError(absl::StrCat(
      name, ": ",
      end.status ? end.HowText() : absl::StrCat("it did not end within ", ToSeconds(call.limit), " s"),
      printed.empty() ? "" : absl::StrCat("; it printed: ", printed)));
}

}  // namespace inlier
