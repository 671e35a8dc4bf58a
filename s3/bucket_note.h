// artifacts/s3 of the state folder names the bucket of the artifacts, for commands without a coordinator.
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

// `where` is S3Location::Describe, or empty where the folder itself has the artifacts. REQUIRES: artifacts/ exists.
inline absl::Status NoteBucket(const std::filesystem::path& state_dir, const std::string& where) {
  if (!where.empty()) return WriteFileAtomically(BucketNote(state_dir), where);
  std::error_code error;
  std::filesystem::remove(BucketNote(state_dir), error);
  return absl::OkStatus();
}

// Empty where the folder itself has the artifacts.
inline std::string BucketOf(const std::filesystem::path& state_dir) {
  return ReadFile(BucketNote(state_dir)).value_or("");
}

}  // namespace inlier

#endif  // INLIER_S3_BUCKET_NOTE_H_
