// The files of an import, with the digest over all that were read.
//
// Thread safety: none.
#ifndef INLIER_CLI_IMPORT_SOURCE_FILES_H_
#define INLIER_CLI_IMPORT_SOURCE_FILES_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/mapped_file.h"

namespace inlier {

class SourceFiles {
 public:
  // A file, or a folder of files.
  explicit SourceFiles(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  // Reads a file; it counts for the digest.
  absl::StatusOr<MappedFile> Open(const std::filesystem::path& file);
  // The regular files below the root, sorted; without those of hidden folders. Unavailable where one cannot be listed;
  // ResourceExhausted for more than 100,000.
  absl::StatusOr<std::vector<std::filesystem::path>> Files() const;

  // SHA-256 of the file, or of the names and digests of those that were read.
  std::string Digest() const;
  std::size_t size() const { return digests_.size(); }

 private:
  std::filesystem::path root_;
  std::map<std::string, std::string> digests_;  // By path below the root.
};

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_SOURCE_FILES_H_
