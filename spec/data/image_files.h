// The files of a folder tree of images: a folder for each part, in it one folder a class, in those its PNG and JPEG files.
//
//   PATH/train/<class>/…/*.png|jpg|jpeg       PATH/validation/<class>/…    (or val/, or test/)
//
// Hidden files and files of other endings are skipped, so that a README may be there.
#ifndef INLIER_SPEC_DATA_IMAGE_FILES_H_
#define INLIER_SPEC_DATA_IMAGE_FILES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"

namespace inlier {

// What the two formats begin with; the first bytes decide, not the name.
inline constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
inline constexpr std::string_view kJpegMagic = "\xff\xd8\xff";

// The error of a file that begins with neither.
absl::Status NoImage();

// One part.
struct ImageFiles {
  struct File {
    std::string path;  // Below the folder.
    std::int64_t label;
  };
  std::filesystem::path folder;
  std::vector<std::string> class_names;  // Its folders, sorted by name.
  std::vector<File> files;               // Sorted by class and path.

  // InvalidArgument: no classes, a class without images, or a folder that cannot be read.
  static absl::StatusOr<ImageFiles> List(const std::filesystem::path& folder, const DataRoots& roots);
};

struct ImageParts {
  ImageFiles train;
  ImageFiles validation;
};

// Both parts below `path`. InvalidArgument: no part for training or validation, or different classes in the two.
absl::StatusOr<ImageParts> ListImages(const std::filesystem::path& path, const DataRoots& roots);

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_IMAGE_FILES_H_
