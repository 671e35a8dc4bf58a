#include "coordinator/status/explain.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/time.h"
#include "coordinator/data/data_check.h"
#include "coordinator/scheduling/gather.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/sources.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/lookup.h"
#include "coordinator/status/status.h"
#include "spec/program/import_source.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr int kWorkersShown = 10;
std::string Count(std::uint64_t count, const char* one, const char* many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string LabelsText(const Trial& trial) {
  const std::string text = inlier::LabelsText(LabelsFromJson(std::string(trial.labels_json)));
  return text.empty() ? "" : absl::StrCat(" (", text, ")");
}

std::string SlotsText(const v1::Assignment& assignment) {
  if (assignment.further_slots().empty()) return absl::StrCat("slot ", assignment.slot());
  return absl::StrCat("slots ", assignment.slot(), ", ", absl::StrJoin(assignment.further_slots(), ", "));
}

v1::Explanation ExplainAttempt(const State& state, const Attempt& attempt, Moment now) {
  v1::Explanation node;
  const WorkerEntry* worker = state.workers.Find(attempt.worker);
  std::string text =
      absl::StrCat("attempt ", attempt.assignment.attempt(), " runs on worker ",
                   worker != nullptr ? worker->name : attempt.worker, ", ", SlotsText(attempt.assignment));
  if (attempt.unclaimed) {
    absl::StrAppend(&text, "; the coordinator has restarted and the worker has not come back yet");
  } else if (const v1::Progress& progress = attempt.progress; !progress.phase().empty()) {
    absl::StrAppend(
        &text, ": ", progress.phase(),
        progress.steps_total() > 0 ? absl::StrCat(" ", progress.step(), "/", progress.steps_total()) : "",
        ", last progress ", FormatDuration(now.at - attempt.times.progressed), " ago");
  } else {
    absl::StrAppend(&text, ", no progress reported yet, for ",
                    FormatDuration(now.at - attempt.times.progressed));
  }
  node.set_text(text);
  node.set_state("RUNNING");
  if (const std::string& trouble = attempt.progress.trouble(); !trouble.empty()) Because(node, trouble);
  if (!attempt.resumed.trouble.empty()) Because(node, attempt.resumed.trouble);
  if (!attempt.yield.why.empty())
    Because(node, "it was asked to write a checkpoint and stop: ", attempt.yield.why);
  ForEachFeature(&Feature::explain_attempt, state, attempt, now.at, node);
  return node;
}

void ExplainHold(const State& state, const Sweep& sweep, Timestamp now, v1::Explanation& of) {
  const std::string name = absl::StrCat("sweep ", sweep.id.ToString());
  if (sweep.paused) Because(of, name, " is paused (inlier resume ", sweep.id.ToString(), ")");
  const ReadyRules& rules = state.ready.rules(sweep.id);
  if (rules.max_parallel && state.ready.running(sweep.id) >= *rules.max_parallel) {
    v1::Explanation& cap = Because(of, name, " is at its max_parallel of ", *rules.max_parallel);
    for (const auto& [token, attempt] : state.attempts) {
      if (attempt.sweep == sweep.id)
        cap.add_because()->set_text(
            absl::StrCat(attempt.stage.ToString(), " of ", attempt.trial.ToString(), " runs"));
      if (cap.because_size() == 10) break;
    }
  }
  const QuotaUsage group = state.ready.GroupUsage(rules.group);
  if (group.max_parallel && group.running >= *group.max_parallel) {
    Because(of, "group ", rules.group, " is at its quota of ", *group.max_parallel);
  }
  const QuotaUsage owner = state.ready.OwnerUsage(rules.owner);
  if (owner.max_parallel && owner.running >= *owner.max_parallel) {
    Because(of, "the sweeps of ", rules.owner, " run ", owner.running, " attempts, and its max_parallel is ",
            *owner.max_parallel);
  }
  ForEachFeature(&Feature::explain_wait, state, sweep, now, of);
  if (const std::uint64_t above = state.ready.ReadyAbove(rules.priority); above > 0) {
    Because(of, Count(above, "stage", "stages"), " of sweeps with a higher priority than ", rules.priority,
            above == 1 ? " goes before" : " go before");
  }
}

void ExplainWorkers(const State& state, v1::Explanation& of) {
  if (state.workers.connected() == 0) {
    Because(of, "no worker is connected");
    return;
  }
  std::uint64_t slots = 0, busy = 0;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    if (!worker.connected) continue;
    if (worker.unavailable.Any()) {
      Because(of, "worker ", worker.name,
              worker.unavailable.job_drained ? std::string(" is given back to the cluster with its job")
              : worker.unavailable.outdated
                  ? absl::StrCat(" is inlier ", worker.version,
                                 ", which cannot read trials of this version: upgrade it (it "
                                 "finishes what it runs)")
              : !worker.unavailable.trouble.empty()
                  ? absl::StrCat(" can start no trial: ", worker.unavailable.trouble,
                                 "; it gets work when it can")
              : worker.unavailable.held
                  ? absl::StrCat(" is drained (inlier drain --resume ", worker.name, ")")
                  : std::string(" is ending and takes nothing new"));
      continue;
    }
    ForEachFeature(&Feature::explain_worker, worker, of);
    for (const v1::Slot& slot : worker.slots) {
      const bool taken = worker.resources.SlotTaken(slot.index());
      if (taken || !IsBlocked(worker, slot.index())) ++slots;
      if (taken) ++busy;
    }
  }
  if (slots > 0 && busy == slots) {
    Because(of, slots == 1 ? std::string("the only slot is busy")
                           : absl::StrCat("all ", slots, " slots are busy"));
  }
}

