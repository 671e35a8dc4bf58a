#include "coordinator/state/resources.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"

namespace inlier {
namespace {

constexpr std::uint64_t kMemoryStepMib = 64;
// More memory than any machine has, and so little that sums over a worker's slots never overflow.
constexpr std::uint64_t kMibMax = std::uint64_t{1} << 40;

// One n-th, of nothing too.
std::uint64_t Part(std::uint64_t whole, std::size_t n) { return n == 0 ? 0 : whole / n; }

}  // namespace

ResourceRequest RequestOf(const v1::ResourceSpec& spec) {
  ResourceRequest request;
  if (spec.has_gpu()) {
    request.gpu_thousandths =
        static_cast<std::uint32_t>(std::clamp<long>(std::lround(spec.gpu() * kWholeGpu), 1, kWholeGpu));
  }
  request.memory_mib = spec.memory_mib();
  request.gpu_memory_mib = spec.gpu_memory_mib();
  if (spec.has_processes()) request.processes = std::max(1u, spec.processes());
  if (spec.has_gpus()) {
    request.processes = std::max(1u, spec.gpus());
    request.gpu_thousandths = kWholeGpu;
  }
  return request;
}

ResourceRequest Larger(const ResourceRequest& a, const ResourceRequest& b) {
  return {.gpu_thousandths = std::max(a.gpu_thousandths, b.gpu_thousandths),
          .memory_mib = std::max(a.memory_mib, b.memory_mib),
          .gpu_memory_mib = std::max(a.gpu_memory_mib, b.gpu_memory_mib),
          .processes = std::max(a.processes, b.processes),
          .seconds = std::max(a.seconds, b.seconds)};
}

std::string RequestText(const ResourceRequest& request) {
  std::string text;
  const auto add = [&text](const std::string& what) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", what);
  };
  if (request.gpu_thousandths == kWholeGpu) {
    add("a whole GPU");
  } else if (request.gpu_thousandths > 0) {
    add(absl::StrCat(request.gpu_thousandths / 1000.0, " of a GPU"));
  }
  if (request.memory_mib > 0) add(absl::StrCat(request.memory_mib, " MiB of memory"));
  if (request.gpu_memory_mib > 0) add(absl::StrCat(request.gpu_memory_mib, " MiB of GPU memory"));
  if (request.seconds > 0) add(absl::StrCat(request.seconds, " s before its worker's job ends"));
  if (request.processes > 1) {
    return absl::StrCat(request.processes, " processes on one worker",
                        text.empty() ? "" : absl::StrCat(", each with ", text));
  }
  return text.empty() ? "nothing in particular" : text;
}

std::uint64_t MoreMemory(std::uint64_t had_mib, std::uint64_t peak_mib) {
  const std::uint64_t base = std::min(std::max(had_mib, peak_mib), kMibMax);
  return (base + base / 2 + kMemoryStepMib - 1) / kMemoryStepMib * kMemoryStepMib;
}

void WorkerResources::SetCapacity(const std::vector<v1::Slot>& slots, std::uint64_t memory_mib) {
  memory_mib_ = std::min(memory_mib, kMibMax);
  memory_used_mib_ = 0;
  gpus_.clear();
  gpu_of_slot_.assign(slots.size(), -1);
  machine_of_slot_.clear();
  for (const v1::Slot& slot : slots) {
    if (slot.index() >= slots.size()) continue;
    if (const std::size_t at = slot.device().find('@'); at != std::string::npos)
      machine_of_slot_[slot.index()] = slot.device().substr(at + 1);
    if (!absl::StartsWith(slot.device(), "cuda")) continue;
    auto gpu = std::ranges::find_if(gpus_, [&](const Gpu& known) { return known.device == slot.device(); });
    if (gpu == gpus_.end()) gpu = gpus_.insert(gpu, {.device = slot.device(), .used = {}});
    ++gpu->slots;
    gpu->memory_mib = std::max(gpu->memory_mib, std::min<std::uint64_t>(slot.device_memory_mib(), kMibMax));
    gpu_of_slot_[slot.index()] = static_cast<int>(gpu - gpus_.begin());
  }
  for (const auto& [token, held] : held_) Add(held, 1);
}

