#include "worker/gpus/nvml.h"

#include <dlfcn.h>

#include <array>

namespace inlier {
namespace {

// Of nvml.h. Its interface is stable C, so the header is not needed.
constexpr int kTemperatureOfGpu = 0;
constexpr int kUncorrected = 1;
constexpr int kSinceDriverLoaded = 0;

}  // namespace

template <typename Function>
Function* Nvml::Symbol(const char* name) const {
  return reinterpret_cast<Function*>(::dlsym(library_, name));
}

Nvml::Nvml(const std::string& library) : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) return;
  const auto init = Symbol<int()>("nvmlInit_v2");
  shutdown_ = Symbol<int()>("nvmlShutdown");
  count_ = Symbol<int(unsigned*)>("nvmlDeviceGetCount_v2");
  by_index_ = Symbol<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
  by_uuid_ = Symbol<int(const char*, void**)>("nvmlDeviceGetHandleByUUID");
  name_ = Symbol<int(void*, char*, unsigned)>("nvmlDeviceGetName");
  uuid_ = Symbol<int(void*, char*, unsigned)>("nvmlDeviceGetUUID");
  memory_ = Symbol<int(void*, Memory*)>("nvmlDeviceGetMemoryInfo");
  utilization_ = Symbol<int(void*, Utilization*)>("nvmlDeviceGetUtilizationRates");
  temperature_ = Symbol<int(void*, int, unsigned*)>("nvmlDeviceGetTemperature");
  power_ = Symbol<int(void*, unsigned*)>("nvmlDeviceGetPowerUsage");
  errors_ = Symbol<int(void*, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors");
  ready_ = init && shutdown_ && count_ && by_index_ && name_ && uuid_ && init() == 0;
}

Nvml::~Nvml() {
  if (ready_) shutdown_();
  if (library_ != nullptr) ::dlclose(library_);
}

std::vector<Gpu> Nvml::List() const {
  std::vector<Gpu> gpus;
  unsigned count = 0;
  if (count_(&count) != 0) return gpus;
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    std::array<char, 96> name{}, uuid{};
    if (by_index_(i, &device) != 0 || uuid_(device, uuid.data(), uuid.size()) != 0) continue;
    name_(device, name.data(), name.size());
    Memory memory;
    const bool known = memory_ != nullptr && memory_(device, &memory) == 0;
    gpus.push_back({uuid.data(), name.data(), known ? memory.total >> 20 : 0});
  }
  return gpus;
}

std::optional<v1::DeviceReading> Nvml::Read(const std::string& uuid) const {
  void* device = nullptr;
  if (by_uuid_ == nullptr || by_uuid_(uuid.c_str(), &device) != 0) return std::nullopt;
  v1::DeviceReading reading;
  std::array<char, 96> name{};
  if (name_(device, name.data(), name.size()) == 0) reading.set_name(name.data());
  if (Utilization used; utilization_ && utilization_(device, &used) == 0)
    reading.set_utilization(used.gpu / 100.0);
  if (Memory memory; memory_ && memory_(device, &memory) == 0) {
    reading.set_memory_used_mib(memory.used >> 20);
    reading.set_memory_total_mib(memory.total >> 20);
  }
  if (unsigned celsius = 0; temperature_ && temperature_(device, kTemperatureOfGpu, &celsius) == 0)
    reading.set_temperature_celsius(celsius);
  if (unsigned milliwatts = 0; power_ && power_(device, &milliwatts) == 0)
    reading.set_power_watts(milliwatts / 1000.0);
  if (unsigned long long errors = 0;
      errors_ && errors_(device, kUncorrected, kSinceDriverLoaded, &errors) == 0)
    reading.set_memory_errors(errors);
  return reading;
}

}  // namespace inlier
