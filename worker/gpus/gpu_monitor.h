// Reads the GPUs of the worker every few seconds, on a thread of its own: the driver may take long to answer.
//
// Thread safety: none; `on_readings` is called on the monitor's thread.
#ifndef INLIER_WORKER_GPUS_GPU_MONITOR_H_
#define INLIER_WORKER_GPUS_GPU_MONITOR_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "inlier/v1/attempt.pb.h"
#include "worker/gpus/nvml.h"

namespace inlier {

class GpuMonitor {
 public:
  struct Options {
    Duration period = std::chrono::seconds(5);
    std::string library = Nvml::kLibrary;
  };

  // Of each GPU that the driver knows, a reading; the n-th of `gpus` is the device "cuda:n". Reads nothing without
  // GPUs or without NVML.
  GpuMonitor(std::vector<Gpu> gpus, std::function<void(const std::vector<v1::GpuReading>&)> on_readings,
             Options options);
  // Waits for the reading that runs.
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

 private:
  void Run();

  const std::vector<Gpu> gpus_;
  const std::function<void(const std::vector<v1::GpuReading>&)> on_readings_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_GPUS_GPU_MONITOR_H_
