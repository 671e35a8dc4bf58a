#include "coordinator/scheduling/placement.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/digest.h"
#include "coordinator/scheduling/gather.h"
#include "coordinator/scheduling/job_ends.h"
#include "spec/trial/data_source.h"

namespace inlier {
namespace {

// Requests that no stage has any more are forgotten when there are more than this.
constexpr std::size_t kPassedMax = 64;
// The list of workers with other data ends above it.
constexpr std::size_t kOthersBytes = 500;

void NoteFreed(State& state, WorkerEntry& worker) {
  if (worker.idle_ticket == 0 || state.idle.no_fit_up_to.empty()) return;
  state.idle.by_ticket.erase(worker.idle_ticket);
  worker.idle_ticket = state.idle.Add(worker.incarnation);
}

}  // namespace

ResourceRequest RequestFor(const State& state, const Sweep& sweep, const Stage& stage) {
  ResourceRequest request = sweep.request;
  if (stage.kind == v1::EVALUATE_STAGE) request.processes = 1;
  if (const auto raised = state.raised_memory.find(stage.id); raised != state.raised_memory.end()) {
    request = Larger(request, {.memory_mib = raised->second.memory_mib / request.processes,
                               .gpu_memory_mib = raised->second.gpu_memory_mib});
  }
  request.seconds = SecondsNeeded(state, sweep.id, stage);
  if (!state.data.AnyDiffers()) return request;
  const DataId data = state.stages.BoundFor(stage).data;
  if (!state.data.IsKnown(data) || !state.data.source(data).differs) return request;
  request.data_source = state.data.SourceOf(data);
  request.data = data;
  return request;
}

ReadyShape ShapeOf(const State& state, const Sweep& sweep, const Stage& stage) {
  const auto waits = state.holder_waits.by_stage.find(stage.id);
  return {.worker = waits == state.holder_waits.by_stage.end() ? 0 : waits->second.first,
          .request = RequestFor(state, sweep, stage)};
}

std::vector<std::uint32_t> SlotsFor(const State& state, const WorkerEntry& worker,
                                    const ResourceRequest& request) {
  if (IsKept(state, worker, request)) return {};
  if (INLIER_BUG("resources_ignored") && request.processes == 1) {
    const std::optional<std::uint32_t> slot = FreeSlot(state, worker);
    return slot ? std::vector<std::uint32_t>{*slot} : std::vector<std::uint32_t>();
  }
  return worker.resources.SlotsFor(request, [&](std::uint32_t slot) { return IsFree(state, worker, slot); });
}

std::string DeviceOf(const WorkerEntry& worker, std::uint32_t slot) {
  return slot < worker.slots.size() ? worker.slots[slot].device() : std::string();
}

bool IsBlocked(const WorkerEntry& worker, std::uint32_t slot) {
  if (worker.devices.empty()) return false;
  const auto health = worker.devices.find(DeviceOf(worker, slot));
  return health != worker.devices.end() && health->second.Blocked();
}

bool IsFree(const State& state, const WorkerEntry& worker, std::uint32_t slot) {
  if (IsBlocked(worker, slot)) return false;
  if (INLIER_BUG("occupied_slot_leased")) {
    const std::vector<Token> leased = state.leases.HeldBy(worker.incarnation);
    return std::ranges::none_of(
        leased, [&](Token token) { return state.attempts.at(token).assignment.slot() == slot; });
  }
  return !worker.resources.SlotTaken(slot);
}

std::optional<std::uint32_t> FreeSlot(const State& state, const WorkerEntry& worker) {
  for (const v1::Slot& slot : worker.slots) {
    if (IsFree(state, worker, slot.index())) return slot.index();
  }
  return std::nullopt;
}

std::uint32_t SlotsLeased(const State& state, const WorkerEntry& worker) {
  std::uint32_t slots = 0;
  for (const Token token : state.leases.HeldBy(worker.incarnation))
    slots += state.attempts.at(token).request.processes;
  return slots;
}

std::string WhyNoData(const State& state, const ResourceRequest& request) {
  if (!request.data) return "";
  const DataRow& wanted = state.data.at(request.data);
  ResourceRequest with_any_data = request;
  with_any_data.data = DataId();
  std::string others;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    // One that an admin drains may be resumed.
    if (!worker.connected || worker.unavailable.draining) continue;
    if (!worker.resources.CouldEverFit(with_any_data)) continue;  // It will never look for the data.
    if (!worker.resources.HasOtherData(request)) return "";
    const DataRow& found = state.data.at(worker.resources.DataOf(request.data_source));
    if (others.size() < kOthersBytes)
      absl::StrAppend(&others, "; worker ", worker.name,
                      *found.digest == Digest{}
                          ? std::string(" has none of it")
                          : absl::StrCat(" has digest ", HexOf(*found.digest).substr(0, 12)));
  }
  if (others.empty()) return "";
  return absl::StrCat(
      "no connected worker has the data that it began with: ", DataSourceText(wanted.names), " with digest ",
      HexOf(*wanted.digest).substr(0, 12), ", as ",
      wanted.worker.empty() ? "the sweep names it" : absl::StrCat("worker ", wanted.worker, " had it"),
      others);
}

