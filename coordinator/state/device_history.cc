#include "coordinator/state/device_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace inlier {
namespace {

std::array<float, 4> ValuesOf(const v1::DeviceReading& reading) {
  constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  const auto known = [](bool has, double value) { return has ? static_cast<float>(value) : kUnknown; };
  return {known(reading.has_utilization(), reading.utilization()),
          known(reading.has_memory_used_mib(), static_cast<double>(reading.memory_used_mib())),
          known(reading.has_temperature_celsius(), reading.temperature_celsius()),
          known(reading.has_power_watts(), reading.power_watts())};
}

}  // namespace

void DeviceHistory::Add(std::deque<Sample>& samples, const Sample& reading, std::int64_t seconds,
                        std::size_t most) {
  const auto begin = static_cast<std::uint32_t>(reading.unix_seconds / seconds * seconds);
  if (samples.empty() || samples.back().unix_seconds != begin) {
    samples.push_back(reading);
    samples.back().unix_seconds = begin;
    if (samples.size() > most) samples.pop_front();
    return;
  }
  Sample& sample = samples.back();
  ++sample.count;
  for (std::size_t i = 0; i < sample.values.size(); ++i) {
    float& mean = sample.values[i];
    const float value = reading.values[i];
    if (std::isnan(mean)) mean = value;
    if (!std::isnan(value)) mean += (value - mean) / static_cast<float>(sample.count);
  }
}

void DeviceHistory::Take(const std::string& worker, std::span<const v1::DeviceReading> readings, WallTime at) {
  if (readings.empty()) return;
  Worker& known = workers_[worker];
  known.last = at;
  for (const v1::DeviceReading& reading : readings) {
    if (!known.devices.contains(reading.device())) {
      if (known.devices.size() >= kDevicesOfWorkerMax) continue;
      ++devices_;
    }
    Device& device = known.devices[reading.device()];
    device.name = reading.name();
    device.memory_total_mib = reading.memory_total_mib();
    const Sample sample{static_cast<std::uint32_t>(std::max<std::int64_t>(0, at.unix_ms / 1000)), 1,
                        ValuesOf(reading)};
    Add(device.fine, sample, kFineSeconds, kFineMax);
    Add(device.coarse, sample, kCoarseSeconds, kCoarseMax);
  }
  while (devices_ > kDevicesMax && workers_.size() > 1) MakeRoom();
}

void DeviceHistory::MakeRoom() {
  const auto oldest =
      std::ranges::min_element(workers_, {}, [](const auto& entry) { return entry.second.last; });
  devices_ -= oldest->second.devices.size();
  workers_.erase(oldest);
}

// The fine samples, and before them the coarse ones.
void DeviceHistory::Fill(const Device& device, const v1::GetDeviceTracksRequest& request,
                         v1::DeviceTrack& track) {
  track.set_name(device.name);
  if (device.memory_total_mib > 0) track.set_memory_total_mib(device.memory_total_mib);
  const auto add = [&](const Sample& sample, std::int64_t seconds) {
    const std::int64_t begin = sample.unix_seconds, end = begin + seconds;
    if (request.has_from_unix_ms() && end * 1000 <= request.from_unix_ms()) return;
    if (request.has_to_unix_ms() && begin * 1000 > request.to_unix_ms()) return;
    track.add_unix_seconds(begin);
    track.add_utilization(sample.values[0]);
    track.add_memory_used_mib(sample.values[1]);
    track.add_temperature_celsius(sample.values[2]);
    track.add_power_watts(sample.values[3]);
  };
  for (const Sample& sample : device.coarse)
    if (sample.unix_seconds + kCoarseSeconds <= device.fine.front().unix_seconds) add(sample, kCoarseSeconds);
  for (const Sample& sample : device.fine) add(sample, kFineSeconds);
}

v1::DeviceTracks DeviceHistory::Tracks(const v1::GetDeviceTracksRequest& request) const {
  v1::DeviceTracks tracks;
  const auto worker = workers_.find(request.worker());
  if (worker == workers_.end()) return tracks;
  for (const auto& [name, device] : worker->second.devices) {
    if (request.has_device() && request.device() != name) continue;
    v1::DeviceTrack& track = *tracks.add_devices();
    track.set_device(name);
    Fill(device, request, track);
  }
  return tracks;
}

}  // namespace inlier
