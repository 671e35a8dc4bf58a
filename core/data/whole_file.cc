#include "core/data/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace inlier {
namespace {

// Unlike any other in this folder: of this process and of this call.
std::filesystem::path TemporaryName(const std::filesystem::path& path) {
  static std::atomic<int> number{0};
  return path.string() + ".tmp." + std::to_string(getpid()) + "." + std::to_string(number++);
}

}  // namespace

WholeFileWriter::WholeFileWriter(std::filesystem::path path)
    : path_(std::move(path)), temporary_(TemporaryName(path_)) {}

WholeFileWriter::~WholeFileWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

absl::Status WholeFileWriter::Open() {
  if (fd_ >= 0) return absl::OkStatus();
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return fd_ >= 0 ? absl::OkStatus() : ErrnoStatus("create " + temporary_.string());
}

absl::Status WholeFileWriter::Append(std::string_view bytes) {
  RETURN_IF_ERROR(Open());
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("write " + temporary_.string());
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status WholeFileWriter::WriteAt(size_t offset, std::string_view bytes) {
  RETURN_IF_ERROR(Open());
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("write " + temporary_.string());
    bytes.remove_prefix(written);
    offset += written;
  }
  return absl::OkStatus();
}

absl::Status WholeFileWriter::Commit() {
  RETURN_IF_ERROR(Open());
  if (fsync(fd_) != 0) return ErrnoStatus("sync " + temporary_.string());
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoStatus("rename to " + path_.string());
  close(fd_);
  fd_ = -1;
  return SyncPath(path_.parent_path());
}

}  // namespace inlier
