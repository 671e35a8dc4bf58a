// What workers reported of their devices over time: each GPU, and as "cpu" the machine.
//
// Kept in memory only, and lost when the coordinator ends: a mean for each kFineSeconds of the last hour and for each kCoarseSeconds
// of the last day. A device takes at most 16 KiB. There are at most kDevicesMax of them (64 MiB): for another one the worker that has
// been silent the longest is forgotten.
#ifndef INLIER_COORDINATOR_STATE_DEVICE_HISTORY_H_
#define INLIER_COORDINATOR_STATE_DEVICE_HISTORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>

#include "base/time.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/device_tracks.pb.h"

namespace inlier {

class DeviceHistory {
 public:
  static constexpr std::int64_t kFineSeconds = 10;
  static constexpr std::int64_t kCoarseSeconds = 300;
  static constexpr std::size_t kFineMax = 360;
  static constexpr std::size_t kCoarseMax = 288;
  static constexpr std::size_t kDevicesMax = 4096;
  static constexpr std::size_t kDevicesOfWorkerMax = 65;

  // `worker`: an incarnation.
  void Take(const std::string& worker, std::span<const v1::DeviceReading> readings, WallTime at);

  v1::DeviceTracks Tracks(const v1::GetDeviceTracksRequest& request) const;

 private:
  // Utilization, memory, temperature, power: the means of `count` readings; NaN: not known.
  struct Sample {
    std::uint32_t unix_seconds = 0;  // The beginning of its time.
    std::uint32_t count = 0;
    std::array<float, 4> values{};
  };
  struct Device {
    std::string name;
    std::uint64_t memory_total_mib = 0;
    std::deque<Sample> fine, coarse;
  };
  struct Worker {
    WallTime last;
    std::map<std::string, Device> devices;
  };

  static void Add(std::deque<Sample>& samples, const Sample& reading, std::int64_t seconds, std::size_t most);
  static void Fill(const Device& device, const v1::GetDeviceTracksRequest& request, v1::DeviceTrack& track);
  void MakeRoom();

  std::map<std::string, Worker> workers_;  // By incarnation.
  std::size_t devices_ = 0;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_DEVICE_HISTORY_H_
