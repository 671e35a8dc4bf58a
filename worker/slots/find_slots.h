// The slots of this machine, by its hardware and the worker's configuration.
#ifndef INLIER_WORKER_SLOTS_FIND_SLOTS_H_
#define INLIER_WORKER_SLOTS_FIND_SLOTS_H_

#include <vector>

#include "inlier/v1/config.pb.h"
#include "worker/gpus/gpu_inventory.h"
#include "worker/slots/slot_plan.h"

namespace inlier {

// Logs what was found, and what will be slow about it.
std::vector<SlotPlan> FindSlots(const v1::WorkerConfig& config, GpuInventory inventory, bool trial_has_cuda);

// MiB for trials: as configured, else what this process may use; 0: not known.
std::uint64_t MemoryForTrials(const v1::WorkerConfig& config);

}  // namespace inlier

#endif  // INLIER_WORKER_SLOTS_FIND_SLOTS_H_
