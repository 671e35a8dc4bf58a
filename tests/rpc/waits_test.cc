#include "rpc/waits.h"

#include <gtest/gtest.h>

#include <chrono>

namespace inlier {
namespace {

using std::chrono::seconds;

constexpr Timestamp kStart{seconds(1000)};

struct CountedWait final : Waits::Wait {
  std::function<void()> GiveUp() override {
    return [this] { ++given_up; };
  }
  int given_up = 0;
};

TEST(WaitsTest, WaitsThatAreTooLongAreGivenUpAndOthersStay) {
  Waits waits(seconds(30));
  CountedWait old, young, ended;
  waits.Begin(old, kStart);
  waits.Begin(ended, kStart);
  waits.Begin(young, kStart + seconds(10));
  EXPECT_TRUE(waits.End(ended));
  waits.Expire(kStart + seconds(29));
  EXPECT_EQ(old.given_up, 0);
  waits.Expire(kStart + seconds(30));
  EXPECT_EQ(old.given_up, 1);
  EXPECT_EQ(young.given_up + ended.given_up, 0);
  EXPECT_FALSE(waits.End(old));  // It comes too late.
  EXPECT_TRUE(waits.End(young));
  waits.Expire(kStart + seconds(100));
  EXPECT_EQ(young.given_up, 0);
}

TEST(WaitsTest, TheLongestMakesRoomIfItIsLongEnough) {
  Waits waits(seconds(30));
  CountedWait first, second;
  waits.Begin(first, kStart);
  waits.Begin(second, kStart + seconds(1));
  EXPECT_FALSE(waits.GiveUpLongest(kStart + seconds(1), seconds(2)));
  EXPECT_TRUE(waits.GiveUpLongest(kStart + seconds(2), seconds(2)));
  EXPECT_EQ(first.given_up, 1);
  EXPECT_EQ(second.given_up, 0);
  EXPECT_TRUE(waits.End(second));
}

}  // namespace
}  // namespace inlier
