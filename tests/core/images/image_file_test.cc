#include "core/images/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "core/images/decode_budget.h"
#include "tests/core/images/image_files.h"
#include "tests/support/peak_memory.h"

namespace inlier {
namespace {

using testing::AllOf;
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
    const auto read = DecodeImage(PngBytes(image)).value();
    EXPECT_EQ(read, image);
    EXPECT_TRUE(CheckImageHeader(PngBytes(image)).ok());
  }
}

TEST(ImageFileTest, JpegsAreReadWithTheirChannels) {
  for (const std::vector<std::uint8_t>& pixel : {std::vector<std::uint8_t>{77}, {200, 30, 90}}) {
    const Image image = Plain(9, 17, pixel);
    const auto read = DecodeImage(JpegBytes(image)).value();
    EXPECT_EQ(read.height, 9);
    EXPECT_EQ(read.width, 17);
    EXPECT_EQ(read.channels, image.channels);
    EXPECT_LE(LargestDifference(read, image), 2);
    EXPECT_TRUE(CheckImageHeader(JpegBytes(image)).ok());
  }
}

// ImageNet has some. Adobe stores inks inverted: 255 is none of it.
TEST(ImageFileTest, CmykBecomesRgb) {
  const auto read = DecodeImage(JpegBytes(Plain(8, 8, {255, 128, 0, 200}), TJPF_CMYK, TJSAMP_444)).value();
  EXPECT_EQ(read.channels, 3);
  EXPECT_LE(LargestDifference(read, Plain(8, 8, {200, 100, 0})), 2);
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

// A PNG with another size in its header.
std::string WithSize(std::string png, std::uint32_t width, std::uint32_t height) {
  // The width and height of IHDR, with their new check sum.
  png.replace(16, 8, BigEndian({width, height}));
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(png.data()) + 12, 17);
  return png.replace(29, 4, BigEndian({static_cast<std::uint32_t>(sum)}));
}

// Messages of libraries may hold bytes of the file.
TEST(ImageFileTest, ErrorsQuoteNoBytes) {
  std::string png = PngBytes(Ramp(4, 4, 1));
  png.replace(12, 4, "SECR");
  EXPECT_THAT(Problem(png), testing::Not(HasSubstr("SECR")));
  png = PngBytes(Ramp(40, 40, 1));
  const std::size_t data = png.find("IDAT");
  for (const char* name : {"SECR", "secr", "Secr"}) {
    png.replace(data, 4, name);
    EXPECT_THAT(Problem(png), AllOf(StartsWith("a damaged PNG ("), testing::Not(HasSubstr(name))));
  }
  std::string jpeg = JpegBytes(Ramp(40, 40, 3));
  for (std::size_t i = 4; i < jpeg.size(); i += 3) {
    std::string damaged = jpeg;
    damaged[i] = static_cast<char>(0xC7);
    const auto image = DecodeImage(damaged);
    if (image.ok()) continue;
    EXPECT_THAT(Problem(damaged), testing::AnyOf(StartsWith("an image of "), "a damaged JPEG (premature end)",
                                                 "a damaged JPEG (its data cannot be decoded)",
                                                 "a damaged JPEG (its header cannot be read)",
                                                 "a damaged JPEG (its header has no size)"))
        << i;
  }
}

TEST(ImageFileTest, TheModelsImageSizeLimitsThePixels) {
  EXPECT_EQ(PixelsMax(32), 1 << 26);
  EXPECT_EQ(PixelsMax(224), 1 << 26);
  EXPECT_EQ(PixelsMax(384), 1024 * 384 * 384);
  EXPECT_EQ(PixelsMax(512), kImagePixelsMax);
  EXPECT_EQ(PixelsMax(1'000'000'000), kImagePixelsMax);
  const std::string png = WithSize(PngBytes(Ramp(4, 4, 1)), 1 << 13, (1 << 13) + 1);
  EXPECT_FALSE(CheckImageHeader(png, PixelsMax(224)).ok());
  EXPECT_TRUE(CheckImageHeader(png, PixelsMax(384)).ok());
}

// Small files that announce large images, by many threads at once.
TEST(ImageFileTest, AllThreadsTogetherTakeBoundedMemory) {
  const std::string png = WithSize(PngBytes(Ramp(4, 4, 3)), 1 << 13, 1 << 13);  // 192 MiB of pixels.
  const auto decode = [&png] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i) threads.emplace_back([&png] { (void)DecodeImage(png, PixelsMax(224)); });
    for (std::thread& thread : threads) thread.join();
  };
  EXPECT_LT(PeakMib(decode), 1100);
}

TEST(ImageFileTest, TheBudgetIsGivenBackWithTheImage) {
  DecodeBudget budget(100);
  auto first = budget.Reserve(60);
  std::atomic<bool> reserved = false;
  std::thread waiting([&] {
    const auto second = budget.Reserve(60);
    reserved = true;
  });
  const auto small = budget.Reserve(40);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(reserved);
  first.reset();
  waiting.join();
  EXPECT_TRUE(reserved);
  const auto image = DecodeImage(PngBytes(Ramp(4, 4, 1)));
  EXPECT_NE(image->reservation, nullptr);
}

TEST(ImageFileTest, AnImageLargerThanTheBudgetIsAlone) {
  DecodeBudget budget(10);
  { const auto alone = budget.Reserve(1000); }
  const auto again = budget.Reserve(1000);
}

TEST(ImageFileTest, AnImageTooLargeIsRefusedByItsHeader) {
  const std::string png = WithSize(PngBytes(Ramp(4, 4, 1)), 1 << 15, 1 << 14);
  EXPECT_EQ(std::string(CheckImageHeader(png).message()),
            "an image of 32768x16384 pixels; at most 268435456 are supported at the model's image_size: make "
            "it smaller");
}

}  // namespace
}  // namespace inlier