std::string DigestText(const State& state, DataId version) {
  return HexOf(*state.data.at(version).digest).substr(0, 12);
}

// A worker that is kept until a gang fits there.
void ExplainKept(const State& state, const ResourceRequest& request, v1::Explanation& of) {
  const WorkerEntry* const kept = state.workers.Find(state.idle.reservation.worker);
  if (kept == nullptr) return;
  if (request == state.idle.reservation.request) {
    Because(of, "it needs ", RequestText(request), ": worker ", kept->name,
            " starts nothing else until they are free there");
  } else {
    Because(of, "worker ", kept->name, " is kept for an attempt of ",
            state.idle.reservation.request.processes, " processes, which goes before");
  }
}

void ExplainPlacement(const State& state, const Stage& stage, SweepId sweep, v1::Explanation& of) {
  const ResourceRequest request = RequestFor(state, state.sweeps.at(sweep), stage);
  if (const std::string never = WhyNowhere(state, request); !never.empty()) {
    of.add_because()->set_text(never);
    return;
  }
  if (state.workers.connected() == 0) return;
  ExplainKept(state, request, of);
  if (request == ResourceRequest()) return;
  v1::Explanation node;
  int free_slots = 0;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    if (!worker.TakesWork() || !FreeSlot(state, worker)) continue;
    if (IsKept(state, worker, request)) continue;
    if (!SlotsFor(state, worker, request).empty()) return;
    if (++free_slots <= kWorkersShown)
      node.add_because()->set_text(
          worker.resources.HasOtherData(request)
              ? absl::StrCat("worker ", worker.name, " has other data, with digest ",
                             DigestText(state, worker.resources.DataOf(request.data_source)))
              : absl::StrCat("worker ", worker.name, " ", worker.resources.FreeText()));
  }
  if (free_slots == 0) return;  // ExplainWorkers reports that.
  const std::string data =
      !request.data ? std::string()
                    : absl::StrCat("the data with digest ", DigestText(state, request.data), " and ");
  node.set_text(absl::StrCat("it needs ", data, RequestText(request), ", and no free slot has that now"));
  *of.add_because() = std::move(node);
}

