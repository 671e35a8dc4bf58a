#include "base/atomic_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace inlier {

AtomicFile::AtomicFile(std::filesystem::path path, mode_t mode) : path_(std::move(path)), mode_(mode) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

absl::Status AtomicFile::Open() {
  if (fd_ >= 0) return absl::OkStatus();
  temporary_ = path_.string() + ".XXXXXX";
  fd_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) return ErrnoStatus("cannot write a temporary file next to " + path_.string());
  fchmod(fd_, mode_);
  return absl::OkStatus();
}

absl::Status AtomicFile::Append(std::string_view bytes) {
  RETURN_IF_ERROR(Open());
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("cannot write " + path_.string());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
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
