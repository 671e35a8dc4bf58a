// NVML and the monitor over a library that stands for the driver: real dlopen, GPUs that are not there.
#include "worker/gpus/device_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <future>

namespace inlier {
namespace {

using testing::SizeIs;

TEST(NvmlTest, WithoutADriverItIsNotReady) {
  EXPECT_FALSE(Nvml("libnot-there.so.1").ready());
  ::setenv("INLIER_FAKE_NVML", "broken", 1);
  EXPECT_FALSE(Nvml(INLIER_FAKE_NVML_LIBRARY).ready());
  ::unsetenv("INLIER_FAKE_NVML");
}

TEST(NvmlTest, GpusAreListedInTheDriversOrder) {
  const Nvml nvml(INLIER_FAKE_NVML_LIBRARY);
  ASSERT_TRUE(nvml.ready());
  const std::vector<Gpu> gpus = nvml.List();
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(gpus[0].id, "GPU-aaaa");
  EXPECT_EQ(gpus[0].name, "Fake One");
  EXPECT_EQ(gpus[0].memory_mib, 80u << 10);
  EXPECT_EQ(gpus[1].id, "GPU-bbbb");
}

TEST(NvmlTest, AReadingHasWhatTheDriverKnows) {
  const Nvml nvml(INLIER_FAKE_NVML_LIBRARY);
  ASSERT_TRUE(nvml.ready());
  const auto first = nvml.Read("GPU-aaaa");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->ShortDebugString(),
            "name: \"Fake One\" utilization: 0.73 memory_used_mib: 5120 memory_total_mib: 81920 "
            "temperature_celsius: 60 power_watts: 312.5 memory_errors: 3");
  const auto second = nvml.Read("GPU-bbbb");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->ShortDebugString(),
            "name: \"Fake Two\" memory_used_mib: 5120 memory_total_mib: 8192 temperature_celsius: 61");
  EXPECT_FALSE(nvml.Read("GPU-cccc"));
}

TEST(DeviceMonitorTest, DevicesAreNumberedAsTheSlotsAre) {
  std::promise<DeviceReadings> first;
  std::atomic<int> readings = 0;
  const DeviceMonitor monitor(
      {{"GPU-bbbb", "", 0}, {"GPU-gone", "", 0}, {"GPU-aaaa", "", 0}},
      [&](const DeviceReadings& found) {
        if (readings++ == 0) first.set_value(found);
      },
      {.period = std::chrono::hours(1), .library = INLIER_FAKE_NVML_LIBRARY});
  const std::vector<v1::DeviceReading> found = first.get_future().get().gpus;
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].device(), "cuda:0");
  EXPECT_EQ(found[0].name(), "Fake Two");
  EXPECT_EQ(found[1].device(), "cuda:2");
  EXPECT_EQ(found[1].name(), "Fake One");
}

TEST(DeviceMonitorTest, ReadingsAreRepeated) {
  std::promise<void> third;
  std::atomic<int> readings = 0;
  const DeviceMonitor monitor(
      {{"GPU-aaaa", "", 0}},
      [&](const DeviceReadings&) {
        if (++readings == 3) third.set_value();
      },
      {.period = std::chrono::milliseconds(1), .library = INLIER_FAKE_NVML_LIBRARY});
  third.get_future().wait();
}

TEST(DeviceMonitorTest, WithoutGpusOrADriverTheMachineAloneIsRead) {
  for (const auto& [gpus, library] : std::vector<std::pair<std::vector<Gpu>, std::string>>{
           {{}, INLIER_FAKE_NVML_LIBRARY}, {{{"GPU-aaaa", "", 0}}, "libnot-there.so.1"}}) {
    std::promise<DeviceReadings> first;
    const DeviceMonitor monitor(
        gpus, [&](const DeviceReadings& found) { first.set_value(found); },
        {.period = std::chrono::hours(1), .library = library});
    const DeviceReadings found = first.get_future().get();
    EXPECT_THAT(found.gpus, SizeIs(0));
    ASSERT_TRUE(found.machine);
    EXPECT_EQ(found.machine->device(), "cpu");
  }
}

}  // namespace
}  // namespace inlier
