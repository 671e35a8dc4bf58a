// RandAugment, crops, and a whole augmentation.
#include "core/images/image_augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/images/image_colors.h"
#include "core/images/image_geometry.h"
#include "core/images/rand_augment.h"
#include "tests/core/images/image_files.h"

namespace inlier {
namespace {

using enum RandAugmentOperation;

Image Augmented(const v1::AugmentationSpec& spec, const Image& image, std::uint64_t number, int side = 8) {
  RandomStream stream(1, "augment", number);
  return AugmentImage(image, spec, side, image.channels, stream);
}

TEST(RandAugmentTest, OperationsAreThoseOfTheTableAtTheirStrength) {
  const Image image = Ramp(10, 10, 3);
  const auto at = [&image](RandAugmentOperation operation, bool negative = false) {
    return ApplyRandAugment(image, operation, 5, negative);
  };
  EXPECT_EQ(at(kAutocontrast), Autocontrast(image));
  EXPECT_EQ(at(kEqualize), Equalize(image));
  EXPECT_EQ(at(kInvert), Invert(image));
  EXPECT_EQ(at(kRotate), Rotate(image, 15));
  EXPECT_EQ(at(kRotate, true), Rotate(image, -15));
  EXPECT_EQ(at(kPosterize), Posterize(image, 6));
  EXPECT_EQ(at(kSolarize), Solarize(image, 128));
  EXPECT_EQ(at(kColor), ScaleColor(image, 1.45));
  EXPECT_EQ(at(kContrast, true), ScaleContrast(image, 0.55));
  EXPECT_EQ(at(kBrightness), ScaleBrightness(image, 1.45));
  EXPECT_EQ(at(kSharpness, true), ScaleSharpness(image, 0.55));
  EXPECT_EQ(at(kShearX), Shear(image, 0.15, 0));
  EXPECT_EQ(at(kShearY, true), Shear(image, 0, -0.15));
  EXPECT_EQ(at(kTranslateX), Translate(image, 2.25, 0));
  EXPECT_EQ(at(kTranslateY, true), Translate(image, 0, -2.25));
}

TEST(RandAugmentTest, OperationsWithAStrengthDoNothingAtStrengthZero) {
  const Image image = Ramp(10, 10, 3);
  for (const RandAugmentOperation operation : OperationsOf(v1::AugmentationSpec::TORCHVISION)) {
    const int i = static_cast<int>(operation);
    if (operation == kAutocontrast || operation == kEqualize || operation == kInvert) continue;
    EXPECT_EQ(ApplyRandAugment(image, operation, 0, false), image) << i;
    EXPECT_NE(ApplyRandAugment(image, operation, 10, false), image) << i;
  }
}

v1::AugmentationSpec Layers(std::uint32_t layers, double magnitude = 7) {
  v1::AugmentationSpec spec;
  spec.set_rand_augment_layers(layers);
  spec.set_rand_augment_magnitude(magnitude);
  return spec;
}

TEST(RandAugmentTest, EveryOperationIsDrawnAndLayersFollowEachOther) {
  const Image image = Ramp(9, 9, 3);
  for (const auto list : {v1::AugmentationSpec::TORCHVISION, v1::AugmentationSpec::TIMM}) {
    v1::AugmentationSpec spec = Layers(1);
    spec.set_rand_augment_operations(list);
    std::set<std::vector<std::uint8_t>> seen;
    std::set<std::vector<std::uint8_t>> single;
    for (const RandAugmentOperation operation : OperationsOf(list)) {
      for (const bool negative : {false, true})
        single.insert(ApplyRandAugment(image, operation, 7, negative).bytes);
    }
    for (std::uint64_t i = 0; i < 400; ++i) {
      RandomStream stream(3, "test", i);
      seen.insert(RandAugment(image, spec, stream).bytes);
    }
    EXPECT_EQ(seen, single);
  }
  RandomStream twice(3, "test", 5), one(3, "test", 5);
  const Image two_layers = RandAugment(image, Layers(2), twice);
  EXPECT_EQ(two_layers, RandAugment(RandAugment(image, Layers(1), one), Layers(1), one));
}

// timm, data/auto_augment.py: 15 operations; at the strength of 9 posterize keeps one bit and solarize-add adds
// 99 of 110.
TEST(RandAugmentTest, TimmsListHasSolarizeAddAndItsOwnPosterize) {
  const auto timm = OperationsOf(v1::AugmentationSpec::TIMM);
  const auto torchvision = OperationsOf(v1::AugmentationSpec::TORCHVISION);
  EXPECT_EQ(timm.size(), 15u);
  EXPECT_EQ(torchvision.size(), 14u);
  EXPECT_EQ(std::set(timm.begin(), timm.end()).size(), 15u);
  EXPECT_EQ(std::count(timm.begin(), timm.end(), kPosterize), 0);
  const Image image = ImageOf(1, 4, 1, {0, 100, 128, 255});
  EXPECT_EQ(ApplyRandAugment(image, kSolarizeAdd, 9, false).bytes,
            (std::vector<std::uint8_t>{99, 199, 128, 255}));
  EXPECT_EQ(ApplyRandAugment(image, kSolarizeAdd, 0, false), image);
  EXPECT_EQ(ApplyRandAugment(image, kPosterizeOfTimm, 9, false).bytes,
            (std::vector<std::uint8_t>{0, 0, 128, 128}));
  EXPECT_EQ(ApplyRandAugment(image, kPosterizeOfTimm, 0, false), Posterize(image, 4));
  EXPECT_EQ(ApplyRandAugment(image, kPosterizeOfTimm, 10, false), Posterize(image, 0));
}

TEST(RandAugmentTest, AnOperationIsAppliedWithItsChance) {
  const Image image = Ramp(9, 9, 3);
  v1::AugmentationSpec spec = Layers(1);
  spec.set_rand_augment_probability(0.5);
  int unchanged = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    RandomStream stream(3, "test", i), same(3, "test", i);
    const Image result = RandAugment(image, spec, stream);
    if (result == image) {
      ++unchanged;
    } else {
      EXPECT_EQ(result, RandAugment(image, Layers(1), same)) << "the chance changes no draw before it";
    }
  }
  EXPECT_NEAR(unchanged, 1000, 4 * 22.4);  // Four standard deviations.
  spec.set_rand_augment_probability(0);
  RandomStream stream(3, "test", 5);
  EXPECT_EQ(RandAugment(image, spec, stream), image);
}

TEST(ImageAugmentationTest, WithEverythingOffAnImageIsAsInValidation) {
  for (const int channels : {1, 3}) {
    const Image image = Ramp(12, 17, channels);
    RandomStream stream(1, "augment", 0);
    EXPECT_EQ(AugmentImage(image, v1::AugmentationSpec(), 8, 1, stream), PrepareImage(image, 8, 1));
    EXPECT_EQ(stream.Next(), RandomStream(1, "augment", 0).Next()) << "something was drawn";
  }
  const Image square = Ramp(8, 8, 1);
  EXPECT_EQ(PrepareImage(square, 8, 1), square);
  EXPECT_EQ(PrepareImage(square, 8, 3), ToChannels(square, 3));
}

// As timm with crop_pct: the shorter side to floor(side / crop), then the middle.
TEST(ImageAugmentationTest, AnEvaluationCropScalesFurtherAndCutsTheMiddle) {
  const Image image = Ramp(40, 50, 3);
  const Image scaled =
      Resize(image, 33, 41, ResizeFilter::kBicubic);  // 30 / 0.9 = 33.3, 50 * 33 / 40 = 41.25.
  EXPECT_EQ(PrepareImage(image, 30, 3, 0.9), Crop(scaled, 2, 6, 30, 30));  // 1.5 to even, 5.5 to even.
  EXPECT_NE(PrepareImage(image, 30, 3, 0.9), PrepareImage(image, 30, 3));
  EXPECT_EQ(PrepareImage(image, 30, 3, 1), PrepareImage(image, 30, 3));
  // 224 / 0.9 = 248.9: the size that timm evaluates ViT-S/16 with.
  EXPECT_EQ(PrepareImage(Ramp(248, 248, 1), 224, 1, 0.9), Crop(Ramp(248, 248, 1), 12, 12, 224, 224));
}

TEST(ImageAugmentationTest, FlipsHaveTheirChance) {
  const Image image = Ramp(8, 8, 1);
  v1::AugmentationSpec spec;
  spec.set_horizontal_flip(0.25);
  int flipped = 0;
  for (int i = 0; i < 4000; ++i) {
    const Image result = Augmented(spec, image, i);
    ASSERT_TRUE(result == image || result == Mirror(image));
    if (result != image) ++flipped;
  }
  EXPECT_NEAR(flipped, 1000, 4 * 27.4);  // Four standard deviations.
  spec.set_horizontal_flip(1);
  EXPECT_EQ(Augmented(spec, image, 1), Mirror(image));
}

TEST(ImageAugmentationTest, PaddedCropsReachEveryPlace) {
  const Image image = Ramp(8, 8, 1);
  v1::AugmentationSpec spec;
  spec.set_crop_padding(1);
  std::set<std::vector<std::uint8_t>> seen, expected;
  for (int i = 0; i < 300; ++i) seen.insert(Augmented(spec, image, i).bytes);
  for (const int right : {-1, 0, 1}) {
    for (const int down : {-1, 0, 1}) expected.insert(Translate(image, right, down).bytes);
  }
  EXPECT_EQ(seen, expected);
}

// Each pixel's value is its place, so a crop's share and ratio can be read from the corners.
TEST(ImageAugmentationTest, RandomCropsKeepTheirShareOfTheArea) {
  constexpr int kSide = 200;
  Image places(kSide, kSide, 3);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      places.At(y, x)[0] = static_cast<std::uint8_t>(x);
      places.At(y, x)[1] = static_cast<std::uint8_t>(y);
    }
  }
  v1::AugmentationSpec spec;
  spec.set_crop_scale(0.25);
  double smallest = 1, largest = 0, tallest = 9, widest = 0;
  for (int i = 0; i < 500; ++i) {
    const Image crop = Augmented(spec, places, i, 50);
    // The first and last pixel's middles are half an output pixel inside.
    const double width = (crop.At(0, 49)[0] - crop.At(0, 0)[0]) * 50.0 / 49;
    const double height = (crop.At(49, 0)[1] - crop.At(0, 0)[1]) * 50.0 / 49;
    const double share = width * height / (kSide * kSide);
    smallest = std::min(smallest, share), largest = std::max(largest, share);
    tallest = std::min(tallest, width / height), widest = std::max(widest, width / height);
  }
  EXPECT_NEAR(smallest, 0.25, 0.02);
  EXPECT_GT(largest, 0.9);
  EXPECT_LT(largest, 1.03);
  EXPECT_NEAR(tallest, 0.75, 0.04);
  EXPECT_NEAR(widest, 4.0 / 3, 0.06);
}

