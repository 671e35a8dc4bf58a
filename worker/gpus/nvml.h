// NVML, the library of NVIDIA's driver, opened at run time: no program needs it to be there.
//
// Thread safety: none.
#ifndef INLIER_WORKER_GPUS_NVML_H_
#define INLIER_WORKER_GPUS_NVML_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inlier/v1/attempt.pb.h"

namespace inlier {

struct Gpu {
  std::string id;                // For CUDA_VISIBLE_DEVICES: a uuid ("GPU-…") or an index.
  std::string name;              // "NVIDIA H100 80GB HBM3".
  std::uint64_t memory_mib = 0;  // 0: not known.
};

class Nvml {
 public:
  static constexpr char kLibrary[] = "libnvidia-ml.so.1";

  explicit Nvml(const std::string& library = kLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // False: there is no driver, or it does not answer. Then nothing below may be called.
  bool ready() const { return ready_; }

  // The GPUs that have a uuid, in the driver's order.
  std::vector<Gpu> List() const;

  // The numbers of the GPU with this uuid that its driver knows now, `device` not set; nullopt without such a GPU. Waits for
  // the driver, which may take seconds.
  std::optional<v1::DeviceReading> Read(const std::string& uuid) const;

 private:
  // The C structures of NVML, whose layout is fixed.
  struct Memory {
    unsigned long long total = 0, free = 0, used = 0;  // Bytes.
  };
  struct Utilization {
    unsigned gpu = 0, memory = 0;  // Percent.
  };

  template <typename Function>
  Function* Symbol(const char* name) const;

  void* library_ = nullptr;
  bool ready_ = false;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, void**) = nullptr;
  int (*by_uuid_)(const char*, void**) = nullptr;
  int (*name_)(void*, char*, unsigned) = nullptr;
  int (*uuid_)(void*, char*, unsigned) = nullptr;
  int (*memory_)(void*, Memory*) = nullptr;
  int (*utilization_)(void*, Utilization*) = nullptr;
  int (*temperature_)(void*, int sensor, unsigned* celsius) = nullptr;
  int (*power_)(void*, unsigned* milliwatts) = nullptr;
  int (*errors_)(void*, int kind, int since, unsigned long long*) = nullptr;
};

}  // namespace inlier

#endif  // INLIER_WORKER_GPUS_NVML_H_
