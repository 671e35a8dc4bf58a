// artifacts/s3 of the state folder: the bucket in which the coordinator keeps artifacts. `inlier doctor` and
// `inlier export`, which read the folder without a coordinator, then look for no files there.
//
// Thread safety: pure functions over the file system.
#ifndef INLIER_S3_BUCKET_NOTE_H_
#define INLIER_S3_BUCKET_NOTE_H_

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "base/files/file.h"

namespace inlier {

inline std::filesystem::path BucketNote(const std::filesystem::path& state_dir) {
  return state_dir / "artifacts" / "s3";
}

// `where`: for people; empty: the folder has the artifacts. REQUIRES: artifacts/ is there.
inline absl::Status NoteBucket(const std::filesystem::path& state_dir, const std::string& where) {
  if (!where.empty()) return WriteFileAtomically(BucketNote(state_dir), where);
  std::error_code error;
  std::filesystem::remove(BucketNote(state_dir), error);
  return absl::OkStatus();
}

// Empty: the folder has the artifacts.
inline std::string BucketOf(const std::filesystem::path& state_dir) {
  return ReadFile(BucketNote(state_dir)).value_or("");
}

}  // namespace inlier

#endif  // INLIER_S3_BUCKET_NOTE_H_
