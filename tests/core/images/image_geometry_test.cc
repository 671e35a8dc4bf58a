#include "core/images/image_geometry.h"

#include <gtest/gtest.h>

#include "tests/core/images/image_files.h"

namespace inlier {
namespace {

const Image kSquare = ImageOf(3, 3, 1, {10, 20, 30, 40, 50, 60, 70, 80, 90});

TEST(ImageGeometryTest, ACropIsThePixelsOfItsBox) {
  EXPECT_EQ(Crop(kSquare, 1, 0, 2, 2), ImageOf(2, 2, 1, {40, 50, 70, 80}));
  EXPECT_EQ(Crop(ImageOf(1, 2, 3, {1, 2, 3, 4, 5, 6}), 0, 1, 1, 1), ImageOf(1, 1, 3, {4, 5, 6}));
}

TEST(ImageGeometryTest, PaddingIsBlack) {
  EXPECT_EQ(PadWithBlack(ImageOf(1, 2, 1, {5, 6}), 1),
            ImageOf(3, 4, 1, {0, 0, 0, 0, 0, 5, 6, 0, 0, 0, 0, 0}));
}

TEST(ImageGeometryTest, AMirrorTurnsRowsAboutPixelByPixel) {
  EXPECT_EQ(Mirror(kSquare), ImageOf(3, 3, 1, {30, 20, 10, 60, 50, 40, 90, 80, 70}));
  EXPECT_EQ(Mirror(ImageOf(1, 2, 3, {1, 2, 3, 4, 5, 6})), ImageOf(1, 2, 3, {4, 5, 6, 1, 2, 3}));
}

TEST(ImageGeometryTest, HalfTheSizeOfAFlatImageIsFlat) {
  Image flat(8, 6, 3);
  for (std::size_t i = 0; i < flat.bytes.size(); ++i) flat.bytes[i] = static_cast<std::uint8_t>(100 + i % 3);
  for (const ResizeFilter filter : {ResizeFilter::kBilinear, ResizeFilter::kBicubic}) {
    for (const auto& [height, width] : {std::pair(4, 3), {16, 12}, {5, 11}}) {
      const Image resized = Resize(flat, height, width, filter);
      ASSERT_EQ(resized.bytes.size(), std::size_t(height * width * 3));
      for (std::size_t i = 0; i < resized.bytes.size(); ++i) ASSERT_EQ(resized.bytes[i], 100 + i % 3);
    }
  }
}

// A filter as wide as the shrinking needs, computed by hand: to half the width, output 0 lies between inputs
// 0 and 1 and sees 0, 1, 2 with the triangle's weights 3/4, 3/4, 1/4, that is 3/7, 3/7, 1/7.
TEST(ImageGeometryTest, ShrinkingIsAntialiased) {
  EXPECT_EQ(Resize(ImageOf(1, 4, 1, {0, 70, 140, 0}), 1, 2, ResizeFilter::kBilinear),
            ImageOf(1, 2, 1, {50, 70}));
}

// To twice the width: output 1 lies at 0.25 of the way from input 0 to input 1.
TEST(ImageGeometryTest, GrowingInterpolates) {
  EXPECT_EQ(Resize(ImageOf(1, 2, 1, {0, 100}), 1, 4, ResizeFilter::kBilinear),
            ImageOf(1, 4, 1, {0, 25, 75, 100}));
  // Keys' cubic, a = -0.5, at distances 1.25, 0.25, 0.75, 1.75: -9/128, 111/128, 29/128, -3/128.
  const Image cubic = Resize(ImageOf(1, 4, 1, {64, 128, 192, 80}), 1, 8, ResizeFilter::kBicubic);
  EXPECT_EQ(cubic.bytes[3], 148);  // (64 * -9 + 128 * 111 + 192 * 29 + 80 * -3) / 128 = 148.1
}

TEST(ImageGeometryTest, TheShorterSideIsScaledAndTheMiddleCut) {
  const Image wide = Resize(kSquare, 4, 10, ResizeFilter::kBilinear);
  EXPECT_EQ(
      ResizeToMiddle(wide, 2, 2, ResizeFilter::kBicubic),
      Crop(Resize(wide, 2, 5, ResizeFilter::kBicubic), 0, 2, 2, 2));  // A half pixel is rounded to even.
  EXPECT_EQ(ResizeToMiddle(ImageOf(1, 4, 1, {1, 2, 3, 4}), 1, 1, ResizeFilter::kBicubic),
            ImageOf(1, 1, 1, {3}));
  EXPECT_EQ(ResizeToMiddle(ImageOf(3, 1, 1, {1, 2, 3}), 1, 1, ResizeFilter::kBicubic), ImageOf(1, 1, 1, {2}));
}

TEST(ImageGeometryTest, AQuarterTurnIsCounterClockwise) {
  EXPECT_EQ(Rotate(kSquare, 90), ImageOf(3, 3, 1, {30, 60, 90, 20, 50, 80, 10, 40, 70}));
  EXPECT_EQ(Rotate(kSquare, -90), ImageOf(3, 3, 1, {70, 40, 10, 80, 50, 20, 90, 60, 30}));
  EXPECT_EQ(Rotate(ImageOf(2, 2, 1, {1, 2, 3, 4}), 90), ImageOf(2, 2, 1, {2, 4, 1, 3}));
  EXPECT_EQ(Rotate(kSquare, 0), kSquare);
}

TEST(ImageGeometryTest, ATurnFillsWithBlack) {
  const Image turned = Rotate(kSquare, 45);
  EXPECT_EQ(turned.bytes[4], 50);
  // The corner at distance sqrt(2) comes from 0.41 of a pixel outside: 0.59 of the edge pixel in the middle.
  EXPECT_EQ(turned.bytes[0], 12);  // 20 * (2 - sqrt(2)) = 11.7
  EXPECT_EQ(turned.bytes[2], 35);  // 60 * (2 - sqrt(2)) = 35.1
}

TEST(ImageGeometryTest, AShearMovesRowsOrColumnsByTheirDistance) {
  EXPECT_EQ(Shear(kSquare, 1, 0), ImageOf(3, 3, 1, {20, 30, 0, 40, 50, 60, 0, 70, 80}));
  EXPECT_EQ(Shear(kSquare, 0, 1), ImageOf(3, 3, 1, {40, 20, 0, 70, 50, 30, 0, 80, 60}));
  EXPECT_EQ(Shear(kSquare, -1, 0), ImageOf(3, 3, 1, {0, 10, 20, 40, 50, 60, 80, 90, 0}));
}

TEST(ImageGeometryTest, ATranslationMovesEveryPixel) {
  EXPECT_EQ(Translate(kSquare, 1, 0), ImageOf(3, 3, 1, {0, 10, 20, 0, 40, 50, 0, 70, 80}));
  EXPECT_EQ(Translate(kSquare, 0, -1), ImageOf(3, 3, 1, {40, 50, 60, 70, 80, 90, 0, 0, 0}));
  EXPECT_EQ(Translate(kSquare, 0.5, 0), ImageOf(3, 3, 1, {5, 15, 25, 20, 45, 55, 35, 75, 85}));
  EXPECT_EQ(Translate(kSquare, 5, 0), Image(3, 3, 1));
}

}  // namespace
}  // namespace inlier
