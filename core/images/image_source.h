// Sources of images: a named data set of the data folder, or a folder of the user's; as IDX files or as a tree of files.
#ifndef INLIER_CORE_IMAGES_IMAGE_SOURCE_H_
#define INLIER_CORE_IMAGES_IMAGE_SOURCE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/images/image.h"
#include "core/images/image_folder.h"
#include "inlier/v1/data_spec.pb.h"

namespace inlier {

// Images with labels, in a fixed order.
class ImagePart {
 public:
  virtual ~ImagePart() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t LabelOf(std::int64_t i) const = 0;
  // The error names the file that cannot be read or decoded.
  virtual absl::StatusOr<Image> ImageOf(std::int64_t i) const = 0;
};

struct ImageSource {
  std::unique_ptr<const ImagePart> train;
  std::unique_ptr<const ImagePart> validation;
  std::vector<std::string> class_names;
  std::string content_digest;
};

// The folder that `spec` names: its path, or DATA_DIR/NAME, or for fashion-mnist the folder of Debian's
// package. NotFound has the remedy.
absl::StatusOr<std::filesystem::path> FindImages(const v1::ImageDataSpec& spec,
                                                 const std::filesystem::path& data_dir);

// The folder of Debian's package of fashion-mnist, which a worker may read like its data folder.
inline constexpr char kDebiansFashionMnist[] = "/usr/share/datasets/fashion-mnist";

// Opens the images in `folder`: IDX files where it has them, else a folder tree. Errors: idx_file.h, image_folder.h.
absl::StatusOr<ImageSource> OpenImageSource(
    const std::filesystem::path& folder, int threads,
    const std::function<void(std::string_view phase, double fraction)>& progress,
    const ImageAccess& access = {});

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_SOURCE_H_
