#include "coordinator/attempts/memory_retry.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace inlier {

std::string RaiseMemory(Context& context, const Stage& stage, const Attempt& attempt) {
  State& state = context.state;
  const WorkerEntry* worker = state.workers.Find(attempt.worker);
  if (worker == nullptr) return "";
  const std::uint32_t slot = attempt.assignment.slot();
  const bool of_gpu = attempt.gpu_out_of_memory;
  const auto whole = [of_gpu](const WorkerResources& resources) {
    if (!of_gpu) return resources.memory_mib();
    std::uint64_t most = 0;
    for (const WorkerResources::Gpu& gpu : resources.gpus()) most = std::max(most, gpu.memory_mib);
    return most;
  };
  const ResourceRequest charge = worker->resources.Charge(slot, attempt.request);
  const std::uint64_t had = of_gpu ? charge.gpu_memory_mib : charge.memory_mib;
  const std::uint64_t peak = of_gpu ? attempt.peak_gpu_memory_mib : attempt.peak_memory_mib;
  std::uint64_t largest = 0;
  for (const auto& [incarnation, known] : state.workers.all()) {
    if (known.connected) largest = std::max(largest, whole(known.resources));
  }
  if (largest == 0) return "";  // Nobody tells: it is tried again as it was.
  if (had >= largest) {
    return absl::StrCat("it had ", had, " MiB, all that the largest registered ",
                        of_gpu ? "GPU has" : "worker has",
                        "; give the training less to hold (a smaller batch with more "
                        "training.gradient_accumulation, a shorter context, a smaller model) or start a "
                        "worker with more memory, then retry it");
  }
  StageMemory& raised = state.raised_memory[stage.id];
  raised.id = stage.id;
  std::uint64_t& next = of_gpu ? raised.gpu_memory_mib : raised.memory_mib;
  next = std::max(next, std::min(MoreMemory(had, peak), largest));
  context.out.changes.Add(raised);
  return "";
}

}  // namespace inlier