ResourceRequest WorkerResources::Charge(std::uint32_t slot, const ResourceRequest& request) const {
  ResourceRequest charge = request;
  if (charge.memory_mib == 0) charge.memory_mib = Part(memory_mib_, gpu_of_slot_.size());
  if (slot >= gpu_of_slot_.size() || gpu_of_slot_[slot] < 0) return charge;
  const Gpu& gpu = gpus_[static_cast<std::size_t>(gpu_of_slot_[slot])];
  if (charge.gpu_thousandths == 0) charge.gpu_thousandths = kWholeGpu / gpu.slots;
  if (charge.gpu_memory_mib == 0) {
    charge.gpu_memory_mib = request.gpu_thousandths > 0 ? gpu.memory_mib * request.gpu_thousandths / kWholeGpu
                                                        : Part(gpu.memory_mib, gpu.slots);
  }
  return charge;
}

bool WorkerResources::HasOtherData(const ResourceRequest& request) const {
  if (!request.data || data_.empty()) return false;
  const DataId found = DataOf(request.data_source);
  return found && found != request.data;
}

bool WorkerResources::CouldFit(std::uint32_t slot, const ResourceRequest& request) const {
  if (HasOtherData(request)) return false;
  const ResourceRequest charge = Charge(slot, request);
  if (charge.memory_mib > memory_mib_) return false;
  const int at = slot < gpu_of_slot_.size() ? gpu_of_slot_[slot] : -1;
  if (at < 0) return charge.gpu_thousandths == 0 && charge.gpu_memory_mib == 0;
  return charge.gpu_memory_mib <= gpus_[static_cast<std::size_t>(at)].memory_mib;
}

bool WorkerResources::Fits(std::uint32_t slot, const ResourceRequest& request) const {
  if (seconds_left_ && *seconds_left_ < std::max(request.seconds, kLeastSecondsOfAJob)) return false;
  if (!CouldFit(slot, request)) return false;
  const ResourceRequest charge = Charge(slot, request);
  if (memory_used_mib_ + charge.memory_mib > memory_mib_) return false;
  const int at = gpu_of_slot_[slot];
  if (at < 0) return true;
  const Gpu& gpu = gpus_[static_cast<std::size_t>(at)];
  return gpu.used.gpu_thousandths + charge.gpu_thousandths <= kWholeGpu &&
         gpu.used.gpu_memory_mib + charge.gpu_memory_mib <= gpu.memory_mib;
}

std::vector<std::uint32_t> WorkerResources::SlotsFor(const ResourceRequest& request, Usable usable) const {
  if (request.processes == 1 || machine_of_slot_.empty()) return FirstSlotsFor(request, usable);
  std::set<std::string> machines = {""};  // The worker's own.
  for (const auto& [slot, machine] : machine_of_slot_) machines.insert(machine);
  for (const std::string& machine : machines) {
    const auto is_there = [&](std::uint32_t slot) {
      const auto named = machine_of_slot_.find(slot);
      return (named == machine_of_slot_.end() ? "" : named->second) == machine && usable(slot);
    };
    std::vector<std::uint32_t> slots = FirstSlotsFor(request, is_there);
    if (!slots.empty()) return slots;
  }
  return FirstSlotsFor(request, usable);
}

std::vector<std::uint32_t> WorkerResources::FirstSlotsFor(const ResourceRequest& request,
                                                          Usable usable) const {
  std::vector<std::uint32_t> slots;
  std::set<int> gpus;
  std::uint64_t memory_mib = 0;  // Of the slots so far.
  for (std::uint32_t slot = 0; slot < gpu_of_slot_.size(); ++slot) {
    if (!usable(slot) || !Fits(slot, request)) continue;
    const ResourceRequest charge = Charge(slot, request);
    if (memory_used_mib_ + memory_mib + charge.memory_mib > memory_mib_) continue;
    const int gpu = gpu_of_slot_[slot];
    const bool taken_by_the_gang = gpu >= 0 && !gpus.insert(gpu).second;
    if (taken_by_the_gang && !INLIER_BUG("gang_shares_a_gpu")) continue;
    memory_mib += charge.memory_mib;
    slots.push_back(slot);
    if (slots.size() == request.processes) return slots;
  }
  return {};
}

