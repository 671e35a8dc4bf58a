#include "coordinator/services/blocking_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace inlier {
namespace {

using testing::ElementsAre;

// Calls that run until they are released.
class BlockingPoolTest : public testing::Test {
 protected:
  // Why it was refused; empty: it was not.
  std::string Run(BlockingPool& pool, const std::string& caller, std::function<void()> work) {
    std::string refusal;
    pool.Run(caller, std::move(work),
             [&refusal](const absl::Status& status) { refusal = status.ToString(); });
    return refusal;
  }
  std::string RunUntilReleased(BlockingPool& pool, const std::string& caller, const std::string& name = "") {
    return Run(pool, caller, [this, name] {
      {
        const std::lock_guard lock(mutex_);
        begun_.push_back(name);
      }
      released_.wait();
    });
  }

  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  std::mutex mutex_;
  std::vector<std::string> begun_;
};

TEST_F(BlockingPoolTest, ACallerWithAllItMayHaveLeavesAThreadAndPlacesToOthers) {
  BlockingPool pool(BlockingPool::ByCaller(2, 4), "queries");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(RunUntilReleased(pool, "greedy"), "");
  EXPECT_EQ(
      RunUntilReleased(pool, "greedy"),
      "RESOURCE_EXHAUSTED: too many queries at once by greedy, at most 4; wait until one has its answer");
  std::promise<void> answered;
  EXPECT_EQ(Run(pool, "modest", [&answered] { answered.set_value(); }), "");
  answered.get_future().wait();  // While all of the other caller's are there.
  for (int i = 0; i < 4; ++i) {
    while (!RunUntilReleased(pool, "second").empty()) {  // The place of the answered one is let go after it.
    }
  }
  EXPECT_EQ(RunUntilReleased(pool, "third"),
            "RESOURCE_EXHAUSTED: too many queries at once, at most 8; try again in a moment");
  release_.set_value();
  pool.Join();
  EXPECT_EQ(begun_.size(), 8u);
}

TEST_F(BlockingPoolTest, CallersTakeTurns) {
  BlockingPool pool({}, "large requests");
  RunUntilReleased(pool, "a", "a1");
  for (const char* name : {"a2", "a3"}) RunUntilReleased(pool, "a", name);
  for (const char* name : {"b1", "b2"}) RunUntilReleased(pool, "b", name);
  RunUntilReleased(pool, "", "c1");
  release_.set_value();
  pool.Join();
  EXPECT_THAT(begun_, ElementsAre("a1", "b1", "c1", "a2", "b2", "a3"));
}

TEST_F(BlockingPoolTest, JoinWaitsForAllAndTakesNoOthers) {
  std::atomic<int> done{0};
  BlockingPool pool({.threads = 2}, "tables");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Run(pool, i % 2 == 0 ? "a" : "b", [&done] { ++done; }), "");
  pool.Join();
  EXPECT_EQ(done, 20);
  EXPECT_EQ(Run(pool, "a", [&done] { ++done; }),
            "UNAVAILABLE: the coordinator is stopping; call again when it is back");
  EXPECT_EQ(done, 20);
}

TEST_F(BlockingPoolTest, WhatACallHoldsIsLetGoBeforeItsPlace) {
  BlockingPool pool({.calls_per_caller_max = 1}, "tables");
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  EXPECT_EQ(Run(pool, "a", [held = std::move(held)] {}), "");
  while (!Run(pool, "a", [] {}).empty()) {
  }
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace inlier
