// PNG and JPEG files as images. The first bytes decide the format, not the name.
#ifndef INLIER_CORE_IMAGES_IMAGE_FILE_H_
#define INLIER_CORE_IMAGES_IMAGE_FILE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/images/image.h"

namespace inlier {

// The most pixels of any image.
inline constexpr std::int64_t kImagePixelsMax = std::int64_t{1} << 28;

// The most pixels of an image that is made `image_size` pixels wide: 1024 for each of its own, 2^26 at least
// (photographs), kImagePixelsMax at most.
std::int64_t PixelsMax(std::int64_t image_size);

// OK when `bytes` begin as a PNG or JPEG of at most `pixels_max`. InvalidArgument with their actual format.
absl::Status CheckImageHeader(std::string_view bytes, std::int64_t pixels_max = kImagePixelsMax);

// The pixels that Pillow's convert("RGB") gives, with one channel for a grey image: the stored values of a
// PNG without gamma, colour profile and transparency, of sixteen bits the high byte (of grey all above 255 is
// white); CMYK becomes RGB; the camera's orientation (EXIF) is ignored. The size is checked, and memory for the
// decoding reserved in the process' one budget of a gigabyte, before any is taken: it is given back with the image.
// InvalidArgument where the bytes end early or are damaged; the reason quotes none of them.
absl::StatusOr<Image> DecodeImage(std::string_view bytes, std::int64_t pixels_max = kImagePixelsMax);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_FILE_H_