void SetWorkerData(State& state, WorkerEntry& worker, DataId version) {
  const DataId source = state.data.SourceOf(version);
  if (worker.resources.DataOf(source) == version) return;
  worker.resources.SetData(source, version);
  if (!state.data.source(source).differs) return;
  NoteFreed(state, worker);
  state.data_waits.lacking_due = Timestamp{};
}

std::string WhyNowhere(const State& state, const ResourceRequest& request) {
  std::uint64_t memory = 0, gpu_memory = 0;
  std::size_t slots = 0, gpus = 0;  // Of the worker with the most.
  if (const std::string lacks = WhyNoData(state, request); !lacks.empty()) return lacks;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    if (!worker.connected) continue;
    if (worker.resources.CouldEverFit(request)) return "";
    memory = std::max(memory, worker.resources.memory_mib());
    slots = std::max(slots, worker.slots.size());
    gpus = std::max(gpus, worker.resources.gpus().size());
    for (const auto& gpu : worker.resources.gpus()) gpu_memory = std::max(gpu_memory, gpu.memory_mib);
  }
  if (state.workers.connected() == 0) return "";
  std::string most = memory == 0 ? std::string("no worker reports its memory")
                                 : absl::StrCat("the largest machine has ", memory, " MiB");
  if (request.gpu_thousandths > 0 || request.gpu_memory_mib > 0) {
    absl::StrAppend(&most, gpus == 0         ? std::string(", none has a GPU")
                           : gpu_memory == 0 ? std::string(", no worker reports its GPU's memory")
                                             : absl::StrCat(", the largest GPU ", gpu_memory, " MiB"));
  }
  if (request.processes > 1) {
    absl::StrAppend(&most, ", and no worker has more than ", slots, slots == 1 ? " slot" : " slots");
    if (gpus > 0) absl::StrAppend(&most, ", or more than ", gpus, gpus == 1 ? " GPU" : " GPUs");
  }
  return absl::StrCat("no registered worker could ever run this: it needs ", RequestText(request), "; ", most,
                      " (lower `resources` of the sweep with inlier edit, or start a larger worker)");
}

WorkerEntry* WaitingFor(State& state, const ResourceRequest& request) {
  const auto passed = state.idle.no_fit_up_to.find(request);
  auto at = passed == state.idle.no_fit_up_to.end() ? state.idle.by_ticket.begin()
                                                    : state.idle.by_ticket.upper_bound(passed->second);
  for (; at != state.idle.by_ticket.end(); ++at) {
    WorkerEntry& worker = *state.workers.Find(at->second);
    if (!SlotsFor(state, worker, request).empty()) return &worker;
    if (state.idle.no_fit_up_to.size() >= kPassedMax && !state.idle.no_fit_up_to.contains(request))
      state.idle.no_fit_up_to.clear();
    state.idle.no_fit_up_to[request] = at->first;
  }
  return nullptr;
}

void ReleaseResources(State& state, const Attempt& attempt, WorkerEntry& worker) {
  const auto held = worker.resources.held().find(attempt.token);
  if (held != worker.resources.held().end() && held->second.reported) return;
  worker.resources.Release(attempt.token);
  NoteFreed(state, worker);
}

void ReleaseGone(State& state, WorkerEntry& worker, const v1::WorkerSync* sync) {
  std::set<Token> reported;
  if (sync != nullptr) {
    for (const v1::AttemptReport& report : sync->attempts()) {
      reported.insert(report.token());
      // An attempt of an earlier life of this process, or not the worker's, takes its slot's part.
      if (worker.resources.held().contains(report.token())) continue;
      std::vector<std::uint32_t> slots = {report.slot()};
      slots.insert(slots.end(), report.further_slots().begin(), report.further_slots().end());
      worker.resources.Take(report.token(), std::move(slots), {});
    }
  }
  worker.resources.SetReported(reported);
  std::vector<Token> gone;
  for (const auto& [token, held] : worker.resources.held()) {
    const auto live = state.attempts.find(token);
    const bool runs = live != state.attempts.end() && live->second.worker == worker.incarnation;
    if (!runs && !held.reported) gone.push_back(token);
  }
  for (const Token token : gone) worker.resources.Release(token);
  if (!gone.empty()) NoteFreed(state, worker);
}

void SlotFreed(State& state, WorkerEntry& worker) {
  NoteFreed(state, worker);
  RefreshOffer(state, worker);
}

void RefreshOffer(State& state, WorkerEntry& worker) {
  const bool wants = worker.listening && worker.TakesWork() && FreeSlot(state, worker).has_value();
  if (wants == (worker.idle_ticket != 0)) return;
  if (wants) {
    worker.idle_ticket = state.idle.Add(worker.incarnation);
  } else {
    state.idle.by_ticket.erase(worker.idle_ticket);
    worker.idle_ticket = 0;
  }
}

}  // namespace inlier
