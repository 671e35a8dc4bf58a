#include "core/images/image_mixing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace inlier {
namespace {

TEST(ImageMixingTest, SharesAreDrawnFromBeta) {
  // The variance of Beta(a, a) is 1 / (4 (2 a + 1)).
  for (const double alpha : {0.2, 0.8, 1.0, 5.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      RandomStream stream(2, "beta", i);
      const double share = DrawBeta(alpha, stream);
      ASSERT_GE(share, 0);
      ASSERT_LE(share, 1);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kDraws, 0.5, 4 * std::sqrt(variance / kDraws)) << alpha;
    EXPECT_NEAR(squares / kDraws / variance, 1, 0.03) << alpha;
  }
}

TEST(ImageMixingTest, AVerySmallAlphaGivesOneImageOrTheOther) {
  int ones = 0;
  for (int i = 0; i < 400; ++i) {
    RandomStream stream(2, "beta", i);
    const double share = DrawBeta(1e-4, stream);
    ASSERT_TRUE(share < 0.01 || share > 0.99) << share;
    if (share > 0.99) ++ones;
  }
  EXPECT_NEAR(ones, 200, 40);
}

TEST(ImageMixingTest, TheShareOfACutIsTheRestOfItsBox) {
  int cut_at_border = 0;
  for (int i = 0; i < 500; ++i) {
    RandomStream stream(4, "mix", i);
    const ImageMix mix = DrawImageMix(0, 1, 20, stream);
    ASSERT_EQ(mix.kind, ImageMix::Kind::kCutmix);
    ASSERT_LE(0, mix.top);
    ASSERT_LE(mix.top, mix.bottom);
    ASSERT_LE(mix.bottom, 20);
    ASSERT_LE(0, mix.left);
    ASSERT_LE(mix.left, mix.right);
    ASSERT_LE(mix.right, 20);
    const int height = mix.bottom - mix.top, width = mix.right - mix.left;
    ASSERT_DOUBLE_EQ(mix.share, 1 - height * width / 400.0);
    if (height != width) ++cut_at_border;
  }
  EXPECT_GT(cut_at_border, 100);
}

TEST(ImageMixingTest, OneAlphaChoosesAndTwoTakeTurnsByChance) {
  int cuts = 0;
  for (int i = 0; i < 400; ++i) {
    RandomStream only(4, "mix", i), both(4, "mix", i);
    EXPECT_EQ(DrawImageMix(0.8, 0, 20, only).kind, ImageMix::Kind::kMixup);
    if (DrawImageMix(0.8, 1, 20, both).kind == ImageMix::Kind::kCutmix) ++cuts;
  }
  EXPECT_NEAR(cuts, 200, 40);
}

}  // namespace
}  // namespace inlier
