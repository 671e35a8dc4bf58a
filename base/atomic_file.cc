#include "base/atomic_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "base/uuid.h"

namespace inlier {

AtomicFile::AtomicFile(std::filesystem::path path, mode_t mode) : path_(std::move(path)), mode_(mode) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

absl::Status AtomicFile::Open() {
  if (fd_ >= 0) return absl::OkStatus();
  temporary_ = absl::StrCat(path_.string(), ".", RandomUuid());
  struct stat old = {};
  const bool replaces = ::stat(path_.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : mode_);
  if (fd_ < 0) return ErrnoStatus("cannot write a temporary file next to " + path_.string());
  if (!replaces) return absl::OkStatus();
  // Only root may give a file away, and only members may give it to a group: else the writer keeps it.
  if (fchown(fd_, old.st_uid, old.st_gid) != 0 && fchown(fd_, static_cast<uid_t>(-1), old.st_gid) != 0) {
  }
  if (fchmod(fd_, old.st_mode & 0777) != 0)
    return ErrnoStatus("cannot give its permissions to a new " + path_.string());
  return absl::OkStatus();
}

absl::Status AtomicFile::Append(std::string_view bytes) {
  RETURN_IF_ERROR(Open());
  return WriteAll(fd_, bytes) ? absl::OkStatus() : ErrnoStatus("cannot write " + path_.string());
}

absl::Status AtomicFile::WriteAt(std::size_t offset, std::string_view bytes) {
  RETURN_IF_ERROR(Open());
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("cannot write " + path_.string());
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  RETURN_IF_ERROR(Open());
  if (fsync(fd_) != 0) return ErrnoStatus("cannot write " + path_.string() + " to the disk");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoStatus("cannot replace " + path_.string());
  close(fd_);
  fd_ = -1;
  return SyncPath(path_.has_parent_path() ? path_.parent_path() : std::filesystem::path("."));
}

}  // namespace inlier
