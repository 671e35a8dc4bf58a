// The hardware for trials: the machine's GPUs, and the CPU cores and memory that this process may use.
//
// GPUs come from NVML (opened at run time, when the driver is there) or from /proc/driver/nvidia; no program
// is run. A worker that was itself given CUDA_VISIBLE_DEVICES (by Slurm, for example) sees only those.
#ifndef INLIER_WORKER_GPUS_GPU_INVENTORY_H_
#define INLIER_WORKER_GPUS_GPU_INVENTORY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/gpus/nvml.h"

namespace inlier {

struct GpuInventory {
  std::vector<Gpu> gpus;
  std::string source;  // "nvml", "procfs", or why there are none; for the log.
};

// `visible_devices`: the value of CUDA_VISIBLE_DEVICES, nullopt when it is not set.
GpuInventory FindGpus(const std::optional<std::string>& visible_devices);

// The parts of FindGpus, for their tests.
// One GPU for each folder of `folder` (/proc/driver/nvidia/gpus) with a file `information`, in the order of bus ids.
std::vector<Gpu> ReadProcGpus(const std::string& folder);
// The GPUs of `all` that `visible_devices` names by index, uuid or the beginning of a uuid, in its order;
// ends at the first unknown name, as CUDA does.
std::vector<Gpu> NarrowGpus(const std::vector<Gpu>& all, const std::string& visible_devices);

// True where the driver's multi-process service has its pipes in `folder`, the value of CUDA_MPS_PIPE_DIRECTORY (nullopt:
// not set). Without it processes on one GPU take turns.
bool HasMultiProcessService(const std::optional<std::string>& folder);

// MiB of memory for this worker's processes: the machine's, or its control group's limit if less; 0: neither is known.
std::uint64_t UsableMemoryMib();

// MiB after a key in the content of /proc/meminfo; 0 without it.
std::uint64_t MemoryOfMachine(const std::string& meminfo, std::string_view key = "MemTotal");

// MiB of the content of a cgroup's memory.max ("1073741824", "max"); nullopt for no limit.
std::optional<std::uint64_t> MemoryOfLimit(const std::string& memory_max);

}  // namespace inlier

#endif  // INLIER_WORKER_GPUS_GPU_INVENTORY_H_
