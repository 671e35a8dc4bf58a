// Files whose content must have a known SHA-256, such as artifacts, which are named by it.
#ifndef INLIER_BASE_DATA_CHECKED_FILES_H_
#define INLIER_BASE_DATA_CHECKED_FILES_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// CheckedFiles::Check of a file that is named by a digest, <sha256>.safetensors; OK for every other name.
absl::Status CheckNamedContent(const std::filesystem::path& path);

// Renames a damaged file to <path>.damaged. Returns the end of a message: the new name, or why it kept the old one.
std::string PutAside(const std::filesystem::path& path);
inline constexpr char kDamagedSuffix[] = ".damaged";

// Remembers what it has read: a file is read once for each of its versions, by its inode, size and times.
//
// Thread safety: any thread. The first caller that asks for a file reads it, the others wait.
class CheckedFiles {
 public:
  // The SHA-256 of its content.
  absl::StatusOr<std::string> DigestOf(const std::filesystem::path& path);
  // OK where the content of `path` has the digest. DataLoss names the other digest; else as RegularFile::Open.
  absl::Status Check(const std::filesystem::path& path, const std::string& sha256);
  // Sets the file's time to now, for programs that remove unused files; it stays the same version of the file.
  void MarkUsed(const std::filesystem::path& path);
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  // Device, inode, size, and the times of content and status in seconds and nanoseconds.
  using Version = std::array<std::int64_t, 7>;
  struct Known {
    std::mutex mutex;
    Version version{};
    std::string sha256;  // Of that version; empty: not read yet.
  };
  static Version VersionOf(const std::filesystem::path& path);
  std::shared_ptr<Known> Find(const std::filesystem::path& path);

  std::atomic<std::uint64_t> bytes_read_ = 0;
  std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<Known>> known_;
};

}  // namespace inlier

#endif  // INLIER_BASE_DATA_CHECKED_FILES_H_
