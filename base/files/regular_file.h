// A regular file that is open for reading: the one way in which files that users name are opened.
//
// Folders, pipes, sockets and devices, which could block or have an effect, are refused before they are opened.
//
// Thread safety: ReadAt may be called from any threads at once.
#ifndef INLIER_BASE_FILES_REGULAR_FILE_H_
#define INLIER_BASE_FILES_REGULAR_FILE_H_

#include <cstdint>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "base/files/descriptor.h"

namespace inlier {

class RegularFile {
 public:
  // NotFound and PermissionDenied as the system reports them; InvalidArgument for a file outside `roots`, and,
  // with its kind, for anything but a regular file.
  static absl::StatusOr<RegularFile> Open(const std::filesystem::path& path, const DataRoots& roots = {});

  int fd() const { return file_.fd(); }
  const std::filesystem::path& path() const { return path_; }
  // The size when it was opened; 0 also for the files of /proc.
  std::uint64_t size() const { return size_; }

  // Up to `bytes` bytes from `offset` on; fewer only at the end of the file.
  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  RegularFile(std::filesystem::path path, int fd) : path_(std::move(path)), file_(fd) {}

  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace inlier

#endif  // INLIER_BASE_FILES_REGULAR_FILE_H_