TEST(ImageAugmentationTest, AnImageTooLongForAnyCropGivesItsMiddle) {
  Image strip(4, 100, 1);
  for (int x = 47; x < 53; ++x) {
    for (int y = 0; y < 4; ++y) strip.At(y, x)[0] = 255;
  }
  v1::AugmentationSpec spec;
  spec.set_crop_scale(0.9);
  // Five wide, four high: all of it white.
  const Image crop = Augmented(spec, strip, 3, 4);
  EXPECT_EQ(crop.bytes, std::vector<std::uint8_t>(16, 255));
}

TEST(ImageAugmentationTest, TheFilterOfCropsIsTheirs) {
  const Image image = Ramp(30, 30, 1);
  const auto crop = [&](v1::AugmentationSpec::Interpolation interpolation, int number) {
    v1::AugmentationSpec spec;
    spec.set_crop_scale(1);
    spec.set_interpolation(interpolation);
    return Augmented(spec, image, number, 10);
  };
  EXPECT_NE(crop(v1::AugmentationSpec::BILINEAR, 0), crop(v1::AugmentationSpec::BICUBIC, 0));
  EXPECT_EQ(crop(v1::AugmentationSpec::RANDOM, 4), crop(v1::AugmentationSpec::RANDOM, 4));
}

TEST(ImageAugmentationTest, ColourJitterScalesByAtMostItsStrength) {
  const Image grey = ImageOf(1, 1, 3, {100, 100, 100});  // Contrast and saturation leave it alone.
  v1::AugmentationSpec spec;
  spec.set_color_jitter(0.4);
  int smallest = 255, largest = 0;
  for (int i = 0; i < 500; ++i) {
    const int value = Augmented(spec, grey, i, 1).bytes[0];
    smallest = std::min(smallest, value), largest = std::max(largest, value);
  }
  EXPECT_GE(smallest, 60);
  EXPECT_LE(smallest, 62);
  EXPECT_LE(largest, 140);
  EXPECT_GE(largest, 138);
}

TEST(ImageAugmentationTest, EveryOperationTogetherIsAFunctionOfTheStream) {
  v1::AugmentationSpec spec;
  spec.set_crop_scale(0.3);
  spec.set_crop_padding(2);
  spec.set_horizontal_flip(0.5);
  spec.set_color_jitter(0.4);
  spec.set_rand_augment_layers(2);
  spec.set_interpolation(v1::AugmentationSpec::RANDOM);
  const Image image = Ramp(20, 24, 3);
  std::set<std::vector<std::uint8_t>> seen;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Augmented(spec, image, i), Augmented(spec, image, i));
    seen.insert(Augmented(spec, image, i).bytes);
  }
  EXPECT_EQ(seen.size(), 20);
}

}  // namespace
}  // namespace inlier
