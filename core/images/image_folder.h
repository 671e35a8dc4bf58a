// The images of a folder tree (spec/data/image_files.h), decoded when they are asked for.
#ifndef INLIER_CORE_IMAGES_IMAGE_FOLDER_H_
#define INLIER_CORE_IMAGES_IMAGE_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/images/image.h"
#include "core/images/image_file.h"
#include "spec/data/image_files.h"

namespace inlier {

struct ImageAccess {
  DataRoots roots;
  std::int64_t pixels_max = kImagePixelsMax;  // Of one file.
};

// The images of one part.
class ImageFolder {
 public:
  // Its files are read with `access`.
  ImageFolder(ImageFiles files, ImageAccess access) : files_(std::move(files)), access_(std::move(access)) {}

  const std::filesystem::path& folder() const { return files_.folder; }
  const std::vector<std::string>& class_names() const { return files_.class_names; }
  std::int64_t size() const { return static_cast<std::int64_t>(files_.files.size()); }
  std::int64_t LabelOf(std::int64_t i) const { return files_.files[i].label; }
  // Below the folder.
  const std::string& PathOf(std::int64_t i) const { return files_.files[i].path; }

  // Decodes. The error names the file.
  absl::StatusOr<Image> ImageOf(std::int64_t i) const;

  // Reads every file: a digest of the paths below the folder and of the files' contents. The error names the
  // first file whose header is not that of a PNG or JPEG. `progress`: the finished share.
  absl::StatusOr<std::string> ContentDigest(int threads, const std::function<void(double)>& progress) const;

 private:
  ImageFiles files_;
  ImageAccess access_;
};

// Both parts below `path`. Errors as ListImages.
struct ImageFolders {
  ImageFolder train;
  ImageFolder validation;
};
absl::StatusOr<ImageFolders> ListImageFolders(const std::filesystem::path& path, const ImageAccess& access);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_FOLDER_H_
