#include "coordinator/state/resources.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

std::vector<v1::Slot> Slots(std::uint32_t count, const std::string& device, std::uint64_t memory_mib = 0) {
  std::vector<v1::Slot> slots(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    slots[i].set_index(i);
    slots[i].set_device(device);
    if (memory_mib > 0) slots[i].set_device_memory_mib(memory_mib);
  }
  return slots;
}

WorkerResources Machine(const std::vector<v1::Slot>& slots, std::uint64_t memory_mib) {
  WorkerResources resources;
  resources.SetCapacity(slots, memory_mib);
  return resources;
}

constexpr ResourceRequest kNothing;

TEST(ResourcesTest, ARequestIsReadFromTheSweepInThousandthsAndMib) {
  v1::ResourceSpec spec;
  EXPECT_EQ(RequestOf(spec), kNothing);
  spec.set_gpu(0.25);
  spec.set_memory_mib(4096);
  spec.set_gpu_memory_mib(800);
  EXPECT_EQ(RequestOf(spec),
            (ResourceRequest{.gpu_thousandths = 250, .memory_mib = 4096, .gpu_memory_mib = 800}));
  EXPECT_EQ(RequestText(RequestOf(spec)), "0.25 of a GPU, 4096 MiB of memory, 800 MiB of GPU memory");
  spec.set_gpu(1);
  EXPECT_EQ(RequestText(RequestOf(spec)), "a whole GPU, 4096 MiB of memory, 800 MiB of GPU memory");
  EXPECT_EQ(RequestText(kNothing), "nothing in particular");
}

TEST(ResourcesTest, AttemptsThatAskForNothingAlwaysFitOneASlot) {
  for (const char* device : {"cpu", "cuda:0"}) {
    for (const std::uint32_t slots : {1u, 3u, 7u, 1024u}) {
      WorkerResources machine = Machine(Slots(slots, device, 1000), 1000);
      for (std::uint32_t slot = 0; slot < slots; ++slot) {
        ASSERT_TRUE(machine.Fits(slot, kNothing)) << device << " " << slots << " " << slot;
        machine.Take(slot + 1, {slot}, kNothing);
      }
      EXPECT_LE(machine.memory_used_mib(), 1000u);
    }
  }
  // A worker that reports no memory makes no difference.
  WorkerResources silent = Machine(Slots(2, "cpu"), 0);
  silent.Take(1, {0}, kNothing);
  EXPECT_TRUE(silent.Fits(1, kNothing));
}

