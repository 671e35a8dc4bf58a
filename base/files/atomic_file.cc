#include "base/files/atomic_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/uuid.h"

namespace inlier {

AtomicFile::AtomicFile(std::filesystem::path path, mode_t mode, Old old)
    : path_(std::move(path)), mode_(mode), old_(old) {}

AtomicFile::~AtomicFile() {
  if (file_.fd() >= 0) unlink(temporary_.c_str());
}

absl::Status AtomicFile::Open() {
  if (file_.fd() >= 0) return absl::OkStatus();
  temporary_ = absl::StrCat(path_.string(), ".", RandomUuid());
  // Only root may give a file to another user.
  struct stat old = {};
  const bool keeps = old_ == Old::kKeepsAccess && ::lstat(path_.c_str(), &old) == 0 && S_ISREG(old.st_mode) &&
                     (old.st_uid == ::geteuid() || ::geteuid() == 0);
  file_ = Descriptor(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, keeps ? 0600 : mode_));
  if (file_.fd() < 0) return ErrnoStatus("cannot write a temporary file next to " + path_.string());
  if (!keeps) return absl::OkStatus();
  // Only members may give it to a group: else it has the writer's, which gets no more than others have.
  const bool same = fchown(file_.fd(), old.st_uid, old.st_gid) == 0;
  const mode_t others = old.st_mode & S_IRWXO;
  if (fchmod(file_.fd(), same ? old.st_mode & 0777 : (old.st_mode & S_IRWXU) | others << 3 | others) != 0)
    return ErrnoStatus("cannot give its permissions to a new " + path_.string());
  return absl::OkStatus();
}

absl::Status AtomicFile::Append(std::string_view bytes) {
  RETURN_IF_ERROR(Open());
  return WriteAll(file_.fd(), bytes) ? absl::OkStatus() : ErrnoStatus("cannot write " + path_.string());
}

absl::Status AtomicFile::WriteAt(std::size_t offset, std::string_view bytes) {
  RETURN_IF_ERROR(Open());
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("cannot write " + path_.string());
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  RETURN_IF_ERROR(Open());
  if (fsync(file_.fd()) != 0) return ErrnoStatus("cannot write " + path_.string() + " to the disk");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoStatus("cannot replace " + path_.string());
  file_.Close();
  return SyncPath(path_.has_parent_path() ? path_.parent_path() : std::filesystem::path("."));
}

absl::Status WriteSecretFile(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path, 0600, AtomicFile::Old::kIsForgotten);
  RETURN_IF_ERROR(file.Append(content));
  return file.Commit();
}

}  // namespace inlier
