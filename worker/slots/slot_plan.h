// The slots of a worker: places to run one attempt each, with CPUs of their own.
//
// Slots never share a CPU as long as there are enough: OpenMP threads of two trials on one core can make both
// thirty times slower.
#ifndef INLIER_WORKER_SLOTS_SLOT_PLAN_H_
#define INLIER_WORKER_SLOTS_SLOT_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/gpus/gpu_inventory.h"

namespace inlier {

struct SlotPlan {
  std::uint32_t index = 0;
  std::string device;                   // As the coordinator sees it: "cpu", "cuda:0", "cuda:0@node2".
  std::uint32_t threads = 1;            // CPU threads of the attempt.
  std::vector<int> cpus;                // The child is bound to them; empty when slots must share all CPUs.
  std::uint64_t device_memory_mib = 0;  // Of the whole GPU; 0: not known, or the CPU.
  std::string cuda_visible;             // CUDA_VISIBLE_DEVICES of the child; empty for the CPU.
  std::string machine;              // Its name, of a further one (worker/machines/); empty: the worker's own.
  std::string address;              // IP address of the machine; empty where the worker has no further ones.
  std::vector<std::string> launch;  // Words before a command that is to run on the machine; none: it is here.

  bool on_gpu() const { return !cuda_visible.empty(); }
  bool here() const { return launch.empty(); }
};

// Divides `cpus` and `gpus` into slots. `slots`: one a GPU, else cores / `threads_per_slot`, when not given.
// `threads_per_slot`: cores / slots (at least one) when not given. More slots than GPUs share them in turn;
// more threads than cores leave the CPUs unbound. REQUIRES: `cpus` is not empty; what is given is at least 1.
std::vector<SlotPlan> PlanSlots(const std::vector<int>& cpus, const std::vector<Gpu>& gpus,
                                std::optional<std::uint32_t> slots,
                                std::optional<std::uint32_t> threads_per_slot);

}  // namespace inlier

#endif  // INLIER_WORKER_SLOTS_SLOT_PLAN_H_
