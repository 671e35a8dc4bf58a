#include "worker/slots/slot_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<Gpu> kTwoGpus = {{"GPU-a", "A", 80'000}, {"GPU-b", "B", 40'000}};

TEST(SlotPlanTest, OneSlotACoreWithoutGpus) {
  const auto plan = PlanSlots({2, 5, 7}, {}, std::nullopt, std::nullopt);
  ASSERT_THAT(plan, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan[i].index, i);
    EXPECT_EQ(plan[i].device, "cpu");
    EXPECT_EQ(plan[i].threads, 1u);
    EXPECT_FALSE(plan[i].on_gpu());
  }
  EXPECT_THAT(plan[1].cpus, ElementsAre(5));
}

TEST(SlotPlanTest, CoresAreSharedOutOverTheSlotsThatAreGiven) {
  const auto plan = PlanSlots({0, 1, 2, 3, 4}, {}, 2, std::nullopt);
  ASSERT_THAT(plan, SizeIs(2));
  EXPECT_EQ(plan[0].threads, 2u);
  EXPECT_THAT(plan[0].cpus, ElementsAre(0, 1));
  EXPECT_THAT(plan[1].cpus, ElementsAre(2, 3));
}

TEST(SlotPlanTest, ThreadsPerSlotDecideTheNumberOfSlots) {
  EXPECT_THAT(PlanSlots({0, 1, 2, 3, 4}, {}, std::nullopt, 2), SizeIs(2));
  EXPECT_THAT(PlanSlots({0, 1}, {}, std::nullopt, 4), SizeIs(1));
}

TEST(SlotPlanTest, OneSlotAGpuAndTheCoresAreSharedOut) {
  const auto plan = PlanSlots({0, 1, 2, 3}, kTwoGpus, std::nullopt, std::nullopt);
  ASSERT_THAT(plan, SizeIs(2));
  EXPECT_EQ(plan[1].device, "cuda:1");
  EXPECT_EQ(plan[1].cuda_visible, "GPU-b");
  EXPECT_EQ(plan[1].threads, 2u);
  EXPECT_THAT(plan[1].cpus, ElementsAre(2, 3));
}

TEST(SlotPlanTest, MoreSlotsThanGpusTakeThemInTurn) {
  const auto plan = PlanSlots({0, 1, 2, 3}, kTwoGpus, 3, std::nullopt);
  ASSERT_THAT(plan, SizeIs(3));
  EXPECT_EQ(plan[2].device, "cuda:0");
  EXPECT_EQ(plan[2].cuda_visible, "GPU-a");
}

TEST(SlotPlanTest, MoreThreadsThanCoresLeaveTheCpusUnbound) {
  for (const SlotPlan& slot : PlanSlots({0, 1}, {}, 4, std::nullopt)) {
    EXPECT_EQ(slot.threads, 1u);
    EXPECT_THAT(slot.cpus, IsEmpty());
  }
}

TEST(SlotPlanTest, NoTwoSlotsEverShareACpuWhenThereAreEnough) {
  for (int cores = 1; cores <= 9; ++cores) {
    std::vector<int> cpus;
    for (int i = 0; i < cores; ++i) cpus.push_back(10 + i);
    for (std::uint32_t slots = 1; slots <= static_cast<std::uint32_t>(cores); ++slots) {
      std::set<int> used;
      size_t count = 0;
      for (const SlotPlan& slot : PlanSlots(cpus, {}, slots, std::nullopt)) {
        EXPECT_EQ(slot.cpus.size(), slot.threads);
        used.insert(slot.cpus.begin(), slot.cpus.end());
        count += slot.cpus.size();
      }
      EXPECT_EQ(used.size(), count) << cores << " cores, " << slots << " slots";
    }
  }
}

TEST(SlotPlanTest, EverySlotOfAGpuHasTheMemoryOfTheWholeGpu) {
  const auto plan = PlanSlots({0, 1, 2}, kTwoGpus, 3, std::nullopt);
  ASSERT_THAT(plan, SizeIs(3));
  EXPECT_EQ(plan[0].device_memory_mib, 80'000u);
  EXPECT_EQ(plan[1].device_memory_mib, 40'000u);
  EXPECT_EQ(plan[2].device_memory_mib, 80'000u);
  EXPECT_EQ(PlanSlots({0}, {}, 1, std::nullopt)[0].device_memory_mib, 0u);
}

}  // namespace
}  // namespace inlier
