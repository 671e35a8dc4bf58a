// IDX, the format of MNIST and of data sets made like it: a big-endian header, then bytes.
//
//   images  0x00000803, count, rows, columns            (magic 2051)
//           0x00000804, count, rows, columns, channels  (magic 2052), 1 or 3 channels
//   labels  0x00000801, count                           (magic 2049)
//
// Each file may be compressed with gzip.
#ifndef INLIER_CORE_IMAGES_IDX_FILE_H_
#define INLIER_CORE_IMAGES_IDX_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/images/image.h"

namespace inlier {

// Images with their labels, from two files.
class IdxPart {
 public:
  // Reads FOLDER/<name>-images-idx3-ubyte (or idx4) and FOLDER/<name>-labels-idx1-ubyte, with or without .gz.
  // NotFound names the missing file. InvalidArgument names the file that is not IDX or whose length differs
  // from its header, and both files when their counts differ or are 0. Both headers are checked before either
  // file is read, and no more of one than its header promises.
  static absl::StatusOr<IdxPart> Read(const std::filesystem::path& folder, const std::string& name,
                                      const DataRoots& roots = {});

  std::int64_t size() const { return size_; }
  std::int64_t LabelOf(std::int64_t i) const { return static_cast<std::uint8_t>(labels_[i]); }
  Image ImageOf(std::int64_t i) const;
  std::int64_t LargestLabel() const;

  // Identifies the images and labels, compressed or not.
  std::string ContentDigest() const;

 private:
  absl::Status SetSizes(const std::filesystem::path& file, const std::vector<std::int64_t>& sizes);
  std::int64_t image_bytes() const { return std::int64_t{height_} * width_ * channels_; }

  std::int64_t size_ = 0;
  std::unique_ptr<char[]> image_file_;  // The file that was read.
  std::size_t first_pixel_ = 0;
  int height_ = 0;
  int width_ = 0;
  int channels_ = 0;
  std::unique_ptr<char[]> labels_;
};

// True when the folder has an IDX file that IdxPart::Read would read as `name`'s images.
bool HasIdxPart(const std::filesystem::path& folder, const std::string& name);

// The files that IdxPart::Read would read, images first, as far as they are there.
std::vector<std::filesystem::path> IdxFiles(const std::filesystem::path& folder, const std::string& name);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IDX_FILE_H_
