#include "coordinator/orchestration/cold_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "coordinator/orchestration/cold_arena.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

// Pages of the range that the process has in memory.
int PagesPresent(const char* begin, std::size_t bytes) {
  std::vector<std::uint64_t> entries(bytes / kPage);
  const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(begin) / kPage * sizeof(entries[0]));
  const std::size_t wanted = entries.size() * sizeof(entries[0]);
  EXPECT_EQ(::pread(pagemap, entries.data(), wanted, at), static_cast<ssize_t>(wanted));
  ::close(pagemap);
  int present = 0;
  for (const std::uint64_t entry : entries) present += static_cast<int>(entry >> 63);
  return present;
}

// With a scratch file.
class ColdMemoryTest : public testing::Test {
 protected:
  ColdMemoryTest() { EXPECT_TRUE(memory_.UseFileIn(folder_.path()).ok()); }
  void Cool(char* part, std::size_t bytes) {
    ASSERT_TRUE(memory_.Write(part, bytes));
    ASSERT_TRUE(memory_.Sync().ok());
    ASSERT_TRUE(memory_.Map(part, bytes));
  }

  const TemporaryFolder folder_;
  ColdMemory memory_;
};
using ColdArenaTest = ColdMemoryTest;

TEST_F(ColdMemoryTest, WhatIsCooledLeavesMemoryAndIsThereWhenItIsRead) {
  memory_.Reserve(3 * kPage);
  char* const bytes = memory_.Reserve(64 * kPage);
  for (std::size_t i = 0; i < 64 * kPage; ++i) bytes[i] = static_cast<char>(i * 7 + i / kPage);
  EXPECT_EQ(PagesPresent(bytes, 64 * kPage), 64);
  Cool(bytes + 2 * kPage, 50 * kPage);
  EXPECT_EQ(PagesPresent(bytes, 64 * kPage), 14);
  EXPECT_EQ(memory_.cooled_bytes(), 50 * kPage);
  for (std::size_t i = 0; i < 64 * kPage; ++i) ASSERT_EQ(bytes[i], static_cast<char>(i * 7 + i / kPage)) << i;
}

TEST_F(ColdMemoryTest, WhatIsWrittenAfterwardsStaysAndIsCooledAgain) {
  char* const bytes = memory_.Reserve(4 * kPage);
  std::memset(bytes, 'a', 4 * kPage);
  Cool(bytes, 4 * kPage);
  bytes[kPage] = 'b';
  memory_.Drop();
  EXPECT_EQ(bytes[kPage], 'b');
  EXPECT_EQ(bytes[kPage + 1], 'a');
  Cool(bytes, 4 * kPage);
  EXPECT_EQ(PagesPresent(bytes, 4 * kPage), 0);
  EXPECT_EQ(bytes[kPage], 'b');
  EXPECT_EQ(bytes[3 * kPage], 'a');
  EXPECT_EQ(memory_.cooled_bytes(), 4 * kPage);
}

TEST_F(ColdMemoryTest, WhatWasReadGoesAgain) {
  char* const bytes = memory_.Reserve(32 * kPage);
  std::memset(bytes, 'a', 32 * kPage);
  Cool(bytes, 32 * kPage);
  EXPECT_EQ(bytes[5 * kPage], 'a');
  EXPECT_GT(PagesPresent(bytes, 32 * kPage), 0);
  memory_.Drop();
  // The system may keep some for a while.
  EXPECT_LT(PagesPresent(bytes, 32 * kPage), 32);
  EXPECT_EQ(bytes[31 * kPage], 'a');
}

TEST_F(ColdMemoryTest, TheFileHasNoName) {
  char* const bytes = memory_.Reserve(kPage);
  Cool(bytes, kPage);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  ColdMemory other;
  const absl::Status nowhere = other.UseFileIn(folder_.path() / "not there");
  EXPECT_NE(std::string(nowhere.message()).find("not there: no scratch file"), std::string::npos) << nowhere;
}

TEST(ColdMemoryFileTest, WithoutAFileOrForAPartThatIsNoneNothingIsCooled) {
  const TemporaryFolder folder;
  ColdMemory memory;
  char* const before = memory.Reserve(2 * kPage);
  before[0] = 'x';
  EXPECT_FALSE(memory.Write(before, kPage));
  EXPECT_FALSE(memory.Map(before, kPage));
  EXPECT_TRUE(memory.Sync().ok());
  ASSERT_TRUE(memory.UseFileIn(folder.path()).ok());
  EXPECT_TRUE(memory.Write(before, kPage));
  EXPECT_FALSE(memory.Write(before, kPage / 2));
  EXPECT_FALSE(memory.Write(before + 16, kPage));
  EXPECT_FALSE(memory.Write(before, 3 * kPage));
  std::vector<char> elsewhere(3 * kPage);
  EXPECT_FALSE(memory.Write(elsewhere.data(), kPage));
  EXPECT_EQ(memory.cooled_bytes(), 0u);
  EXPECT_EQ(before[0], 'x');
}

TEST_F(ColdMemoryTest, WithoutSpaceMemoryStaysMemory) {
  char* const bytes = memory_.Reserve(8 * kPage);
  std::memset(bytes, 'a', 8 * kPage);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 4 * kPage;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const bool written = memory_.Write(bytes, 8 * kPage);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(written);
  EXPECT_EQ(PagesPresent(bytes, 8 * kPage), 8);
  Cool(bytes, 8 * kPage);
  EXPECT_EQ(bytes[7 * kPage], 'a');
}

TEST_F(ColdArenaTest, FullPartsAreCooledAndAllStaysReadable) {
  ColdArena arena(memory_);
  std::vector<std::string> wanted;
  std::vector<const char*> got;
  for (int i = 0; i < 4000; ++i) {
    // One larger than a block among them.
    wanted.push_back(std::string(i == 1000 ? 3'000'000 : 100 + i % 700, static_cast<char>('a' + i % 26)));
    char* const bytes = arena.Add(wanted.back().size());
    wanted.back().copy(bytes, wanted.back().size());
    got.push_back(bytes);
    if (i % 100 != 0) continue;
    arena.WriteCold(3);
    ASSERT_TRUE(memory_.Sync().ok());
    arena.MapCold();
  }
  while (arena.WriteCold(16) > 0) {
    ASSERT_TRUE(memory_.Sync().ok());
    arena.MapCold();
  }
  EXPECT_GT(memory_.cooled_bytes(), 4'400'000u);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(std::string(got[i], wanted[i].size()), wanted[i]) << i;
}

TEST(ColdMemoryFileTest, WithoutAFileAnArenaIsMemory) {
  ColdMemory memory;
  ColdArena arena(memory);
  for (int i = 0; i < 300; ++i) std::memset(arena.Add(1000), 'z', 1000);
  EXPECT_EQ(arena.WriteCold(16), 0u);
  arena.MapCold();
  EXPECT_EQ(memory.cooled_bytes(), 0u);
}

}  // namespace
}  // namespace inlier
