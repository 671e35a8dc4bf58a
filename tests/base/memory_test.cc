#include "base/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <vector>

namespace inlier {
namespace {

std::size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(MemoryTest, WhatIsFreeGoesBackToTheSystemAlsoBelowWhatIsUsed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps what is freed";
#endif
  constexpr std::size_t kBlock = 1000, kBlocks = 64'000;
  std::vector<std::unique_ptr<char[]>> blocks(kBlocks);
  for (auto& block : blocks) block = std::make_unique<char[]>(kBlock);
  const auto above = std::make_unique<char[]>(kBlock);
  for (auto& block : blocks) block.reset();
  const std::size_t before = ResidentBytes();
  ReturnFreeMemory();
  EXPECT_LT(ResidentBytes() + kBlocks * kBlock / 2, before);
}

}  // namespace
}  // namespace inlier
