// Orchestrator: what fits where. A stage asks for what its sweep says, or for more since an attempt of it ran
// out of memory (memory_retry.cc); it is leased only to a slot whose machine and GPU have so much left.
#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/orchestration/orchestrator.h"

namespace inlier {
namespace {

// Requests that no stage has any more are forgotten when there are more than this.
constexpr std::size_t kPassedMax = 64;
constexpr int kWorkersTold = 10;

}  // namespace

ResourceRequest Orchestrator::RequestFor(const Sweep& sweep, const Stage& stage) const {
  if (raised_.empty()) return sweep.request;
  const auto raised = raised_.find(stage.id);
  if (raised == raised_.end()) return sweep.request;
  return Larger(sweep.request,
                {.memory_mib = raised->second.memory_mib, .gpu_memory_mib = raised->second.gpu_memory_mib});
}

Scheduler::Shape Orchestrator::ShapeOf(const Sweep& sweep, const Stage& stage) const {
  const auto waits = holder_waits_.find(stage.id);
  return {.worker = waits == holder_waits_.end() ? 0 : waits->second.first,
          .request = RequestFor(sweep, stage)};
}

std::optional<std::uint32_t> Orchestrator::SlotFor(const WorkerEntry& worker,
                                                   const ResourceRequest& request) const {
  for (const v1::Slot& slot : worker.slots) {
    if (IsFree(worker, slot.index()) &&
        (worker.resources.Fits(slot.index(), request) || INLIER_BUG("resources_ignored")))
      return slot.index();
  }
  return std::nullopt;
}

WorkerEntry* Orchestrator::WaitingFor(const ResourceRequest& request) {
  const auto passed = passed_.find(request);
  auto at = passed == passed_.end() ? waiting_.begin() : waiting_.upper_bound(passed->second);
  for (; at != waiting_.end(); ++at) {
    WorkerEntry& worker = *workers_.Find(at->second);
    if (SlotFor(worker, request)) return &worker;
    if (passed_.size() >= kPassedMax && !passed_.contains(request)) passed_.clear();
    passed_[request] = at->first;
  }
  return nullptr;
}

std::optional<Scheduler::Pick> Orchestrator::PickFor(const WorkerEntry& worker, std::uint32_t slot) const {
  return scheduler_.Next(worker.number, [&](const ResourceRequest& request) {
    return worker.resources.Fits(slot, request) || INLIER_BUG("resources_ignored");
  });
}

void Orchestrator::NoteFreed(WorkerEntry& worker) {
  if (worker.waits_as == 0 || passed_.empty()) return;
  waiting_.erase(worker.waits_as);
  worker.waits_as = ++waited_;
  waiting_.emplace(worker.waits_as, worker.incarnation);
}

void Orchestrator::ReleaseResources(const Attempt& attempt, WorkerEntry& worker) {
  if (worker.occupied.contains(attempt.assignment.slot())) return;
  worker.resources.Release(attempt.token);
  NoteFreed(worker);
}

void Orchestrator::ReleaseGone(WorkerEntry& worker, const v1::WorkerSync* sync) {
  if (sync != nullptr) {
    for (const v1::AttemptReport& report : sync->attempts()) {
      // Of an earlier life of this process, or not the worker's: it takes its slot's part.
      if (!worker.resources.held().contains(report.token()))
        worker.resources.Take(report.token(), report.slot(), {});
    }
  }
  const auto alive = [sync](Token token) {
    return sync != nullptr && std::any_of(sync->attempts().begin(), sync->attempts().end(),
                                          [token](const auto& report) { return report.token() == token; });
  };
  std::vector<Token> gone;
  for (const auto& [token, held] : worker.resources.held()) {
    const auto live = attempts_.find(token);
    const bool runs = live != attempts_.end() && live->second.worker == worker.incarnation;
    if (!runs && !alive(token)) gone.push_back(token);
  }
  for (const Token token : gone) worker.resources.Release(token);
  if (!gone.empty()) NoteFreed(worker);
}

void Orchestrator::ReshapeStages(Context& context, Sweep& sweep) {
  std::set<StageId> stages;
  for (const TrialId id : sweep.trials) {
    const Trial& trial = trials_.at(id);
    if (IsTerminal(trial.state)) continue;
    stages.insert(trial.train);
    stages.insert(trial.evaluate);
  }
  for (const StageId id : stages) {
    if (Stage& stage = stages_.at(id); stage.ready) RefreshReadiness(context, stage);
  }
}

void Orchestrator::CheckResources() const {
  for (const auto& [incarnation, worker] : workers_.all()) {
    const WorkerResources& resources = worker.resources;
    INLIER_CHECK(resources.IsConsistent());
    // (6) What live attempts take is there.
    WorkerResources live = resources;
    const std::vector<Token> leased = leases_.HeldBy(incarnation);
    const std::set<Token> tokens(leased.begin(), leased.end());
    for (const auto& [token, held] : resources.held()) {
      if (!tokens.contains(token)) live.Release(token);
    }
    INLIER_CHECK(live.held().size() == tokens.size());
    INLIER_CHECK(live.memory_used_mib() <= live.memory_mib() || live.memory_used_mib() == 0);
    for (const WorkerResources::Gpu& gpu : live.gpus()) {
      INLIER_CHECK(gpu.used.gpu_thousandths <= kWholeGpu);
      INLIER_CHECK(gpu.used.gpu_memory_mib <= gpu.memory_mib);
    }
    for (const Token token : tokens) {
      const Attempt& attempt = attempts_.at(token);
      INLIER_CHECK(resources.held().at(token) ==
                   (WorkerResources::Held{attempt.assignment.slot(), attempt.request}));
    }
    if (!worker.connected) INLIER_CHECK(resources.held().size() == tokens.size());
  }
  for (const auto& [id, raised] : raised_) INLIER_CHECK(!IsResult(stages_.at(id).state));
}

std::string Orchestrator::WhyNowhere(const ResourceRequest& request) const {
  std::uint64_t memory = 0, gpu_memory = 0;
  bool gpu = false;
  for (const auto& [incarnation, worker] : workers_.all()) {
    if (!worker.connected) continue;
    if (worker.resources.CouldEverFit(request)) return "";
    memory = std::max(memory, worker.resources.memory_mib());
    for (const WorkerResources::Gpu& one : worker.resources.gpus()) {
      gpu = true;
      gpu_memory = std::max(gpu_memory, one.memory_mib);
    }
  }
  if (workers_.connected() == 0) return "";
  std::string most = memory == 0 ? std::string("no worker tells its memory")
                                 : absl::StrCat("the largest machine has ", memory, " MiB");
  if (request.gpu_thousandths > 0 || request.gpu_memory_mib > 0) {
    absl::StrAppend(&most, !gpu              ? std::string(", none has a GPU")
                           : gpu_memory == 0 ? std::string(", no worker tells its GPU's memory")
                                             : absl::StrCat(", the largest GPU ", gpu_memory, " MiB"));
  }
  return absl::StrCat("no registered worker could ever run this: it needs ", RequestText(request), "; ", most,
                      " (lower `resources` of the sweep with inlier edit, or start a larger worker)");
}

void Orchestrator::ExplainPlacement(const Stage& stage, SweepId sweep, v1::Explanation& of) const {
  const ResourceRequest request = RequestFor(*sweeps_.View(sweep), stage);
  if (const std::string never = WhyNowhere(request); !never.empty()) {
    of.add_because()->set_text(never);
    return;
  }
  if (request == ResourceRequest() || workers_.connected() == 0) return;
  v1::Explanation node;
  int free_slots = 0;
  for (const auto& [incarnation, worker] : workers_.all()) {
    if (!worker.connected || !worker.TakesWork() || !FreeSlot(worker)) continue;
    if (SlotFor(worker, request)) return;
    if (++free_slots <= kWorkersTold)
      node.add_because()->set_text(absl::StrCat("worker ", worker.name, " ", worker.resources.FreeText()));
  }
  if (free_slots == 0) return;  // That is said of the slots.
  node.set_text(absl::StrCat("it needs ", RequestText(request), ", and no free slot has that now"));
  *of.add_because() = std::move(node);
}

}  // namespace inlier
