#include "coordinator/scheduling/gather.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/deliberate_bug.h"
#include "coordinator/scheduling/placement.h"

namespace inlier {
namespace {

// The worker's slots and their devices suffice for the gang once all attempts on it have ended.
bool CouldGather(const WorkerEntry& worker, const ResourceRequest& request) {
  // Asked of every worker whenever something starts while a gang waits: those too small are left out before the rest.
  if (worker.slots.size() < request.processes) return false;
  const bool on_gpus = request.gpu_thousandths > 0 || request.gpu_memory_mib > 0;
  if (on_gpus && worker.resources.gpus().size() < request.processes) return false;
  return !worker.resources.Unused()
              .SlotsFor(request, [&](std::uint32_t slot) { return !IsBlocked(worker, slot); })
              .empty();
}

bool FitsNow(const State& state, const WorkerEntry& worker, const ResourceRequest& request) {
  const auto usable = [&](std::uint32_t slot) { return IsFree(state, worker, slot); };
  return worker.TakesWork() && !worker.resources.SlotsFor(request, usable).empty();
}

// A request of one process has its turn where it fits now, or where no slot is free and it fits later.
bool HasTurn(const State& state, const WorkerEntry& worker, const ResourceRequest& request) {
  if (request.processes == 1 && worker.TakesWork() && FreeSlot(state, worker))
    return FitsNow(state, worker, request);
  return CouldRun(worker, request);
}

// Counts slots that are free, or soon will be because their attempts are asked to yield.
std::size_t FreeSlots(const State& state, const WorkerEntry& worker) {
  std::size_t free = 0;
  for (const v1::Slot& slot : worker.slots) free += IsFree(state, worker, slot.index()) ? 1 : 0;
  for (const Token token : state.leases.HeldBy(worker.incarnation)) {
    const Attempt& attempt = state.attempts.at(token);
    if (!attempt.yield.why.empty()) free += attempt.request.processes;
  }
  return free;
}

// The gang's request whose turn it is, if it fits nowhere now.
std::optional<ResourceRequest> GangInTurn(const State& state) {
  const auto& workers = state.workers.all();
  const auto pick = state.ready.Next(0, [&](const ResourceRequest& request) {
    return std::ranges::any_of(workers,
                               [&](const auto& entry) { return HasTurn(state, entry.second, request); });
  });
  if (!pick) return std::nullopt;
  const ResourceRequest& request = state.ready.ShapeAt(pick->sweep, pick->stage).request;
  if (request.processes == 1) return std::nullopt;
  // A worker that is kept already stays so until the gang has started.
  const bool fits =
      state.idle.reservation.worker.empty() &&
      std::ranges::any_of(workers, [&](const auto& entry) { return FitsNow(state, entry.second, request); });
  return fits ? std::nullopt : std::optional(request);
}

// The worker that could and has the most free slots now.
std::string WorkerFor(const State& state, const ResourceRequest& request) {
  std::string best;
  std::size_t most = 0;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    if (!CouldRun(worker, request)) continue;
    const std::size_t free = FreeSlots(state, worker);
    if (!best.empty() && free <= most) continue;
    best = incarnation;
    most = free;
  }
  return best;
}

}  // namespace

bool CouldRun(const WorkerEntry& worker, const ResourceRequest& request) {
  if (!worker.TakesWork()) return false;
  if (request.processes > 1) return CouldGather(worker, request);
  return std::ranges::any_of(worker.slots, [&](const v1::Slot& slot) {
    return !IsBlocked(worker, slot.index()) && worker.resources.CouldFit(slot.index(), request);
  });
}

void GatherForGang(State& state) {
  Reservation& now = state.idle.reservation;
  const bool has_gang = state.ready.HasGang();
  if (now.worker.empty() && !has_gang) return;
  if (INLIER_BUG("kept_for_a_gang_that_is_gone") && !now.worker.empty()) return;
  Reservation next;
  if (const auto request = has_gang ? GangInTurn(state) : std::nullopt) {
    next.request = *request;
    const WorkerEntry* const kept = state.workers.Find(now.worker);
    const bool stays = kept != nullptr && now.request == *request && CouldRun(*kept, *request);
    next.worker = stays ? now.worker : WorkerFor(state, *request);
  }
  if (next.worker == now.worker && next.request == now.request) return;
  now = std::move(next);
  state.idle.no_fit_up_to.clear();  // Stages that did not fit on the kept worker may fit now.
}

void GatherWhereAttemptsYield(State& state, const std::string& incarnation, const ResourceRequest& request) {
  Reservation& now = state.idle.reservation;
  if (now.worker == incarnation || (!now.worker.empty() && now.request != request)) return;
  now = {.worker = incarnation, .request = request};
  state.idle.no_fit_up_to.clear();
}

bool IsKept(const State& state, const WorkerEntry& worker, const ResourceRequest& request) {
  return state.idle.reservation.worker == worker.incarnation && request != state.idle.reservation.request;
}

}  // namespace inlier
