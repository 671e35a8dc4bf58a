#include "worker/gpus/gpu_inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> Ids(const std::vector<Gpu>& gpus) {
  std::vector<std::string> ids;
  for (const Gpu& gpu : gpus) ids.push_back(gpu.id);
  return ids;
}

TEST(GpuInventoryTest, TheDriversFolderIsReadInTheOrderOfTheBus) {
  const TemporaryFolder folder;
  for (const auto& [bus, text] : std::vector<std::pair<std::string, std::string>>{
           {"0000:41:00.0", "Model: \t\t NVIDIA H100\nIRQ: 4\nGPU UUID: \t GPU-22\n"},
           {"0000:01:00.0", "Model: \t\t NVIDIA A100\nGPU UUID: \t GPU-?\?\?\?-?\?\n"},
           {"0000:81:00.0", ""}}) {
    std::filesystem::create_directories(folder / bus);
    if (!text.empty()) std::ofstream(folder.path() / bus / "information") << text;
  }
  const std::vector<Gpu> gpus = ReadProcGpus(folder.path().string());
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(gpus[0].name, "NVIDIA A100");
  EXPECT_EQ(gpus[0].id, "0");
  EXPECT_EQ(gpus[1].name, "NVIDIA H100");
  EXPECT_EQ(gpus[1].id, "GPU-22");
}

TEST(GpuInventoryTest, NoDriverMeansNoGpus) { EXPECT_THAT(ReadProcGpus("/nowhere"), IsEmpty()); }

TEST(GpuInventoryTest, VisibleDevicesNarrowByIndexAndUuidAndEndAtTheFirstUnknown) {
  const std::vector<Gpu> all = {{"GPU-aaaa", "", 0}, {"GPU-bbbb", "", 0}, {"GPU-cccc", "", 0}};
  EXPECT_THAT(Ids(NarrowGpus(all, "2,0")), ElementsAre("GPU-cccc", "GPU-aaaa"));
  EXPECT_THAT(Ids(NarrowGpus(all, "GPU-b")), ElementsAre("GPU-bbbb"));
  EXPECT_THAT(Ids(NarrowGpus(all, "1,7,0")), ElementsAre("GPU-bbbb"));
  EXPECT_THAT(NarrowGpus(all, ""), IsEmpty());
  EXPECT_THAT(NarrowGpus(all, "-1"), IsEmpty());
}

TEST(GpuInventoryTest, AnEmptyListOfVisibleDevicesHidesEveryGpu) {
  EXPECT_THAT(FindGpus("").gpus, IsEmpty());
}

TEST(GpuInventoryTest, TheMultiProcessServiceIsFoundByItsPipe) {
  const TemporaryFolder folder;
  EXPECT_FALSE(HasMultiProcessService(folder.path().string()));
  std::ofstream(folder.path() / "control").put('\n');
  EXPECT_TRUE(HasMultiProcessService(folder.path().string()));
}

TEST(GpuInventoryTest, MemoryIsTheMachinesOrTheControlGroupsLimit) {
  EXPECT_EQ(MemoryOfMachine("MemTotal:       65536000 kB\nMemFree: 1 kB\n"), 64'000u);
  EXPECT_EQ(MemoryOfMachine("MemFree: 1 kB\n"), 0u);
  EXPECT_EQ(MemoryOfLimit("1073741824\n"), 1024u);
  EXPECT_EQ(MemoryOfLimit("max\n"), std::nullopt);
  EXPECT_EQ(MemoryOfLimit(""), std::nullopt);
  EXPECT_GT(UsableMemoryMib(), 64u);
}

}  // namespace
}  // namespace inlier
