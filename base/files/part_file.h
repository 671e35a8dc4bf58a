// A file named by its digest while it is being received: grows as <name>.part, becomes <name> when it is
// complete.
//
// An upload can be resumed after any end of the process. The final name never shows a part: before the rename
// the content is on disk, and its SHA-256 is the expected one.
//
// Thread safety: none. Waits for the disk.
#ifndef INLIER_BASE_FILES_PART_FILE_H_
#define INLIER_BASE_FILES_PART_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

class PartFile {
 public:
  // <name>.part of `path`.
  static std::filesystem::path NameOf(const std::filesystem::path& path);

  // Opens or makes the part of `path`, and takes it for this object alone. Unavailable when another holds it.
  static absl::StatusOr<std::unique_ptr<PartFile>> Open(const std::filesystem::path& path);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  // Bytes received.
  std::uint64_t size() const { return size_; }
  // Drops everything after `bytes`. REQUIRES: bytes <= size().
  absl::Status Shorten(std::uint64_t bytes);
  // Written to the disk every 64 MiB. ResourceExhausted when the disk is full: may be tried again. After any
  // other error the object is of no more use.
  absl::Status Append(std::string_view bytes);
  // Gives the file its final name; everything is on disk when this returns OK. DataLoss, and the part is
  // gone, when its SHA-256 is not `sha256`.
  absl::Status Complete(const std::string& sha256);

 private:
  PartFile(std::filesystem::path path, int fd, std::uint64_t size);
  absl::Status Sync();

  const std::filesystem::path path_;
  int fd_;
  std::uint64_t size_;
  std::uint64_t unsynced_ = 0;
};

}  // namespace inlier

#endif  // INLIER_BASE_FILES_PART_FILE_H_
