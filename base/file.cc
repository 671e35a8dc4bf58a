#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status.h"

namespace inlier {
namespace {

// Closes what open(2) returned.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::FailedPreconditionError(absl::StrCat(path.string(), " is a folder, not a file"));
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return ErrnoStatus(absl::StrCat("cannot read ", path.string()));
  std::ostringstream content;
  content << in.rdbuf();
  if (in.bad()) return absl::DataLossError(absl::StrCat("reading ", path.string(), " failed"));
  return std::move(content).str();
}

absl::Status SyncPath(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return ErrnoStatus(absl::StrCat("cannot open ", path.string()));
  if (::fsync(file.fd) != 0) return ErrnoStatus(absl::StrCat("cannot write ", path.string(), " to the disk"));
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content, mode_t mode) {
  AtomicFile file(path, mode);
  RETURN_IF_ERROR(file.Append(content));
  return file.Commit();
}

absl::Status RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(absl::StrCat("cannot move ", from.string(), " to ", to.string()));
  }
  RETURN_IF_ERROR(SyncPath(FolderOf(to)));
  return FolderOf(from) == FolderOf(to) ? absl::OkStatus() : SyncPath(FolderOf(from));
}

absl::Status MakeWritableFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make the folder ", folder.string(), ": ", error.message(),
                     "; name another one or change its parent's permissions"));
  }
  std::string probe = (folder / ".writable.XXXXXX").string();
  const Descriptor file{::mkostemp(probe.data(), O_CLOEXEC)};
  if (file.fd < 0) {
    const absl::Status status = ErrnoStatus(absl::StrCat("cannot write in ", folder.string()));
    return absl::FailedPreconditionError(
        absl::StrCat(status.message(), "; name another folder or change its permissions"));
  }
  ::unlink(probe.c_str());
  return absl::OkStatus();
}

}  // namespace inlier
