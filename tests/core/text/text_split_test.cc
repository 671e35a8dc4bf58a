#include "base/data/text_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace inlier {
namespace {

using testing::ElementsAre;

TEST(TextSplitTest, ValidationIsBehindTrainingInTheOrderOfItsHashes) {
  const TextSplit split = SplitByHash({0.9, 0.3, 0.5, 0.1, 0.3}, 0.4);
  EXPECT_EQ(split.train, 2u);
  EXPECT_THAT(split.order, ElementsAre(0, 2, 3, 1, 4));
  EXPECT_EQ(SplitByHash({0.9, 0.3}, 0.1).train, 2u);
}

TEST(TextSplitTest, AFractionThatLeavesAPartEmptyIsMovedUntilItDoesNot) {
  const std::vector<double> hashes = {0.9, 0.3, 0.5, 0.1, 0.9};
  EXPECT_EQ(FractionWithBothParts(hashes, 0.4), 0.4);
  EXPECT_THAT(SplitByHash(hashes, FractionWithBothParts(hashes, 0.001)).order, ElementsAre(0, 1, 2, 4, 3));
  EXPECT_THAT(SplitByHash(hashes, FractionWithBothParts(hashes, 0.99)).order, ElementsAre(0, 4, 3, 1, 2));
  const std::vector<double> zero = {0, 0.5};
  EXPECT_EQ(SplitByHash(zero, FractionWithBothParts(zero, 0.1)).train, 1u);
}

// In any order of the file each stretch of it has its share, and a text's side depends on nothing else.
TEST(TextSplitTest, ASortedFileIsSpread) {
  std::vector<double> hashes;
  for (int i = 0; i < 20000; ++i) hashes.push_back(HashOfText("word " + std::to_string(100000 + i)));
  const TextSplit split = SplitByHash(hashes, 0.1);
  std::vector<int> of_stretch(10, 0);
  for (std::size_t i = split.train; i < split.order.size(); ++i) ++of_stretch[split.order[i] / 2000];
  for (const int count : of_stretch) EXPECT_NEAR(count, 200, 4 * std::sqrt(180));
  EXPECT_EQ(std::set(split.order.begin(), split.order.end()).size(), 20000u);
  EXPECT_EQ(HashOfText("word 100007"), hashes[7]);
}

}  // namespace
}  // namespace inlier
