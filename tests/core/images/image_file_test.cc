#include "core/images/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/images/image_files.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// One colour: JPEG keeps it, except for rounding.
Image Plain(int height, int width, std::vector<std::uint8_t> pixel) {
  Image image(height, width, static_cast<int>(pixel.size()));
  for (std::size_t i = 0; i < image.bytes.size(); ++i) image.bytes[i] = pixel[i % pixel.size()];
  return image;
}

int LargestDifference(const Image& a, const Image& b) {
  EXPECT_EQ(a.bytes.size(), b.bytes.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.bytes.size(); ++i)
    largest = std::max(largest, std::abs(a.bytes[i] - b.bytes[i]));
  return largest;
}

std::string Problem(const std::string& bytes) {
  const auto image = DecodeImage(bytes);
  EXPECT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(image.status().message());
}

TEST(ImageFileTest, PngsAreReadExactly) {
  for (const int channels : {1, 3}) {
    const Image image = Ramp(5, 7, channels);
    const auto read = DecodeImage(PngBytes(image));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, image);
    EXPECT_TRUE(CheckImageHeader(PngBytes(image)).ok());
  }
}

TEST(ImageFileTest, TransparentPixelsAreBlendedWithBlack) {
  const std::vector<std::uint8_t> pixels = {200, 100, 50, 255, 200, 100, 50, 0};
  const auto read = DecodeImage(PngBytes(1, 2, PNG_FORMAT_RGBA, pixels.data()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, ImageOf(1, 2, 3, {200, 100, 50, 0, 0, 0}));
}

TEST(ImageFileTest, JpegsAreReadWithTheirChannels) {
  for (const std::vector<std::uint8_t>& pixel : {std::vector<std::uint8_t>{77}, {200, 30, 90}}) {
    const Image image = Plain(9, 17, pixel);
    const auto read = DecodeImage(JpegBytes(image));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->height, 9);
    EXPECT_EQ(read->width, 17);
    EXPECT_EQ(read->channels, image.channels);
    EXPECT_LE(LargestDifference(*read, image), 2);
    EXPECT_TRUE(CheckImageHeader(JpegBytes(image)).ok());
  }
}

// ImageNet has some. Adobe stores inks inverted: 255 is none of it.
TEST(ImageFileTest, CmykBecomesRgb) {
  const auto read = DecodeImage(JpegBytes(Plain(8, 8, {255, 128, 0, 200}), TJPF_CMYK, TJSAMP_444));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->channels, 3);
  EXPECT_LE(LargestDifference(*read, Plain(8, 8, {200, 100, 0})), 2);
}

TEST(ImageFileTest, OtherFormatsAreRefused) {
  EXPECT_EQ(Problem("GIF89a…"),
            "neither a PNG nor a JPEG: convert it to one of them, or take it out of the folder");
  EXPECT_EQ(Problem(""), "neither a PNG nor a JPEG: convert it to one of them, or take it out of the folder");
  EXPECT_EQ(CheckImageHeader("GIF89a").message(), Problem("GIF89a"));
}

TEST(ImageFileTest, FilesThatEndEarlyAreRefused) {
  const std::string png = PngBytes(Ramp(40, 40, 3)), jpeg = JpegBytes(Ramp(40, 40, 3));
  EXPECT_THAT(Problem(png.substr(0, png.size() / 2)), StartsWith("a damaged PNG ("));
  EXPECT_THAT(Problem(jpeg.substr(0, jpeg.size() / 2)),
              testing::AllOf(StartsWith("a damaged JPEG ("), HasSubstr("remature end")));
  EXPECT_THAT(std::string(CheckImageHeader(png.substr(0, 12)).message()), StartsWith("a damaged PNG ("));
  EXPECT_THAT(std::string(CheckImageHeader(jpeg.substr(0, 12)).message()), StartsWith("a damaged JPEG ("));
}

TEST(ImageFileTest, ADamagedPngIsRefused) {
  std::string png = PngBytes(Ramp(40, 40, 1));
  png[png.size() / 2] ^= 0x10;
  EXPECT_THAT(Problem(png), StartsWith("a damaged PNG ("));
}

TEST(ImageFileTest, AnImageTooLargeIsRefusedByItsHeader) {
  std::string png = PngBytes(Ramp(4, 4, 1));
  // The width and height of IHDR, with their new check sum.
  const std::string size = BigEndian({1 << 15, 1 << 14});
  png.replace(16, 8, size);
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(png.data()) + 12, 17);
  png.replace(29, 4, BigEndian({static_cast<std::uint32_t>(sum)}));
  EXPECT_EQ(std::string(CheckImageHeader(png).message()),
            "an image of 32768x16384 pixels; at most 268435456 are supported: make it smaller");
}

}  // namespace
}  // namespace inlier