WorkerResources WorkerResources::Without(const std::set<Token>& gone) const {
  WorkerResources rest = *this;
  for (const Token token : gone) rest.Release(token);
  return rest;
}

WorkerResources WorkerResources::Unused() const {
  WorkerResources rest = *this;
  rest.held_.clear();
  rest.memory_used_mib_ = 0;
  for (Gpu& gpu : rest.gpus_) gpu.used = {};
  return rest;
}

bool WorkerResources::CouldEverFit(const ResourceRequest& request) const {
  if (request.processes == 1) {
    for (std::uint32_t slot = 0; slot < gpu_of_slot_.size(); ++slot) {
      if (CouldFit(slot, request)) return true;
    }
    return false;
  }
  WorkerResources whole = Unused();
  whole.seconds_left_.reset();
  return !whole.SlotsFor(request, [](std::uint32_t) { return true; }).empty();
}

void WorkerResources::Add(const Held& held, int sign) {
  const auto add = [sign](auto& to, auto amount) { sign > 0 ? to += amount : to -= amount; };
  for (const std::uint32_t slot : held.slots) {
    const ResourceRequest charge = Charge(slot, held.request);
    add(memory_used_mib_, charge.memory_mib);
    if (slot >= gpu_of_slot_.size() || gpu_of_slot_[slot] < 0) continue;
    Gpu& gpu = gpus_[static_cast<std::size_t>(gpu_of_slot_[slot])];
    add(gpu.used.gpu_thousandths, charge.gpu_thousandths);
    add(gpu.used.gpu_memory_mib, charge.gpu_memory_mib);
  }
}

void WorkerResources::Take(Token token, std::vector<std::uint32_t> slots, const ResourceRequest& request) {
  const auto [at, is_new] = held_.emplace(token, Held{.slots = std::move(slots), .request = request});
  INLIER_CHECK(is_new);
  Add(at->second, 1);
}

void WorkerResources::SetReported(const std::set<Token>& tokens) {
  for (auto& [token, held] : held_) held.reported = tokens.contains(token);
}

bool WorkerResources::SlotTaken(std::uint32_t slot) const {
  return std::ranges::any_of(held_, [slot](const auto& held) {
    const std::vector<std::uint32_t>& slots = held.second.slots;
    return std::ranges::find(slots, slot) != slots.end();
  });
}

void WorkerResources::Release(Token token) {
  const auto at = held_.find(token);
  if (at == held_.end()) return;
  Add(at->second, -1);
  held_.erase(at);
}

std::uint64_t WorkerResources::gpu_memory_mib(std::uint32_t slot) const {
  if (slot >= gpu_of_slot_.size() || gpu_of_slot_[slot] < 0) return 0;
  return gpus_[static_cast<std::size_t>(gpu_of_slot_[slot])].memory_mib;
}

std::string WorkerResources::FreeText() const {
  const auto left = [](std::uint64_t whole, std::uint64_t used) { return whole - std::min(whole, used); };
  std::string text = memory_mib_ == 0 ? std::string("does not report its memory")
                                      : absl::StrCat("has ", left(memory_mib_, memory_used_mib_), " of ",
                                                     memory_mib_, " MiB of memory free");
  for (const Gpu& gpu : gpus_) {
    absl::StrAppend(&text, ", ", left(kWholeGpu, gpu.used.gpu_thousandths) / 1000.0, " of ", gpu.device);
    if (gpu.memory_mib > 0) {
      absl::StrAppend(&text, " with ", left(gpu.memory_mib, gpu.used.gpu_memory_mib), " of ", gpu.memory_mib,
                      " MiB");
    }
  }
  if (gpus_.empty()) absl::StrAppend(&text, ", and no GPU");
  if (seconds_left_) absl::StrAppend(&text, "; its job ends in ", *seconds_left_, " s");
  return text;
}

}  // namespace inlier
