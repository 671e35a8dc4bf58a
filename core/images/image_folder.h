// A folder tree of images: a folder for each part, in it one folder a class, in those its PNG and JPEG files.
//
//   PATH/train/<class>/…/*.png|jpg|jpeg       PATH/validation/<class>/…    (or val/, or test/)
//
// Hidden files and files of other endings are skipped, so that a README may be there.
#ifndef INLIER_CORE_IMAGES_IMAGE_FOLDER_H_
#define INLIER_CORE_IMAGES_IMAGE_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/images/image.h"
#include "core/images/image_file.h"

namespace inlier {

struct ImageAccess {
  DataRoots roots;
  std::int64_t pixels_max = kImagePixelsMax;  // Of one file.
};

// The images of one part.
class ImageFolder {
 public:
  // Lists the part's folder. Classes are its folders, sorted by name; images are sorted by class and path.
  // InvalidArgument: no classes, a class without images, or a folder that cannot be read.
  // Its files are read with `access`.
  static absl::StatusOr<ImageFolder> List(const std::filesystem::path& folder, const ImageAccess& access);

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<std::string>& class_names() const { return class_names_; }
  std::int64_t size() const { return static_cast<std::int64_t>(files_.size()); }
  std::int64_t LabelOf(std::int64_t i) const { return files_[i].label; }
  // Below the folder.
  const std::string& PathOf(std::int64_t i) const { return files_[i].path; }

  // Decodes. The error names the file.
  absl::StatusOr<Image> ImageOf(std::int64_t i) const;

  // Reads every file: a digest of the paths below the folder and of the files' contents. The error names the
  // first file whose header is not that of a PNG or JPEG. `progress`: the finished share.
  absl::StatusOr<std::string> ContentDigest(int threads, const std::function<void(double)>& progress) const;

 private:
  struct File {
    std::string path;  // Below the folder.
    std::int64_t label;
  };
  std::filesystem::path folder_;
  ImageAccess access_;
  std::vector<std::string> class_names_;
  std::vector<File> files_;
};

// Both parts below `path`. InvalidArgument: no part for training or validation, or different classes in the two.
struct ImageFolders {
  ImageFolder train;
  ImageFolder validation;
};
absl::StatusOr<ImageFolders> ListImageFolders(const std::filesystem::path& path, const ImageAccess& access);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_FOLDER_H_
