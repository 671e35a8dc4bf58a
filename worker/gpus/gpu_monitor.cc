#include "worker/gpus/gpu_monitor.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace inlier {

GpuMonitor::GpuMonitor(std::vector<Gpu> gpus,
                       std::function<void(const std::vector<v1::GpuReading>&)> on_readings, Options options)
    : gpus_(std::move(gpus)), on_readings_(std::move(on_readings)), options_(std::move(options)) {
  if (!gpus_.empty()) thread_ = std::thread([this] { Run(); });
}

GpuMonitor::~GpuMonitor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GpuMonitor::Run() {
  const Nvml nvml(options_.library);
  if (!nvml.ready()) return;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    std::vector<v1::GpuReading> readings;
    for (size_t i = 0; i < gpus_.size(); ++i) {
      std::optional<v1::GpuReading> reading = nvml.Read(gpus_[i].id);
      if (!reading) continue;
      reading->set_device(absl::StrCat("cuda:", i));
      readings.push_back(*std::move(reading));
    }
    on_readings_(readings);
    lock.lock();
    stopped_.wait_for(lock, options_.period, [this] { return stop_; });
  }
}

}  // namespace inlier
