#include "worker/gpus/machine_use.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

constexpr char kMemory[] = "MemTotal:       2097152 kB\nMemFree: 1 kB\nMemAvailable:   1048576 kB\n";

TEST(MachineUseTest, CpuTimesAreOfAllCpusAndWaitingIsIdle) {
  const auto times =
      ParseCpuTimes("cpu  10 20 30 400 50 1 2 3 9 9\ncpu0 10 20 30 400 50 1 2 3 9 9\nintr 5\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->busy, 66u);
  EXPECT_EQ(times->total, 516u);
  for (const char* other : {"", "cpu", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 x 4 5 6 7 8"})
    EXPECT_FALSE(ParseCpuTimes(other)) << other;
}

TEST(MachineUseTest, TheUseIsTheMeanSinceTheReadingBefore) {
  const TemporaryFolder folder;
  const auto write = [&](const char* stat) {
    std::ofstream(folder.path() / "stat") << stat;
    std::ofstream(folder.path() / "meminfo") << kMemory;
  };
  MachineUse machine(folder.path().string());
  write("cpu  100 0 0 900 0 0 0 0\n");
  EXPECT_EQ(machine.Read().ShortDebugString(),
            "device: \"cpu\" memory_used_mib: 1024 memory_total_mib: 2048");
  write("cpu  130 0 0 970 0 0 0 0\n");
  EXPECT_DOUBLE_EQ(machine.Read().utilization(), 0.3);
}

TEST(MachineUseTest, WhatTheMachineDoesNotSayIsAbsent) {
  const TemporaryFolder folder;
  MachineUse machine(folder.path().string());
  EXPECT_EQ(machine.Read().ShortDebugString(), "device: \"cpu\"");
}

}  // namespace
}  // namespace inlier
