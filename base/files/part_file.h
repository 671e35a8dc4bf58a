// A file named by its digest while it is being received: <name>.part until it is complete, then <name>.
//
// An upload can be resumed after any end of the process. The rename follows sync and check of the content.
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
#include "base/files/descriptor.h"

namespace inlier {

class PartFile {
 public:
  static std::filesystem::path NameOf(const std::filesystem::path& path);

  // Opens or makes the part of `path` for this object alone. Unavailable when another holds it.
  static absl::StatusOr<std::unique_ptr<PartFile>> Open(const std::filesystem::path& path);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  // Bytes received.
  std::uint64_t size() const { return size_; }
  // Drops everything after `bytes`. REQUIRES: bytes <= size().
  absl::Status Shorten(std::uint64_t bytes);
  // Syncs every 64 MiB. ResourceExhausted when the disk is full: may be tried again, unlike after other errors.
  absl::Status Append(std::string_view bytes);
  // Gives the file its final name and syncs it. DataLoss, and the part is removed, when its SHA-256 is another.
  absl::Status Complete(const std::string& sha256);

 private:
  PartFile(std::filesystem::path path, Descriptor file, std::uint64_t size);
  absl::Status Sync();

  const std::filesystem::path path_;
  const Descriptor file_;
  std::uint64_t size_;
  std::uint64_t unsynced_ = 0;
};

}  // namespace inlier

#endif  // INLIER_BASE_FILES_PART_FILE_H_
