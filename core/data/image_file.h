// PNG and JPEG files as images. What a file is, its first bytes say, not its name.
//
// Thread safety: pure functions.
#ifndef INLIER_CORE_DATA_IMAGE_FILE_H_
#define INLIER_CORE_DATA_IMAGE_FILE_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/image.h"

namespace inlier {

// Whether `bytes` begin as a PNG or JPEG with pixels of a size that can be had: at most 2^28 of them.
// InvalidArgument says what else they are; it names no file.
absl::Status CheckImageHeader(std::string_view bytes);

// The pixels, with one channel for a grey image and three for another. What is transparent lies on black;
// sixteen bits become eight; CMYK becomes RGB; a turned camera (EXIF) is not turned back. InvalidArgument,
// with the library's reason, where the bytes end early or are damaged.
absl::StatusOr<Image> DecodeImage(std::string_view bytes);

}  // namespace inlier

#endif  // INLIER_CORE_DATA_IMAGE_FILE_H_
