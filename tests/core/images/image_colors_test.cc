#include "core/images/image_colors.h"

#include <gtest/gtest.h>

#include "tests/core/images/image_files.h"

namespace inlier {
namespace {

Image Row(std::vector<std::uint8_t> values) {
  const int width = static_cast<int>(values.size());
  return ImageOf(1, width, 1, std::move(values));
}

TEST(ImageColorsTest, GreyAndColoursBecomeEachOther) {
  EXPECT_EQ(ToChannels(Row({7, 9}), 3), ImageOf(1, 2, 3, {7, 7, 7, 9, 9, 9}));
  // 0.299, 0.587, 0.114 of 255: 76.2, 149.7, 29.1.
  EXPECT_EQ(ToChannels(ImageOf(1, 4, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 8, 8, 8}), 1),
            Row({76, 150, 29, 8}));
  EXPECT_EQ(ToChannels(Row({7}), 1), Row({7}));
}

TEST(ImageColorsTest, InvertSolarizeAndPosterize) {
  EXPECT_EQ(Invert(Row({0, 100, 255})), Row({255, 155, 0}));
  EXPECT_EQ(Solarize(Row({0, 99, 100, 255}), 100), Row({0, 99, 155, 0}));
  EXPECT_EQ(Solarize(Row({0, 255}), 256), Row({0, 255}));
  EXPECT_EQ(Posterize(Row({0x5f, 0xff}), 4), Row({0x50, 0xf0}));
  EXPECT_EQ(Posterize(Row({0x5f, 0xff}), 8), Row({0x5f, 0xff}));
  EXPECT_EQ(Posterize(Row({0x5f, 0xff}), 0), Row({0, 0}));
}

TEST(ImageColorsTest, AutocontrastStretchesEachChannel) {
  EXPECT_EQ(Autocontrast(Row({50, 100, 150})), Row({0, 127, 255}));
  EXPECT_EQ(Autocontrast(Row({9, 9})), Row({9, 9}));
  EXPECT_EQ(Autocontrast(ImageOf(1, 2, 3, {0, 10, 5, 255, 20, 5})), ImageOf(1, 2, 3, {0, 0, 5, 255, 255, 5}));
}

TEST(ImageColorsTest, EqualizeMakesValuesEquallyFrequent) {
  // 510 pixels of 3 and 5 and one of 9: a step of 510 / 255 = 2; a value becomes (1 + those below it) / 2.
  Image image(1, 511, 1);
  for (int i = 0; i < 511; ++i) image.bytes[i] = i < 100 ? 3 : i < 510 ? 5 : 9;
  const Image equal = Equalize(image);
  EXPECT_EQ(equal.bytes[0], 0);
  EXPECT_EQ(equal.bytes[100], 50);
  EXPECT_EQ(equal.bytes[510], 255);
  EXPECT_EQ(Equalize(Row({9, 9, 9})), Row({9, 9, 9}));
  EXPECT_EQ(Equalize(Row({1, 2, 3})), Row({1, 2, 3}));  // Too few pixels for a step.
}

TEST(ImageColorsTest, FactorsBlendWithBlackMeanOrGrey) {
  EXPECT_EQ(ScaleBrightness(Row({10, 101, 200}), 0.5), Row({5, 51, 100}));
  EXPECT_EQ(ScaleBrightness(Row({10, 200}), 1.5), Row({15, 255}));
  EXPECT_EQ(ScaleContrast(Row({50, 100, 153}), 0.5), Row({76, 101, 127}));  // The mean is 101.
  EXPECT_EQ(ScaleContrast(Row({50, 100, 153}), 2), Row({0, 99, 205}));
  EXPECT_EQ(ScaleColor(ImageOf(1, 1, 3, {255, 0, 0}), 0), ImageOf(1, 1, 3, {76, 76, 76}));
  EXPECT_EQ(ScaleColor(ImageOf(1, 1, 3, {200, 100, 100}), 2), ImageOf(1, 1, 3, {255, 70, 70}));  // Luma 130.
  EXPECT_EQ(ScaleColor(Row({1, 2}), 0), Row({1, 2}));
}

TEST(ImageColorsTest, SharpnessBlendsWithTheSmoothedImage) {
  const Image dot = ImageOf(3, 3, 1, {0, 0, 0, 0, 130, 0, 0, 0, 0});
  EXPECT_EQ(ScaleSharpness(dot, 0), ImageOf(3, 3, 1, {0, 0, 0, 0, 50, 0, 0, 0, 0}));
  EXPECT_EQ(ScaleSharpness(dot, 2), ImageOf(3, 3, 1, {0, 0, 0, 0, 210, 0, 0, 0, 0}));
  const Image frame = ImageOf(3, 3, 1, {13, 13, 13, 13, 0, 13, 13, 13, 26});
  EXPECT_EQ(ScaleSharpness(frame, 0), ImageOf(3, 3, 1, {13, 13, 13, 13, 9, 13, 13, 13, 26}));
}

TEST(ImageColorsTest, AFactorOfOneChangesNothing) {
  for (const int channels : {1, 3}) {
    const Image image = Ramp(6, 5, channels);
    for (const auto scale : {ScaleBrightness, ScaleContrast, ScaleColor, ScaleSharpness})
      EXPECT_EQ(scale(image, 1), image);
  }
}

}  // namespace
}  // namespace inlier
