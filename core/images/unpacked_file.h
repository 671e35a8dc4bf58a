// A file read from front to back, decompressed where it is gzip's, in as many bytes as are asked for: the
// reader knows from a header how many there must be, and no file can make it take more.
#ifndef INLIER_CORE_IMAGES_UNPACKED_FILE_H_
#define INLIER_CORE_IMAGES_UNPACKED_FILE_H_

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "base/files/mapped_file.h"

namespace inlier {

class UnpackedFile {
 public:
  // Errors as RegularFile::Open. The first two bytes decide whether it is compressed, not the name.
  static absl::StatusOr<UnpackedFile> Open(const std::filesystem::path& path, const DataRoots& roots);

  const std::filesystem::path& path() const { return path_; }
  bool is_compressed() const { return stream_ != nullptr; }
  // The most bytes that can still come: those of the file, or what gzip can make of them.
  std::uint64_t bytes_left_max() const;

  // The next bytes; fewer only at the end. InvalidArgument with the file when its gzip stream is damaged or ends early.
  absl::StatusOr<std::size_t> Read(char* to, std::size_t bytes);

 private:
  struct End {
    void operator()(z_stream* stream) const;
  };

  absl::StatusOr<std::size_t> Inflate(char* to, std::size_t bytes);
  absl::Status Damaged(const std::string& what) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::string_view rest_;                  // Not given to zlib, or not read.
  std::unique_ptr<z_stream, End> stream_;  // Null for a file that is not compressed.
  bool ended_ = false;
};

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_UNPACKED_FILE_H_
