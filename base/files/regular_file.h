// A regular file that is open for reading: the one way in which files that people name are opened.
//
// Folders, pipes, sockets and devices are refused before they are opened, so that none can block, never end or
// have an effect.
//
// Thread safety: ReadAt may be called from any threads at once.
#ifndef INLIER_BASE_FILES_REGULAR_FILE_H_
#define INLIER_BASE_FILES_REGULAR_FILE_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"

namespace inlier {

class RegularFile {
 public:
  // NotFound and PermissionDenied as the system reports them; InvalidArgument, with its kind, for anything but a
  // regular file, and for a file outside `roots`.
  static absl::StatusOr<RegularFile> Open(const std::filesystem::path& path, const DataRoots& roots = {});

  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;
  ~RegularFile();

  int fd() const { return fd_; }
  const std::filesystem::path& path() const { return path_; }
  // When it was opened; 0 also for the files of /proc.
  std::uint64_t size() const { return size_; }

  // Up to `bytes` bytes from `offset` on; fewer only at the end of the file.
  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  RegularFile(std::filesystem::path path, int fd, std::uint64_t size);

  std::filesystem::path path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace inlier

#endif  // INLIER_BASE_FILES_REGULAR_FILE_H_
