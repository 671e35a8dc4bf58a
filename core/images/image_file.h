// PNG and JPEG files as images. The first bytes decide the format, not the name.
//
// Thread safety: pure functions.
#ifndef INLIER_CORE_IMAGES_IMAGE_FILE_H_
#define INLIER_CORE_IMAGES_IMAGE_FILE_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/images/image.h"

namespace inlier {

// OK when `bytes` begin as a PNG or JPEG of at most 2^28 pixels. InvalidArgument with their actual format; it
// names no file.
absl::Status CheckImageHeader(std::string_view bytes);

// The pixels, with one channel for a grey image and three for another. Transparent pixels are blended with
// black; sixteen bits become eight; CMYK becomes RGB; the camera's orientation (EXIF) is ignored.
// InvalidArgument, with the library's reason, where the bytes end early or are damaged.
absl::StatusOr<Image> DecodeImage(std::string_view bytes);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_FILE_H_
