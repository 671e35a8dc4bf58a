// A copy of a folder's database, to read it where nothing may be written: SQLite writes files next to a database that it reads.
#ifndef INLIER_COORDINATOR_STORE_FOLDER_DATABASE_COPY_H_
#define INLIER_COORDINATOR_STORE_FOLDER_DATABASE_COPY_H_

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"

namespace inlier {

class DatabaseCopy {
 public:
  // Copies the database of `state_dir` with its log, both of one moment, into a private folder below $TMPDIR,
  // which is removed with the object. NotFound, PermissionDenied, ResourceExhausted; Unavailable: it changes
  // while it is read.
  static absl::StatusOr<DatabaseCopy> Make(const std::filesystem::path& state_dir);
  DatabaseCopy(DatabaseCopy&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  DatabaseCopy& operator=(DatabaseCopy&&) = delete;
  ~DatabaseCopy();

  const std::filesystem::path& path() const { return path_; }  // The folder with inlier.db.

 private:
  explicit DatabaseCopy(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_FOLDER_DATABASE_COPY_H_