TEST(ResourcesTest, SharesOfAGpuFitWhileTheyAddUpToOne) {
  WorkerResources machine = Machine(Slots(4, "cuda:0", 80'000), 0);
  const ResourceRequest third{.gpu_thousandths = 333};
  const ResourceRequest half{.gpu_thousandths = 500};
  machine.Take(1, {0}, half);
  EXPECT_TRUE(machine.Fits(1, half));
  EXPECT_FALSE(machine.Fits(1, {.gpu_thousandths = 501}));
  machine.Take(2, {1}, third);
  EXPECT_FALSE(machine.Fits(2, third));
  EXPECT_FALSE(machine.Fits(2, kNothing));  // A quarter is its part; a sixth is left.
  EXPECT_TRUE(machine.Without({2}).Fits(2, half));
  machine.Release(2);
  EXPECT_TRUE(machine.Fits(2, half));
  machine.Release(2);  // Harmless.
  EXPECT_EQ(machine.gpus()[0].used.gpu_thousandths, half.gpu_thousandths);
}

TEST(ResourcesTest, ASlotIsTakenUntilItsProcessIsGone) {
  WorkerResources machine;
  machine.SetCapacity(Slots(2, "cuda:0", 1000), 0);
  machine.Take(7, {1}, {});
  EXPECT_TRUE(machine.SlotTaken(1));
  EXPECT_FALSE(machine.SlotTaken(0));
  machine.SetReported({7});
  EXPECT_TRUE(machine.held().at(7).reported);
  machine.SetReported({});
  EXPECT_FALSE(machine.held().at(7).reported);
  machine.Release(7);
  EXPECT_FALSE(machine.SlotTaken(1));
}

TEST(ResourcesTest, MemoryOfTheMachineIsSharedByItsSlotsAndThatOfAGpuByItsOwn) {
  std::vector<v1::Slot> slots = Slots(3, "cuda:0", 1000);
  slots[2].set_device("cuda:1");
  WorkerResources machine = Machine(slots, 6000);
  machine.Take(1, {0}, {.memory_mib = 5000, .gpu_memory_mib = 700});
  EXPECT_TRUE(machine.Fits(1, {.memory_mib = 1000, .gpu_memory_mib = 300}));
  EXPECT_FALSE(machine.Fits(1, {.memory_mib = 1001, .gpu_memory_mib = 300}));
  EXPECT_FALSE(machine.Fits(1, {.memory_mib = 1000, .gpu_memory_mib = 301}));
  EXPECT_TRUE(machine.Fits(2, {.memory_mib = 1000, .gpu_memory_mib = 1000}));
  EXPECT_EQ(
      machine.FreeText(),
      "has 1000 of 6000 MiB of memory free, 0.5 of cuda:0 with 300 of 1000 MiB, 1 of cuda:1 with 1000 of "
      "1000 MiB");
}

TEST(ResourcesTest, ARequestForAMissingResourceNeverFits) {
  const WorkerResources cpu = Machine(Slots(2, "cpu"), 1000);
  EXPECT_FALSE(cpu.CouldEverFit({.gpu_thousandths = 1}));
  EXPECT_FALSE(cpu.CouldEverFit({.gpu_memory_mib = 1}));
  EXPECT_FALSE(cpu.CouldEverFit({.memory_mib = 1001}));
  EXPECT_TRUE(cpu.CouldEverFit({.memory_mib = 1000}));
  const WorkerResources silent = Machine(Slots(1, "cuda:0"), 0);
  EXPECT_FALSE(silent.CouldEverFit({.memory_mib = 1}));
  EXPECT_FALSE(silent.CouldEverFit({.gpu_memory_mib = 1}));
  EXPECT_TRUE(silent.CouldEverFit({.gpu_thousandths = 1000}));
}

TEST(ResourcesTest, AShareOfAGpuBringsItsShareOfTheGpusMemory) {
  const WorkerResources machine = Machine(Slots(2, "cuda:0", 1000), 600);
  EXPECT_EQ(machine.Charge(0, {.gpu_thousandths = 250}),
            (ResourceRequest{.gpu_thousandths = 250, .memory_mib = 300, .gpu_memory_mib = 250}));
  EXPECT_EQ(machine.Charge(1, {.memory_mib = 10}),
            (ResourceRequest{.gpu_thousandths = 500, .memory_mib = 10, .gpu_memory_mib = 500}));
}

TEST(ResourcesTest, MoreMemoryIsHalfAsMuchAgainInStepsOf64) {
  EXPECT_EQ(MoreMemory(1024, 0), 1536u);
  EXPECT_EQ(MoreMemory(1024, 2048), 3072u);
  EXPECT_EQ(MoreMemory(1000, 0), 1536u);
  EXPECT_EQ(MoreMemory(1, 0), 64u);
}

TEST(ResourcesTest, CapacityThatIsReportedAgainKeepsTheUsage) {
  WorkerResources machine = Machine(Slots(2, "cpu"), 1000);
  machine.Take(1, {0}, {.memory_mib = 700});
  machine.SetCapacity(Slots(2, "cpu"), 2000);
  EXPECT_EQ(machine.memory_used_mib(), 700u);
  EXPECT_TRUE(machine.Fits(1, {.memory_mib = 1300}));
  EXPECT_FALSE(machine.Fits(1, {.memory_mib = 1301}));
}

TEST(ResourcesTest, AGangTakesASlotAProcessOnGpusOfTheirOwn) {
  std::vector<v1::Slot> slots = Slots(6, "cuda:0", 1000);
  for (std::uint32_t slot = 0; slot < 6; ++slot) slots[slot].set_device("cuda:" + std::to_string(slot / 2));
  WorkerResources machine = Machine(slots, 6000);
  const auto all = [](std::uint32_t) { return true; };
  using List = std::vector<std::uint32_t>;
  EXPECT_EQ(machine.SlotsFor({.processes = 3}, all), (List{0, 2, 4}));
  EXPECT_EQ(machine.SlotsFor({.processes = 4}, all), List());
  EXPECT_FALSE(machine.CouldEverFit({.processes = 4}));
  // The memory of the machine is for all of them.
  EXPECT_EQ(machine.SlotsFor({.memory_mib = 3000, .processes = 2}, all), (List{0, 2}));
  EXPECT_FALSE(machine.CouldEverFit({.memory_mib = 3001, .processes = 2}));
  machine.Take(1, {0, 2}, {.gpu_thousandths = 1000, .processes = 2});
  EXPECT_TRUE(machine.SlotTaken(0) && machine.SlotTaken(2));
  EXPECT_FALSE(machine.SlotTaken(1));
  EXPECT_EQ(machine.memory_used_mib(), 2000u) << "a sixth for each";
  EXPECT_EQ(machine.SlotsFor({.processes = 2}, all), List()) << "one GPU is left";
  EXPECT_TRUE(machine.CouldEverFit({.processes = 3}));
  EXPECT_EQ(machine.Without({1}).SlotsFor({.processes = 3}, all), (List{0, 2, 4}));
  machine.Release(1);
  EXPECT_EQ(machine.memory_used_mib(), 0u);
}

TEST(ResourcesTest, AGangIsOnOneMachineOfItsWorkerWhereThatIsPossible) {
  std::vector<v1::Slot> slots = Slots(6, "cuda:0", 1000);
  for (std::uint32_t slot = 0; slot < 6; ++slot)
    slots[slot].set_device("cuda:" + std::to_string(slot % 2) + (slot < 2 ? "" : slot < 4 ? "@n2" : "@n3"));
  WorkerResources worker = Machine(slots, 6000);
  const auto is_free = [&worker](std::uint32_t slot) { return !worker.SlotTaken(slot); };
  using List = std::vector<std::uint32_t>;
  EXPECT_EQ(worker.gpus().size(), 6u) << "cuda:0 of two machines are two GPUs";
  worker.Take(1, {0}, {});
  EXPECT_EQ(worker.SlotsFor({.processes = 2}, is_free), (List{2, 3}));
  EXPECT_EQ(worker.SlotsFor({.processes = 3}, is_free), (List{1, 2, 3})) << "on no machine alone";
  EXPECT_EQ(worker.SlotsFor({.processes = 5}, is_free), (List{1, 2, 3, 4, 5}));
  EXPECT_EQ(worker.SlotsFor({.processes = 6}, is_free), List());
  EXPECT_TRUE(worker.CouldEverFit({.processes = 6}));
}

TEST(ResourcesTest, RequestsOfGangsAreReadAndShown) {
  v1::ResourceSpec spec;
  spec.set_processes(2);
  EXPECT_EQ(RequestText(RequestOf(spec)), "2 processes on one worker");
  spec.Clear();
  spec.set_gpus(4);
  spec.set_memory_mib(100);
  EXPECT_EQ(RequestOf(spec).processes, 4u);
  EXPECT_EQ(RequestOf(spec).gpu_thousandths, kWholeGpu);
  EXPECT_EQ(RequestText(RequestOf(spec)), "4 processes on one worker, each with a whole GPU, 100 MiB of memory");
}

}  // namespace
}  // namespace inlier