v1::Explanation ExplainStage(const State& state, const Stage& stage, SweepId sweep, Moment now) {
  v1::Explanation node;
  node.set_text(
      absl::StrCat(stage.kind == v1::TRAIN_STAGE ? "train stage " : "evaluate stage ", stage.id.ToString()));
  node.set_state(v1::TrialState_Name(stage.state));
  if (stage.live() != 0) {
    *node.add_because() = ExplainAttempt(state, state.attempts.at(stage.live()), now);
    return node;
  }
  if (IsTerminal(stage.state)) {
    if (!stage.detail().message.empty()) Because(node, stage.detail().message);
    return node;
  }
  if (stage.kind == v1::EVALUATE_STAGE && state.stages.at(stage.train).state != v1::SUCCEEDED) {
    *node.add_because() = ExplainStage(state, state.stages.at(stage.train), sweep, now);
    return node;
  }
  if (const auto sources = OpenSources(state, stage); !sources.empty()) {
    const Stage& source = state.stages.at(sources.front());
    v1::Explanation& wait = Because(node, "it waits for ", SourceText(state, source));
    *wait.add_because() = ExplainStage(state, source, sweep, now);
    return node;
  }
  if (const StageDetail& detail = stage.detail(); detail.not_before) {
    Because(node, "it is tried again in ", FormatDuration(*detail.not_before - now.at), " after ",
            detail.message);
    return node;
  }
  // It may start for any sweep that needs it: nothing holds it while one of them is free.
  v1::Explanation own, others;
  ExplainHold(state, state.sweeps.at(sweep), now.at, own);
  bool free_elsewhere = false;
  for (const auto& [id, first_trial] : stage.Dependents()) {
    if (id == sweep) continue;
    v1::Explanation hold;
    ExplainHold(state, state.sweeps.at(id), now.at, hold);
    free_elsewhere = free_elsewhere || hold.because_size() == 0;
    others.mutable_because()->MergeFrom(hold.because());
  }
  if (!free_elsewhere) {
    node.mutable_because()->MergeFrom(own.because());
    node.mutable_because()->MergeFrom(others.because());
  }
  ExplainPlacement(state, stage, sweep, node);
  ExplainWorkers(state, node);
  if (node.because_size() == 0) Because(node, "ready; waits for a free worker");
  return node;
}

v1::Explanation ExplainTrial(const State& state, const Trial& trial, Moment now) {
  v1::Explanation node;
  node.set_text(absl::StrCat("trial ", trial.id.ToString(), LabelsText(trial)));
  node.set_state(v1::TrialState_Name(trial.state));
  if (trial.withdrawn) Because(node, "an edit of its sweep took its point away");
  if (IsTerminal(trial.state)) {
    const StageId start = trial.train ? state.stages.at(trial.train).start : StageId();
    if (const Sweep& sweep = state.sweeps.at(trial.sweep); sweep.spec.has_imported())
      Because(node, ImportText(sweep.spec.imported(), sweep.owner, sweep.submission.at));
    if (trial.state == v1::SUCCEEDED) {
      Because(node, "finished");
    } else if (trial.state == v1::DIVERGED && start && state.stages.at(start).state == v1::DIVERGED) {
      Because(node, SourceText(state, state.stages.at(start)), ", has DIVERGED");
    } else if (trial.state == v1::DIVERGED) {
      Because(node, "its loss became not finite: that is its result");
    } else if (!trial.message().empty()) {
      Because(node, trial.message());
    }
    return node;
  }
  *node.add_because() = ExplainStage(state, state.stages.at(trial.evaluate), trial.sweep, now);
  // Until the training has a result, its stage explains more.
  if (state.stages.at(trial.train).state != v1::SUCCEEDED)
    *node.mutable_because(0) = v1::Explanation(node.because(0).because(0));
  return node;
}

// The trials that have each reason.
using TrialReasons = std::map<std::string, std::vector<TrialId>>;

// Reasons of a sweep's trials, the most frequent first. `what`: "FAILED", for example.
void ExplainReasons(const TrialReasons& reasons, const char* what, v1::Explanation& of) {
  constexpr std::size_t kReasonsShown = 10;
  std::vector<const TrialReasons::value_type*> sorted;
  for (const auto& reason : reasons) sorted.push_back(&reason);
  std::ranges::stable_sort(sorted,
                           [](const auto* a, const auto* b) { return a->second.size() > b->second.size(); });
  const std::size_t shown = std::min(sorted.size(), kReasonsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [text, trials] = *sorted[i];
    Because(of, Count(trials.size(), "trial ", "trials "), what, ", ",
            trials.size() > 1 ? "for example " : "", trials.front().ToString(), ": ",
            text.empty() ? "no reason is known" : text);
  }
  if (sorted.size() > shown)
    Because(of, Count(sorted.size() - shown, "further reason", "further reasons"),
            "; `inlier status SWEEP --failed` has all");
}

