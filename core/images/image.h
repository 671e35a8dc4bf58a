// One image as bytes.
#ifndef INLIER_CORE_IMAGES_IMAGE_H_
#define INLIER_CORE_IMAGES_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace inlier {

// Rows from the top, pixels from the left, a pixel's channels together. One channel is grey, three are red,
// green and blue.
struct Image {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<std::uint8_t> bytes;  // height * width * channels.
  // Its share of the memory for decoding (DecodeBudget), until its end. Null for images of other origin.
  std::shared_ptr<const void> reservation = nullptr;

  Image() = default;
  // Black.
  Image(int height, int width, int channels)
      : height(height),
        width(width),
        channels(channels),
        bytes(static_cast<std::size_t>(height) * width * channels) {}

  std::uint8_t* At(int y, int x) { return &bytes[(static_cast<std::size_t>(y) * width + x) * channels]; }
  const std::uint8_t* At(int y, int x) const {
    return &bytes[(static_cast<std::size_t>(y) * width + x) * channels];
  }

  friend bool operator==(const Image& a, const Image& b) {
    return a.height == b.height && a.width == b.width && a.channels == b.channels && a.bytes == b.bytes;
  }
};

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_H_
