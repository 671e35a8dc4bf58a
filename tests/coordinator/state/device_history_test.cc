#include "coordinator/state/device_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace inlier {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kFirstSecond = 1'800'000'000;  // A multiple of both steps.

WallTime At(std::int64_t seconds) { return {(kFirstSecond + seconds) * 1000}; }

v1::DeviceReading Reading(const std::string& device, double use) {
  v1::DeviceReading reading;
  reading.set_device(device);
  reading.set_utilization(use);
  reading.set_memory_used_mib(512);
  reading.set_memory_total_mib(2048);
  return reading;
}

class DeviceHistoryTest : public testing::Test {
 protected:
  void Take(const std::string& worker, const v1::DeviceReading& reading, std::int64_t at) {
    history_.Take(worker, {&reading, 1}, At(at));
  }
  v1::DeviceTrack Track(const std::string& worker, const v1::GetDeviceTracksRequest& more = {}) {
    v1::GetDeviceTracksRequest request = more;
    request.set_worker(worker);
    const v1::DeviceTracks tracks = history_.Tracks(request);
    return tracks.devices_size() > 0 ? tracks.devices(0) : v1::DeviceTrack();
  }
  DeviceHistory history_;
};

TEST_F(DeviceHistoryTest, ReadingsOfTenSecondsAreOneMean) {
  Take("w", Reading("cuda:0", 0.25), 0);
  Take("w", Reading("cuda:0", 0.75), 9);
  Take("w", Reading("cuda:0", 1), 10);
  const v1::DeviceTrack track = Track("w");
  EXPECT_EQ(track.memory_total_mib(), 2048u);
  EXPECT_THAT(track.unix_seconds(), ElementsAre(kFirstSecond, kFirstSecond + 10));
  EXPECT_THAT(track.utilization(), ElementsAre(0.5, 1));
  EXPECT_THAT(track.memory_used_mib(), ElementsAre(512, 512));
  EXPECT_TRUE(std::isnan(track.power_watts(0)));
}

TEST_F(DeviceHistoryTest, BeforeTheLastHourThereIsOneForFiveMinutesAndNoneBeforeADay) {
  for (std::int64_t at = 0; at < 30 * 3600; at += 10) Take("w", Reading("cpu", 0.5), at);
  const v1::DeviceTrack track = Track("w");
  EXPECT_LE(track.unix_seconds_size(), static_cast<int>(DeviceHistory::kFineMax + DeviceHistory::kCoarseMax));
  EXPECT_EQ(track.unix_seconds(0), kFirstSecond + 6 * 3600);
  EXPECT_EQ(track.unix_seconds(1) - track.unix_seconds(0), 300);
  const int last = track.unix_seconds_size() - 1;
  EXPECT_EQ(track.unix_seconds(last), kFirstSecond + 30 * 3600 - 10);
  EXPECT_EQ(track.unix_seconds(last) - track.unix_seconds(last - 1), 10);
  for (int i = 1; i <= last; ++i) EXPECT_GT(track.unix_seconds(i), track.unix_seconds(i - 1));
}

TEST_F(DeviceHistoryTest, ATimeAndADeviceCanBeAskedFor) {
  for (std::int64_t at = 0; at < 100; at += 10) Take("w", Reading("cpu", 0.5), at);
  Take("w", Reading("cuda:0", 0.5), 0);
  v1::GetDeviceTracksRequest request;
  request.set_device("cpu");
  request.set_from_unix_ms(At(25).unix_ms);
  request.set_to_unix_ms(At(45).unix_ms);
  EXPECT_THAT(Track("w", request).unix_seconds(), ElementsAre(kFirstSecond + 20, kFirstSecond + 30, kFirstSecond + 40));
  EXPECT_EQ(Track("nobody").unix_seconds_size(), 0);
}

TEST_F(DeviceHistoryTest, TheLongestSilentWorkerIsForgottenForAnother) {
  const auto all = [](const std::string& prefix) {
    std::vector<v1::DeviceReading> readings;
    for (int i = 0; i < 200; ++i) readings.push_back(Reading(prefix + std::to_string(i), 0.5));
    return readings;
  };
  const std::size_t most = DeviceHistory::kDevicesMax / DeviceHistory::kDevicesOfWorkerMax;
  for (std::size_t i = 0; i <= most; ++i)
    history_.Take("w" + std::to_string(i), all("d"), At(static_cast<std::int64_t>(i)));
  EXPECT_EQ(Track("w0").unix_seconds_size(), 0);
  EXPECT_EQ(Track("w1").unix_seconds_size(), 1);
  EXPECT_EQ(Track("w" + std::to_string(most)).unix_seconds_size(), 1);
}

}  // namespace
}  // namespace inlier
