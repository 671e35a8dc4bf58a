// A file mapped read-only into memory.
//
// Thread safety: immutable. The bytes stay valid when the object is moved and when the file is unlinked.
#ifndef INLIER_BASE_FILES_MAPPED_FILE_H_
#define INLIER_BASE_FILES_MAPPED_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"

namespace inlier {

class MappedFile {
 public:
  // Errors as RegularFile::Open.
  static absl::StatusOr<MappedFile> Open(const std::filesystem::path& path, const DataRoots& roots = {});

  MappedFile() = default;  // No bytes.
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace inlier

#endif  // INLIER_BASE_FILES_MAPPED_FILE_H_
