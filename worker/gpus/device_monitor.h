// Reads the GPUs of the worker and its machine every few seconds, on a thread of its own: the driver may take long to answer.
//
// Thread safety: none; `on_readings` is called on the monitor's thread.
#ifndef INLIER_WORKER_GPUS_DEVICE_MONITOR_H_
#define INLIER_WORKER_GPUS_DEVICE_MONITOR_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "worker/gpus/device_readings.h"
#include "worker/gpus/nvml.h"

namespace inlier {

class DeviceMonitor {
 public:
  struct Options {
    Duration period = std::chrono::seconds(5);
    std::string library = Nvml::kLibrary;
  };

  // Of each GPU that the driver knows, a reading; the n-th of `gpus` is the device "cuda:n".
  DeviceMonitor(std::vector<Gpu> gpus, std::function<void(const DeviceReadings&)> on_readings,
                Options options);
  // Waits for the reading that runs.
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

 private:
  void Run();

  const std::vector<Gpu> gpus_;
  const std::function<void(const DeviceReadings&)> on_readings_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_GPUS_DEVICE_MONITOR_H_
