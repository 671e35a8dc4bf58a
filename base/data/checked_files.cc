#include "base/data/checked_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// With more known files than this, all are forgotten and read again.
constexpr std::size_t kKnownMax = 10'000;

}  // namespace

absl::Status CheckNamedContent(const fs::path& path) {
  const std::string name = path.stem().string();
  return path.extension() == ".safetensors" && IsSha256Hex(name) ? CheckedFiles().Check(path, name)
                                                                 : absl::OkStatus();
}

std::string PutAside(const fs::path& path) {
  const std::string aside = path.string() + kDamagedSuffix;
  std::error_code error;
  fs::rename(path, aside, error);
  return error ? absl::StrCat("it cannot be put aside: ", error.message())
               : absl::StrCat("it is now ", aside);
}

CheckedFiles::Version CheckedFiles::VersionOf(const fs::path& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  return {static_cast<std::int64_t>(file.st_dev),
          static_cast<std::int64_t>(file.st_ino),
          file.st_size,
          file.st_mtim.tv_sec,
          file.st_mtim.tv_nsec,
          file.st_ctim.tv_sec,
          file.st_ctim.tv_nsec};
}

std::shared_ptr<CheckedFiles::Known> CheckedFiles::Find(const fs::path& path) {
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kKnownMax && !known_.contains(path)) known_.clear();
  std::shared_ptr<Known>& known = known_[path];
  if (known == nullptr) known = std::make_shared<Known>();
  return known;
}

absl::StatusOr<std::string> CheckedFiles::DigestOf(const fs::path& path) {
  const std::shared_ptr<Known> known = Find(path);
  const std::lock_guard lock(known->mutex);
  const Version now = VersionOf(path);
  if (known->sha256.empty() || known->version != now) {
    known->sha256.clear();
    ASSIGN_OR_RETURN(std::string found, Sha256HexOfFile(path));
    if (VersionOf(path) != now)
      return absl::UnavailableError(absl::StrCat(path.string(), " was written to while it was read"));
    known->version = now;
    bytes_read_ += static_cast<std::uint64_t>(now[2]);
    known->sha256 = std::move(found);
  }
  return known->sha256;
}

absl::Status CheckedFiles::Check(const fs::path& path, const std::string& sha256) {
  ASSIGN_OR_RETURN(const std::string found, DigestOf(path));
  if (found == sha256) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path.string(), " has the SHA-256 ", found, " where ", sha256,
                                          " was written: it was changed or damaged since"));
}

void CheckedFiles::MarkUsed(const fs::path& path) {
  const std::shared_ptr<Known> known = Find(path);
  const std::lock_guard lock(known->mutex);
  const Version before = VersionOf(path);
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  const Version after = VersionOf(path);
  constexpr auto kContentEnds = 3;  // Times follow.
  if (known->version == before && std::equal(before.begin(), before.begin() + kContentEnds, after.begin()))
    known->version = after;
}

}  // namespace inlier
