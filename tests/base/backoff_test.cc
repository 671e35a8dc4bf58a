#include "base/backoff.h"

#include "gtest/gtest.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;

TEST(BackoffTest, DoublesUpToTheLongest) {
  const Backoff backoff{.first = milliseconds(100), .longest = milliseconds(1000), .factor = 2, .jitter = 0};
  EXPECT_EQ(backoff.Wait(1, 0.5), milliseconds(100));
  EXPECT_EQ(backoff.Wait(2, 0.5), milliseconds(200));
  EXPECT_EQ(backoff.Wait(4, 0.5), milliseconds(800));
  EXPECT_EQ(backoff.Wait(5, 0.5), milliseconds(1000));
  EXPECT_EQ(backoff.Wait(100000, 0.5), milliseconds(1000)) << "the power overflows, the wait does not";
}

TEST(BackoffTest, JitterScalesTheWait) {
  const Backoff backoff{
      .first = milliseconds(100), .longest = milliseconds(1000), .factor = 2, .jitter = 0.2};
  EXPECT_NEAR(ToSeconds(backoff.Wait(1, 0.0)), 0.080, 1e-9);
  EXPECT_NEAR(ToSeconds(backoff.Wait(1, 0.5)), 0.100, 1e-9);
  EXPECT_NEAR(ToSeconds(backoff.Wait(1, 1.0)), 0.120, 1e-9);
}

TEST(BackoffTest, NoTriesYetWaitsAsAfterTheFirst) {
  const Backoff backoff{.first = milliseconds(100), .jitter = 0};
  EXPECT_EQ(backoff.Wait(0, 0.5), milliseconds(100));
  EXPECT_EQ(backoff.Wait(-3, 0.5), milliseconds(100));
}

}  // namespace
}  // namespace inlier
