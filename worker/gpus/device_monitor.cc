#include "worker/gpus/device_monitor.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/gpus/machine_use.h"

namespace inlier {

DeviceMonitor::DeviceMonitor(std::vector<Gpu> gpus, std::function<void(const DeviceReadings&)> on_readings,
                             Options options)
    : gpus_(std::move(gpus)),
      on_readings_(std::move(on_readings)),
      options_(std::move(options)),
      thread_([this] { Run(); }) {}

DeviceMonitor::~DeviceMonitor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void DeviceMonitor::Run() {
  std::optional<Nvml> nvml;
  if (!gpus_.empty()) nvml.emplace(options_.library);
  MachineUse machine;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    DeviceReadings readings;
    for (size_t i = 0; nvml && nvml->ready() && i < gpus_.size(); ++i) {
      std::optional<v1::DeviceReading> reading = nvml->Read(gpus_[i].id);
      if (!reading) continue;
      reading->set_device(absl::StrCat("cuda:", i));
      readings.gpus.push_back(*std::move(reading));
    }
    readings.machine = machine.Read();
    on_readings_(readings);
    lock.lock();
    stopped_.wait_for(lock, options_.period, [this] { return stop_; });
  }
}

}  // namespace inlier
