// Files whose content has a SHA-256 that is known, such as artifacts, which are named by it: nothing else is used.
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

// OK: the content of `path` has the digest. DataLoss names the digest that it has; NotFound and other errors as
// RegularFile::Open. Reads the whole file.
absl::Status CheckContent(const std::filesystem::path& path, const std::string& sha256);

// CheckContent of a file that is named by a digest, <sha256>.safetensors; OK for every other name.
absl::Status CheckNamedContent(const std::filesystem::path& path);

// Gives a file whose content is not what its name says the name <path>.damaged; the new name, or why it has kept the old
// one, for people.
std::string PutAside(const std::filesystem::path& path);
inline constexpr char kDamagedSuffix[] = ".damaged";

// Remembers what it has read: a file is read once for each of its versions, by its inode, size and times.
//
// Thread safety: safe. The first that asks for a file reads it, the others wait for that.
class CheckedFiles {
 public:
  // The SHA-256 of its content.
  absl::StatusOr<std::string> DigestOf(const std::filesystem::path& path);
  // As CheckContent.
  absl::Status Check(const std::filesystem::path& path, const std::string& sha256);
  // Sets the file's time to now, for those that remove what was not used for long; it is no new version of the file.
  void MarkUsed(const std::filesystem::path& path);
  // By all calls so far.
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
