#include "base/service/awake_pollers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/time.h"

namespace inlier {
namespace {

// Whether so many events came in the end.
bool Reaches(const AwakePollers& pollers, std::uint64_t events) {
  const Timestamp until = MonotonicNow() + std::chrono::seconds(30);
  while (pollers.events() < events && MonotonicNow() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return pollers.events() >= events;
}

TEST(AwakePollersTest, EventsGoOnByThemselves) {
  const AwakePollers pollers;
  EXPECT_TRUE(Reaches(pollers, 4));
}

TEST(AwakePollersTest, AllShareOneAsLongAsSomebodyHoldsIt) {
  std::shared_ptr<AwakePollers> first = AwakePollers::Get();
  const std::weak_ptr<AwakePollers> seen = first;
  const std::shared_ptr<AwakePollers> second = AwakePollers::Get();
  EXPECT_EQ(first, second);
  first.reset();
  EXPECT_FALSE(seen.expired());
}

TEST(AwakePollersTest, EndsWhileACallIsUnderWayAndBeginsAgain) {
  for (int i = 0; i < 50; ++i) {
    const std::weak_ptr<AwakePollers> seen = AwakePollers::Get();
    EXPECT_TRUE(seen.expired());
  }
  EXPECT_TRUE(Reaches(*AwakePollers::Get(), 1));
}

TEST(AwakePollersTest, ThreadsMayTakeAndLeaveItAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 20; ++k) AwakePollers::Get();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Reaches(*AwakePollers::Get(), 1));
}

}  // namespace
}  // namespace inlier
