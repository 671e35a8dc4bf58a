#include "worker/slots/find_slots.h"

#include <optional>

#include "base/environment.h"
#include "base/log.h"
#include "base/processes/usable_cpus.h"

namespace inlier {

std::vector<SlotPlan> FindSlots(const v1::WorkerConfig& config, GpuInventory inventory, bool trial_has_cuda) {
  if (!inventory.gpus.empty() && !trial_has_cuda) {
    spdlog::warn(
        "gpus_not_used count={} reason=\"trial_program was built with a LibTorch without CUDA; trials run on "
        "the CPU\"",
        inventory.gpus.size());
    inventory.gpus.clear();
  }
  const auto given = [](bool has, std::uint32_t value) {
    return has ? std::optional<std::uint32_t>(value) : std::nullopt;
  };
  const UsableCpus cpus = FindUsableCpus();
  const auto count = static_cast<std::size_t>(cpus.count);
  std::vector<SlotPlan> slots = PlanSlots({cpus.bound_to.begin(), cpus.bound_to.begin() + cpus.count},
                                          inventory.gpus, given(config.has_slots(), config.slots()),
                                          given(config.has_threads_per_slot(), config.threads_per_slot()));
  spdlog::info("slots count={} threads_per_slot={} cpus={} gpus={} gpu_source=\"{}\"", slots.size(),
               slots.front().threads, count, inventory.gpus.size(), inventory.source);
  if (slots.front().cpus.empty()) {
    spdlog::warn("slots_share_cpus slots={} threads={} cpus={} reason=\"trials will slow each other down\"",
                 slots.size(), slots.front().threads, count);
  }
  // Some of the machine's CPUs, but none in particular: every job of this kind would bind to the first ones.
  if (count < cpus.bound_to.size()) {
    for (SlotPlan& slot : slots) slot.cpus.clear();
  }
  if (!inventory.gpus.empty() && slots.size() > inventory.gpus.size() &&
      !HasMultiProcessService(EnvironmentVariable("CUDA_MPS_PIPE_DIRECTORY"))) {
    spdlog::warn(
        "gpus_take_turns slots={} gpus={} reason=\"there is no multi-process service of the driver\" "
        "remedy=\"nvidia-cuda-mps-control -d before this worker; docs/guides/gpu-machine.md\"",
        slots.size(), inventory.gpus.size());
  }
  return slots;
}

std::uint64_t MemoryForTrials(const v1::WorkerConfig& config) {
  return config.has_memory_mib() ? config.memory_mib() : UsableMemoryMib();
}

}  // namespace inlier
