#include "base/files/checkpoint_tar.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/descriptor.h"
#include "base/files/file.h"
#include "base/processes/end_with_parent.h"
#include "base/processes/null_terminated.h"
#include "base/processes/other_user.h"
#include "base/run_program.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEmptyTarBytes = 10240;  // A record of zeros, as tar writes it.
constexpr std::size_t kPrintedBytesMax = 2000;

bool LeadsOut(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_normal().lexically_relative(folder);
  return relative.empty() || relative.begin()->string() == "..";
}

absl::Status CheckEntry(const fs::directory_entry& entry, const fs::path& packed) {
  const auto refuse = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("it reported ", packed.string(), ", ", what));
  };
  const std::string name = entry.path().lexically_relative(packed).string();
  if (entry.is_symlink()) {
    const fs::path target = fs::read_symlink(entry.path());
    if (target.is_absolute() || LeadsOut(entry.path().parent_path() / target, packed))
      return refuse(absl::StrCat("in which the link ", name, " leads out, to ", target.string(),
                                 "; save a copy of what it leads to"));
  } else if (!entry.is_regular_file() && !entry.is_directory()) {
    return refuse(absl::StrCat("in which ", name, " is neither a file nor a folder; remove it"));
  }
  return absl::OkStatus();
}

// What a later attempt, on another machine, could read again.
absl::Status CheckTree(const fs::path& output, const fs::path& path) {
  const fs::directory_entry top(path);
  if (!fs::exists(top.symlink_status()))
    return absl::NotFoundError(absl::StrCat("it reported ", path.string(), ", which is not there"));
  if (LeadsOut(fs::canonical(path), fs::canonical(output)))
    return absl::InvalidArgumentError(
        absl::StrCat("it reported ", path.string(), ", which leads out of output_dir"));
  if (top.is_symlink())
    return absl::InvalidArgumentError(
        absl::StrCat("it reported ", path.string(), ", a link; report what it leads to"));
  RETURN_IF_ERROR(CheckEntry(top, path));
  if (!top.is_directory()) return absl::OkStatus();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
    RETURN_IF_ERROR(CheckEntry(entry, path));
  return absl::OkStatus();
}

absl::Status TryToCheckTree(const fs::path& output, const fs::path& path) {
  try {
    return CheckTree(output, path);
  } catch (const fs::filesystem_error& error) {
    return absl::UnavailableError(error.what());
  }
}

// All that comes from a pipe; the beginning of it, where that is much.
std::string PrintedBy(int pipe) {
  std::string printed;
  std::array<char, 4096> bytes;
  for (ssize_t got; (got = ::read(pipe, bytes.data(), bytes.size())) > 0 || (got < 0 && errno == EINTR);)
    if (got > 0 && printed.size() < kPrintedBytesMax)
      printed.append(bytes.data(), static_cast<std::size_t>(got));
  return printed;
}

// Runs tar between two files, in a child that is `user` and has found nothing wrong by `check`. It is killed with this process'
// group; a signal that asks to stop does not reach it.
absl::Status RunTar(std::vector<std::string> words, const std::string& user, int input, int output,
                    const std::function<absl::Status()>& check) {
  FdPair errors;
  if (!errors.Open()) return ErrnoStatus("cannot make a pipe for tar");
  words.insert(words.begin(), fs::exists("/usr/bin/tar") ? "/usr/bin/tar" : "/bin/tar");
  const std::vector<std::string> variables = {"LC_ALL=C", "PATH=/usr/bin:/bin"};
  const std::vector<char*> arguments = NullTerminated(words), environment = NullTerminated(variables);
  sigset_t stops;
  ::sigemptyset(&stops);
  for (const int signal : {SIGTERM, SIGINT}) ::sigaddset(&stops, signal);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0) {
    ::sigprocmask(SIG_BLOCK, &stops, nullptr);
    const char* const step = BecomeUser(user);
    EndWithParent(parent, SIGKILL);
    const absl::Status status = step == nullptr ? check() : ErrnoStatus(absl::StrCat("cannot ", step));
    ::dup2(errors.write, STDERR_FILENO);
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    if (status.ok()) ::execve(arguments[0], arguments.data(), environment.data());
    const std::string text(status.ok() ? "cannot execute tar" : status.message());
    [[maybe_unused]] const bool written = WriteAll(STDERR_FILENO, text);
    ::_exit(1);
  }
  if (pid < 0) return ErrnoStatus("cannot start tar");
  errors.CloseWrite();
  const std::string printed = PrintedBy(errors.read);
  int status = 1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return absl::OkStatus();
  return absl::UnavailableError(printed.empty() ? ProgramEnd{.status = status}.HowText() : printed);
}

}  // namespace

absl::Status PackCheckpoint(const fs::path& output, const fs::path& relative, const std::string& user,
                            const fs::path& tar) {
  if (relative.empty()) return WriteFile(tar, std::string(kEmptyTarBytes, '\0'));
  const fs::path path = output / relative;
  const Descriptor file(::open(tar.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.fd() < 0) return ErrnoStatus(absl::StrCat("cannot write ", tar.string()));
  const absl::Status packed =
      RunTar({"--create", "--file", "-", "--format=gnu", "--sort=name", "--mtime=@0", "--owner=0",
              "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--hard-dereference", "--directory",
              path.parent_path().string(), "--", path.filename().string()},
             user, STDIN_FILENO, file.fd(), [&] { return TryToCheckTree(output, path); });
  if (!packed.ok()) ::unlink(tar.c_str());
  return packed;
}

absl::StatusOr<fs::path> UnpackCheckpoint(const fs::path& tar, const fs::path& folder,
                                          const std::string& user) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  RETURN_IF_ERROR(MakeFolder(folder));
  RETURN_IF_ERROR(GiveTo(user, folder));
  const Descriptor file(::open(tar.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return ErrnoStatus(absl::StrCat("cannot read ", tar.string()));
  RETURN_IF_ERROR(
      Annotate(RunTar({"--extract", "--file", "-", "--directory", folder.string(), "--no-same-owner"}, user,
                      file.fd(), STDERR_FILENO, [] { return absl::OkStatus(); }),
               absl::StrCat("unpacking ", tar.string())));
  const std::vector<fs::path> entries = EntriesOf(folder);
  return entries.empty() ? fs::path() : entries.front();
}

}  // namespace inlier