void ExplainFailures(const State& state, const Sweep& sweep, v1::Explanation& of) {
  if (sweep.Count(v1::FAILED) == 0) return;
  TrialReasons reasons;
  for (const TrialId id : sweep.trials) {
    const Trial& trial = state.trials.at(id);
    if (trial.state == v1::FAILED) reasons[trial.message()].push_back(id);
  }
  ExplainReasons(reasons, "FAILED", of);
}

// Why trials that wait could never run on any worker that is connected.
void ExplainNever(const State& state, const Sweep& sweep, v1::Explanation& of) {
  if (sweep.Count(v1::PENDING) == 0) return;
  TrialReasons reasons;
  std::map<ResourceRequest, std::string> known;  // Trials of a sweep need a few different things.
  for (const TrialId id : sweep.trials) {
    const Trial& trial = state.trials.at(id);
    if (trial.state != v1::PENDING) continue;
    const Stage& train = state.stages.at(trial.train);
    const Stage& stage = train.state == v1::SUCCEEDED ? state.stages.at(trial.evaluate) : train;
    const ResourceRequest request = RequestFor(state, sweep, stage);
    const auto [at, is_new] = known.try_emplace(request);
    if (is_new) at->second = WhyNowhere(state, request);
    if (!at->second.empty()) reasons[at->second].push_back(id);
  }
  ExplainReasons(reasons, sweep.Count(v1::PENDING) == 1 ? "waits" : "wait", of);
}

v1::Explanation ExplainSweep(const State& state, const Sweep& sweep, Timestamp now) {
  v1::Explanation node;
  node.set_text(absl::StrCat("sweep ", sweep.id.ToString(), " (", sweep.spec.name(), ")"));
  const std::uint64_t failed = sweep.state == v1::COMPLETE ? sweep.Count(v1::FAILED) : 0;
  node.set_state(failed == 0               ? v1::SweepState_Name(sweep.state)
                 : failed == sweep.Total() ? std::string("FAILED")
                                           : std::string("PARTLY_FAILED"));
  const std::uint64_t total = sweep.Total();
  const std::uint64_t ended = sweep.trials.size() - sweep.Open();
  v1::Explanation& trials =
      Because(node, Count(total, "trial", "trials"), ": ", ended, " ended, ", sweep.Count(v1::RUNNING),
              " running, ", total - ended - sweep.Count(v1::RUNNING), " waiting");
  ExplainFailures(state, sweep, trials);
  if (IsOver(state, sweep.id)) {
    ForEachFeature(&Feature::explain_sweep, state, sweep, now, node);
    return node;
  }
  if (sweep.bound.waits_for) Because(trials, WhyWaitsForData(state, sweep));
  ExplainNever(state, sweep, trials);
  ExplainHold(state, sweep, now, trials);
  if (sweep.Count(v1::PENDING) > 0 || state.expanding.contains(sweep.id)) ExplainWorkers(state, trials);
  ForEachFeature(&Feature::explain_sweep, state, sweep, now, node);
  return node;
}

}  // namespace

absl::StatusOr<v1::Explanation> Explain(const State& state, const v1::ExplainRequest& request, Moment now,
                                        const std::string& caller) {
  if (request.has_sweep() == request.has_trial()) {
    return absl::InvalidArgumentError("Explain needs a sweep or a trial, one of the two");
  }
  if (request.has_sweep()) {
    ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller));
    return ExplainSweep(state, state.sweeps.at(id), now.at);
  }
  ASSIGN_OR_RETURN(const TrialId id, FindTrial(state, request.trial()));
  return ExplainTrial(state, state.trials.at(id), now);
}

}  // namespace inlier
