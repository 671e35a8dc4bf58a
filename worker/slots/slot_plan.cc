#include "worker/slots/slot_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {

std::vector<SlotPlan> PlanSlots(const std::vector<int>& cpus, const std::vector<Gpu>& gpus,
                                std::optional<std::uint32_t> slots,
                                std::optional<std::uint32_t> threads_per_slot) {
  INLIER_CHECK(!cpus.empty() && slots.value_or(1) >= 1 && threads_per_slot.value_or(1) >= 1);
  const auto cores = static_cast<std::uint32_t>(cpus.size());
  const std::uint32_t count = slots.value_or(gpus.empty() ? std::max(1u, cores / threads_per_slot.value_or(1))
                                                          : static_cast<std::uint32_t>(gpus.size()));
  const std::uint32_t threads = threads_per_slot.value_or(std::max(1u, cores / count));
  const bool enough = static_cast<std::uint64_t>(count) * threads <= cores;
  std::vector<SlotPlan> plan;
  for (std::uint32_t i = 0; i < count; ++i) {
    SlotPlan slot;
    slot.index = i;
    slot.threads = threads;
    slot.device = "cpu";
    if (!gpus.empty()) {
      const size_t gpu = i % gpus.size();
      slot.device = absl::StrCat("cuda:", gpu);
      slot.cuda_visible = gpus[gpu].id;
      slot.device_memory_mib = gpus[gpu].memory_mib;
    }
    if (enough) {
      const auto first = cpus.begin() + static_cast<std::ptrdiff_t>(i) * threads;
      slot.cpus.assign(first, first + threads);
    }
    plan.push_back(std::move(slot));
  }
  return plan;
}

}  // namespace inlier
