#include "coordinator/state/worker_registry.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

using std::chrono::seconds;

constexpr Timestamp kStart{seconds(1000)};

std::vector<v1::Slot> Slots(int count) {
  std::vector<v1::Slot> slots(count);
  for (int i = 0; i < count; ++i) slots[i].set_index(i);
  return slots;
}

TEST(WorkerRegistryTest, SilentWorkerIsGoneAfterTheTermAndItsSlotsWithIt) {
  WorkerRegistry registry(seconds(16));
  WorkerEntry& a = registry.FindOrAdd("a");
  registry.SetSlots(a, Slots(2));
  registry.Seen(a, kStart, {});
  WorkerEntry& b = registry.FindOrAdd("b");
  registry.SetSlots(b, Slots(3));
  registry.Seen(b, kStart + seconds(5), {});
  EXPECT_EQ(registry.slots(), 5u);
  EXPECT_EQ(registry.NextDeadline(), kStart + seconds(16));
  const auto gone = registry.Expire(kStart + seconds(16));
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0]->incarnation, "a");
  EXPECT_EQ(registry.slots(), 3u);
  EXPECT_EQ(registry.connected(), 1);
}

TEST(WorkerRegistryTest, WorkerThatComesBackIsConnectedAgain) {
  WorkerRegistry registry(seconds(16));
  WorkerEntry& a = registry.FindOrAdd("a");
  registry.SetSlots(a, Slots(2));
  registry.Seen(a, kStart, {});
  registry.Expire(kStart + seconds(100));
  EXPECT_FALSE(a.connected);
  registry.Seen(a, kStart + seconds(101), {});
  EXPECT_TRUE(a.connected);
  EXPECT_EQ(registry.slots(), 2u);
  EXPECT_EQ(registry.NextDeadline(), kStart + seconds(117));
}

TEST(WorkerRegistryTest, GoneWorkersAreForgottenAfterAnHourUnlessTheyHoldSomething) {
  WorkerRegistry registry(seconds(16));
  for (const char* name : {"holds", "idle"}) registry.Seen(registry.FindOrAdd(name), kStart, {});
  registry.Expire(kStart + seconds(16));
  const auto holds = [](const std::string& incarnation) { return incarnation == "holds"; };
  registry.Forget(kStart + std::chrono::minutes(59), holds);
  EXPECT_NE(registry.Find("idle"), nullptr);
  registry.Forget(kStart + std::chrono::minutes(61), holds);
  EXPECT_EQ(registry.Find("idle"), nullptr);
  EXPECT_NE(registry.Find("holds"), nullptr);
}

TEST(WorkerRegistryTest, ManyGoneWorkersAreForgottenEarlierTheLongestSilentFirst) {
  WorkerRegistry registry(seconds(16));
  const int many = WorkerRegistry::kForgottenAfterCount + 5;
  for (int i = 0; i < many; ++i)
    registry.Seen(registry.FindOrAdd(std::to_string(i)), kStart + Duration(i), {});
  registry.Expire(kStart + seconds(20));
  registry.Forget(kStart + seconds(21), [](const std::string&) { return false; });
  EXPECT_EQ(registry.all().size(), static_cast<std::size_t>(WorkerRegistry::kForgottenAfterCount));
  EXPECT_EQ(registry.Find("4"), nullptr);
  EXPECT_NE(registry.Find("5"), nullptr);
}

TEST(WorkerRegistryTest, GoneWorkersWithManySlotsAreForgottenEarlier) {
  WorkerRegistry registry(seconds(16));
  constexpr int kSlots = 1024, kMany = 150;
  for (int i = 0; i < kMany; ++i) {
    WorkerEntry& worker = registry.FindOrAdd(std::to_string(i));
    registry.SetSlots(worker, Slots(kSlots));
    registry.Seen(worker, kStart + Duration(i), {});
  }
  registry.Expire(kStart + seconds(20));
  const auto forgotten = registry.Forget(kStart + seconds(21), [](const std::string&) { return false; });
  EXPECT_EQ(registry.all().size(), WorkerRegistry::kForgottenAfterSlots / kSlots);
  ASSERT_EQ(forgotten.size(), kMany - registry.all().size());
  EXPECT_EQ(forgotten[0], "0");
}

TEST(WorkerRegistryTest, OwnersShareCountsTheirConnectedWorkers) {
  WorkerRegistry registry(seconds(16));
  WorkerEntry& a = registry.FindOrAdd("a");
  registry.SetOwner(a, "lab");
  registry.SetSlots(a, Slots(2));
  registry.Seen(a, kStart, {});
  WorkerEntry& b = registry.FindOrAdd("b");
  registry.SetSlots(b, Slots(3));
  registry.Seen(b, kStart + seconds(5), {});
  registry.SetOwner(b, "lab");  // As after a restart: connected, and its owner not known yet.
  EXPECT_EQ(registry.ShareOf("lab").workers, 2u);
  EXPECT_EQ(registry.ShareOf("lab").slots, 5u);
  EXPECT_EQ(registry.ShareOf("").workers, 0u);
  registry.Seen(b, kStart + seconds(6), {});
  registry.Expire(kStart + seconds(16));
  EXPECT_EQ(registry.ShareOf("lab").workers, 1u);
  EXPECT_EQ(registry.ShareOf("lab").slots, 3u);
  EXPECT_EQ(registry.slots(), 3u);
}

}  // namespace
}  // namespace inlier
