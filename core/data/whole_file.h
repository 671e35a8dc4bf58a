// Writing a large file piece by piece so that it is there completely or not at all. (In one piece:
// base/file.h.)
#ifndef INLIER_CORE_DATA_WHOLE_FILE_H_
#define INLIER_CORE_DATA_WHOLE_FILE_H_

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"

namespace inlier {

// Appends to a new file beside `path`, which takes the place of `path` in Commit(), synced to the disk. When
// the object goes without Commit(), or the process dies, `path` stays as it was.
class WholeFileWriter {
 public:
  explicit WholeFileWriter(std::filesystem::path path);
  ~WholeFileWriter();
  WholeFileWriter(const WholeFileWriter&) = delete;
  WholeFileWriter& operator=(const WholeFileWriter&) = delete;

  absl::Status Append(std::string_view bytes);
  // Overwrites bytes already written.
  absl::Status WriteAt(size_t offset, std::string_view bytes);
  absl::Status Commit();

 private:
  absl::Status Open();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_WHOLE_FILE_H_
