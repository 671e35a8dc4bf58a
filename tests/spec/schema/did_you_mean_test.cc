#include "spec/schema/did_you_mean.h"

#include "gtest/gtest.h"

namespace inlier {
namespace {

TEST(DidYouMeanTest, CountsEditsAndSwaps) {
  EXPECT_EQ(EditDistance("gamma", "gamma", 4), 0u);
  EXPECT_EQ(EditDistance("gamma", "GAMMA", 4), 0u);
  EXPECT_EQ(EditDistance("gamma", "gama", 4), 1u);
  EXPECT_EQ(EditDistance("gamma", "gmama", 4), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting", 4), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting", 2), 3u) << "limit + 1 means: more than the limit";
  EXPECT_EQ(EditDistance("", "abc", 4), 3u);
}

TEST(DidYouMeanTest, NamesTheNearestWordOrElseTheFewThereAre) {
  EXPECT_EQ(DidYouMean("gama", {"alpha", "gamma"}), "; did you mean \"gamma\"?");
  EXPECT_EQ(DidYouMean("delta", {"alpha", "gamma"}), "; known: alpha, gamma");
  EXPECT_EQ(DidYouMean("delta", {}), "");
  EXPECT_EQ(DidYouMean("delta", std::vector<std::string>(15, "gamma")), "");
  EXPECT_EQ(Nearest("tyni", {"small", "tiny"}), "tiny");
  EXPECT_EQ(Nearest("clip", {"vanilla", "clipped"}), "clipped") << "a beginning";
  EXPECT_EQ(Nearest("bits", {"batches", "steps"}), "");
  EXPECT_EQ(Nearest("0.3", {"0.1", "0.2"}), "") << "another number, not a misspelt one";
  EXPECT_EQ(Nearest("1.3B", {"350m", "1.3b"}), "1.3b");
}

TEST(DidYouMeanTest, LongWordsCostNothing) {
  EXPECT_EQ(Nearest(std::string(1'000'000, 'a'), {std::string(1'000'000, 'b')}), "");
}

}  // namespace
}  // namespace inlier
