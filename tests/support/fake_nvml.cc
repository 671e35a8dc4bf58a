// NVML's functions for a machine with two GPUs, as a library of their own that programs open at run time. The
// first knows everything; the second has no count of errors, no utilization and no power, as a GPU of a laptop.
// INLIER_FAKE_NVML=broken: the driver does not answer.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kOk = 0, kNotSupported = 3, kNotFound = 6, kDriverNotLoaded = 9;
constexpr const char* kUuids[] = {"GPU-aaaa", "GPU-bbbb"};
constexpr const char* kNames[] = {"Fake One", "Fake Two"};
int gpus[] = {0, 1};

int Index(void* device) { return *static_cast<int*>(device); }

int Copy(const char* text, char* out, unsigned size) {
  if (std::strlen(text) >= size) return 7;
  std::strcpy(out, text);
  return kOk;
}

}  // namespace

extern "C" {
int nvmlInit_v2() {
  const char* mode = std::getenv("INLIER_FAKE_NVML");
  return mode != nullptr && std::strcmp(mode, "broken") == 0 ? kDriverNotLoaded : kOk;
}
int nvmlShutdown() { return kOk; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kOk;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= 2) return kNotFound;
  *device = &gpus[index];
  return kOk;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  for (int i = 0; i < 2; ++i) {
    *device = &gpus[i];
    if (std::strcmp(uuid, kUuids[i]) == 0) return kOk;
  }
  return kNotFound;
}
int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  return Copy(kNames[Index(device)], name, size);
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  return Copy(kUuids[Index(device)], uuid, size);
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  total_free_used[0] = (Index(device) == 0 ? 80ull : 8ull) << 30;
  total_free_used[1] = total_free_used[0] - (5ull << 30);
  total_free_used[2] = 5ull << 30;
  return kOk;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_memory) {
  gpu_memory[0] = 73;
  gpu_memory[1] = 20;
  return Index(device) == 0 ? kOk : kNotSupported;
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  *celsius = 60u + static_cast<unsigned>(Index(device));
  return sensor == 0 ? kOk : kNotSupported;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 312'500;
  return Index(device) == 0 ? kOk : kNotSupported;
}
int nvmlDeviceGetTotalEccErrors(void* device, int kind, int since, unsigned long long* errors) {
  *errors = 3;
  return Index(device) == 0 && kind == 1 && since == 0 ? kOk : kNotSupported;
}
}
