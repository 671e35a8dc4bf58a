// Small image files, written through the libraries that read them.
#ifndef INLIER_TESTS_CORE_IMAGES_IMAGE_FILES_H_
#define INLIER_TESTS_CORE_IMAGES_IMAGE_FILES_H_

#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/images/image.h"

namespace inlier {

// An image of these bytes.
inline Image ImageOf(int height, int width, int channels, std::vector<std::uint8_t> bytes) {
  Image image(height, width, channels);
  EXPECT_EQ(bytes.size(), image.bytes.size());
  image.bytes = std::move(bytes);
  return image;
}

// Every pixel different.
inline Image Ramp(int height, int width, int channels) {
  Image image(height, width, channels);
  for (std::size_t i = 0; i < image.bytes.size(); ++i) image.bytes[i] = static_cast<std::uint8_t>(i * 7 + 3);
  return image;
}

// `format` is libpng's, such as PNG_FORMAT_RGB, and defines the layout of `pixels`.
inline std::string PngBytes(int height, int width, std::uint32_t format, const void* pixels) {
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  png.height = height;
  png.width = width;
  png.format = format;
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_to_memory(&png, nullptr, &size, 0, pixels, 0, nullptr), 0) << png.message;
  std::string bytes(size, '\0');
  EXPECT_NE(png_image_write_to_memory(&png, bytes.data(), &size, 0, pixels, 0, nullptr), 0) << png.message;
  bytes.resize(size);
  return bytes;
}

inline std::string PngBytes(const Image& image) {
  return PngBytes(image.height, image.width, image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB,
                  image.bytes.data());
}

inline std::string JpegBytes(const Image& image, int pixel_format, int sampling) {
  tjhandle handle = tjInitCompress();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(handle, image.bytes.data(), image.width, 0, image.height, pixel_format, &data, &size,
                        sampling, /*quality=*/100, TJFLAG_ACCURATEDCT),
            0)
      << tjGetErrorStr2(handle);
  const std::string bytes(reinterpret_cast<char*>(data), size);
  tjFree(data);
  tjDestroy(handle);
  return bytes;
}

inline std::string JpegBytes(const Image& image) {
  return image.channels == 1 ? JpegBytes(image, TJPF_GRAY, TJSAMP_GRAY)
                             : JpegBytes(image, TJPF_RGB, TJSAMP_444);
}

inline std::string BigEndian(std::vector<std::uint32_t> values) {
  std::string bytes;
  for (const std::uint32_t value : values) {
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xff);
  }
  return bytes;
}

// The bytes of IDX files.
inline std::string IdxImages(const std::vector<Image>& images) {
  std::string bytes = images[0].channels == 1 ? BigEndian({2051, static_cast<std::uint32_t>(images.size())})
                                              : BigEndian({2052, static_cast<std::uint32_t>(images.size())});
  bytes +=
      BigEndian({static_cast<std::uint32_t>(images[0].height), static_cast<std::uint32_t>(images[0].width)});
  if (images[0].channels != 1) bytes += BigEndian({static_cast<std::uint32_t>(images[0].channels)});
  for (const Image& image : images) bytes.append(image.bytes.begin(), image.bytes.end());
  return bytes;
}
inline std::string IdxLabels(const std::string& labels) {
  return BigEndian({2049, static_cast<std::uint32_t>(labels.size())}) + labels;
}

inline std::string Gzip(const std::string& content) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string bytes(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_IMAGES_IMAGE_FILES_H_
