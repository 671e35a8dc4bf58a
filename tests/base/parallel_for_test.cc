#include "base/parallel_for.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace inlier {
namespace {

TEST(ParallelForTest, EveryStepRunsOnce) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> runs(100);
    const auto status = ParallelFor(100, threads, [&](std::int64_t i) {
      ++runs[i];
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok());
    EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](const auto& count) { return count == 1; }));
  }
  EXPECT_TRUE(ParallelFor(0, 4, [](std::int64_t) { return absl::InternalError("ran"); }).ok());
}

TEST(ParallelForTest, TheFirstErrorInOrderIsReturned) {
  for (const int threads : {1, 4}) {
    const auto status = ParallelFor(1000, threads, [](std::int64_t i) {
      return i < 17 ? absl::OkStatus() : absl::InvalidArgumentError(std::to_string(i));
    });
    EXPECT_EQ(std::string(status.message()), "17");
  }
}

TEST(ParallelForTest, ProgressGrowsToTheEnd) {
  std::vector<std::int64_t> reports;
  ASSERT_TRUE(ParallelFor(
                  5, 1, [](std::int64_t) { return absl::OkStatus(); },
                  [&](std::int64_t started) { reports.push_back(started); })
                  .ok());
  EXPECT_EQ(reports, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace inlier
