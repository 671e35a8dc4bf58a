// Inputs that run away end the process, by themselves and while they run.
#include "tests/fuzz/limits.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace inlier {

// The target: each word is a way to take too much.
void FuzzOne(std::string_view input) {
  const std::clock_t began = std::clock();
  const auto seconds = [began] { return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC; };
  if (input == "long") {
    while (seconds() < 0.3) continue;
  } else if (input == "endless") {
    while (seconds() < 60) continue;
  } else if (input == "large") {
    // Given back before the end; touched, or it would not be resident.
    std::vector<char> bytes(std::size_t{96} << 20, 'x');
    bytes[bytes.size() / 2] = 'y';
  } else if (input == "growing") {
    std::vector<std::string> pieces;
    while (seconds() < 60) pieces.emplace_back(1 << 20, 'x');
  }
}

namespace {

constexpr InputLimits kLimits{.cpu_seconds = 0.2, .memory_mib = 64};

TEST(FuzzLimitsDeathTest, AnInputWithinTheLimitsPasses) {
  FuzzWithinLimits("short", kLimits);
  FuzzWithinLimits("long", {.cpu_seconds = 5, .memory_mib = 64});
}

TEST(FuzzLimitsDeathTest, AnInputThatTakesTooMuchTimeIsAFinding) {
  EXPECT_DEATH(FuzzWithinLimits("long", kLimits), "more processor time than");
  EXPECT_DEATH(FuzzWithinLimits("endless", kLimits), "more processor time than");
}

TEST(FuzzLimitsDeathTest, AnInputThatTakesTooMuchMemoryIsAFinding) {
  const InputLimits limits{.cpu_seconds = 30, .memory_mib = 64};
  EXPECT_DEATH(FuzzWithinLimits("large", limits), "more memory than");
  EXPECT_DEATH(FuzzWithinLimits("growing", limits), "more memory than");
  FuzzWithinLimits("large", {.cpu_seconds = 30, .memory_mib = 256});
}

TEST(FuzzLimitsTest, LibFuzzerHasTheSameLimits) {
  const InputLimits limits;
  EXPECT_EQ(LibFuzzerOptions(), "-timeout=" + std::to_string(limits.wall_seconds) +
                                    " -malloc_limit_mb=" + std::to_string(limits.memory_mib) +
                                    " -rss_limit_mb=" + std::to_string(4 * limits.memory_mib));
}

}  // namespace
}  // namespace inlier
