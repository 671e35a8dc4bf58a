// The folders below which a process may read files that another user named, as the trials of a worker do.
//
// Links are followed and their ends are checked: a link inside a root may lead to a place in a root alone.
// Check() refuses a path before touching it, with the same words whether it exists or not; RegularFile::Open
// checks again what it has opened, which no rename in between can change.
//
// Thread safety: immutable.
#ifndef INLIER_BASE_DATA_DATA_ROOTS_H_
#define INLIER_BASE_DATA_DATA_ROOTS_H_

#include <filesystem>
#include <vector>

#include "absl/status/status.h"

namespace inlier {

class DataRoots {
 public:
  DataRoots() = default;  // No limit: every file may be read.
  // Only what lies below one of `folders`, which need not exist; a file is a root of its own.
  static DataRoots Below(const std::vector<std::filesystem::path>& folders);

  // False where the reader may see every file that it can open: messages may then quote what is in them.
  bool limited() const { return limited_; }

  // OK when `path`, absolute and perhaps absent, lies below a root. InvalidArgument names the roots and the remedy.
  absl::Status Check(const std::filesystem::path& path) const;
  // The same for an open file; `path` is its name in the message.
  absl::Status CheckOpened(int fd, const std::filesystem::path& path) const;

 private:
  bool Contains(const std::filesystem::path& resolved) const;
  absl::Status Outside(const std::filesystem::path& path) const;

  bool limited_ = false;
  std::vector<std::filesystem::path> folders_;  // Resolved.
};

}  // namespace inlier

#endif  // INLIER_BASE_DATA_DATA_ROOTS_H_
