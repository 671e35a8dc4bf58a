// Orchestrator: why something runs, waits or has ended, as a tree from the question down to its causes.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/orchestration/orchestrator.h"

namespace inlier {
namespace {

v1::Explanation& Because(v1::Explanation& of, const std::string& text) {
  v1::Explanation& cause = *of.add_because();
  cause.set_text(text);
  return cause;
}

std::string Count(std::uint64_t count, const char* one, const char* many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string LabelsText(const PointLabels& labels) {
  std::string text;
  for (const auto& [axis, label] : labels) {
    if (!label.empty()) absl::StrAppend(&text, text.empty() ? "" : ", ", axis, "=", label);
  }
  return text.empty() ? "" : absl::StrCat(" (", text, ")");
}

}  // namespace

v1::Explanation Orchestrator::ExplainAttempt(const Attempt& attempt, Moment now) const {
  v1::Explanation node;
  const WorkerEntry* worker = workers_.Find(attempt.worker);
  std::string text =
      absl::StrCat("attempt ", attempt.assignment.attempt(), " runs on worker ",
                   worker != nullptr ? worker->name : attempt.worker, ", slot ", attempt.assignment.slot());
  if (attempt.unclaimed) {
    absl::StrAppend(&text, "; the coordinator has restarted and the worker has not come back yet");
  } else if (attempt.progress.steps_total() > 0) {
    absl::StrAppend(&text, ": ", attempt.progress.phase(), " ", attempt.progress.step(), "/",
                    attempt.progress.steps_total(), ", last progress ",
                    FormatDuration(now.at - attempt.progressed), " ago");
  } else {
    absl::StrAppend(&text, ", no progress told yet, for ", FormatDuration(now.at - attempt.progressed));
  }
  node.set_text(text);
  node.set_state("RUNNING");
  if (!attempt.yields.empty())
    Because(node, absl::StrCat("it was told to write a checkpoint and stop: ", attempt.yields));
  return node;
}

void Orchestrator::ExplainHold(const Sweep& sweep, v1::Explanation& of) const {
  const std::string name = absl::StrCat("sweep ", sweep.id.ToString());
  if (sweep.paused) Because(of, absl::StrCat(name, " is paused (inlier resume ", sweep.id.ToString(), ")"));
  const Scheduler::Rules& rules = scheduler_.rules(sweep.id);
  if (rules.max_parallel && scheduler_.running(sweep.id) >= *rules.max_parallel) {
    v1::Explanation& cap =
        Because(of, absl::StrCat(name, " is at its max_parallel of ", *rules.max_parallel));
    for (const auto& [token, attempt] : attempts_) {
      if (attempt.sweep == sweep.id)
        cap.add_because()->set_text(
            absl::StrCat(attempt.stage.ToString(), " of ", attempt.trial.ToString(), " runs"));
      if (cap.because_size() == 10) break;
    }
  }
  const Scheduler::Usage group = scheduler_.GroupUsage(rules.group);
  if (group.max_parallel && group.running >= *group.max_parallel) {
    Because(of, absl::StrCat("group ", rules.group, " is at its quota of ", *group.max_parallel));
  }
  if (const std::uint64_t above = scheduler_.ReadyAbove(rules.priority); above > 0) {
    Because(of, absl::StrCat(Count(above, "stage", "stages"), " of sweeps with a higher priority than ",
                             rules.priority, above == 1 ? " goes before" : " go before"));
  }
}

void Orchestrator::ExplainWorkers(v1::Explanation& of) const {
  if (workers_.connected() == 0) {
    Because(of, "no worker is connected");
    return;
  }
  std::uint64_t slots = 0, busy = 0;
  for (const auto& [incarnation, worker] : workers_.all()) {
    if (!worker.connected) continue;
    if (worker.held || worker.draining) {
      Because(of,
              absl::StrCat("worker ", worker.name,
                           worker.held ? absl::StrCat(" is drained (inlier drain --resume ", worker.name, ")")
                                       : std::string(" is ending and takes nothing new")));
      continue;
    }
    slots += worker.slots.size();
    for (const v1::Slot& slot : worker.slots) {
      if (worker.occupied.contains(slot.index()) || leases_.SlotTaken(incarnation, slot.index())) ++busy;
    }
  }
  if (slots > 0 && busy == slots) {
    Because(of, slots == 1 ? std::string("the only slot is busy")
                           : absl::StrCat("all ", slots, " slots are busy"));
  }
}

v1::Explanation Orchestrator::ExplainStage(const Stage& stage, SweepId sweep, Moment now) const {
  v1::Explanation node;
  node.set_text(
      absl::StrCat(stage.kind == v1::TRAIN_STAGE ? "train stage " : "evaluate stage ", stage.id.ToString()));
  node.set_state(v1::TrialState_Name(stage.state));
  if (stage.live() != 0) {
    *node.add_because() = ExplainAttempt(attempts_.at(stage.live()), now);
    return node;
  }
  if (IsTerminal(stage.state)) {
    if (!stage.detail().message.empty()) Because(node, stage.detail().message);
    return node;
  }
  if (stage.kind == v1::EVALUATE_STAGE && stages_.at(stage.train()).state != v1::SUCCEEDED) {
    *node.add_because() = ExplainStage(stages_.at(stage.train()), sweep, now);
    return node;
  }
  if (const StageDetail& detail = stage.detail(); detail.not_before) {
    Because(node, absl::StrCat("it is tried again in ", FormatDuration(*detail.not_before - now.at),
                               " after ", detail.message));
    return node;
  }
  // It may start for any sweep that needs it: nothing holds it while one of them is free.
  v1::Explanation own, others;
  ExplainHold(*sweeps_.View(sweep), own);
  bool free_elsewhere = false;
  for (const auto& [id, first_trial] : stage.Needers()) {
    if (id == sweep) continue;
    v1::Explanation hold;
    ExplainHold(*sweeps_.View(id), hold);
    free_elsewhere = free_elsewhere || hold.because_size() == 0;
    others.mutable_because()->MergeFrom(hold.because());
  }
  if (!free_elsewhere) {
    node.mutable_because()->MergeFrom(own.because());
    node.mutable_because()->MergeFrom(others.because());
  }
  ExplainPlacement(stage, sweep, node);
  ExplainWorkers(node);
  if (node.because_size() == 0)
    Because(node, "it is ready: the next free worker that asks gets it, in its turn");
  return node;
}

v1::Explanation Orchestrator::ExplainTrial(const Trial& trial, Moment now) const {
  v1::Explanation node;
  node.set_text(absl::StrCat("trial ", trial.id.ToString(), LabelsText(label_pool_.Unpack(trial.labels))));
  node.set_state(v1::TrialState_Name(trial.state));
  if (trial.withdrawn) Because(node, "an edit of its sweep took its point away");
  if (IsTerminal(trial.state)) {
    if (!trial.message().empty()) Because(node, trial.message());
    if (trial.state == v1::SUCCEEDED) Because(node, "it has its result");
    if (trial.state == v1::DIVERGED) Because(node, "its loss became not finite: that is its result");
    return node;
  }
  *node.add_because() = ExplainStage(stages_.at(trial.evaluate), trial.sweep, now);
  // The training says more while it is not there.
  if (stages_.at(trial.train).state != v1::SUCCEEDED) {
    v1::Explanation train = node.because(0).because(0);
    *node.mutable_because(0) = std::move(train);
  }
  return node;
}

v1::Explanation Orchestrator::ExplainSweep(const Sweep& sweep) const {
  v1::Explanation node;
  node.set_text(absl::StrCat("sweep ", sweep.id.ToString(), " (", sweep.spec.name(), ")"));
  node.set_state(v1::SweepState_Name(sweep.state));
  const std::uint64_t total = sweep.Total();
  const std::uint64_t ended = sweep.trials.size() - sweep.Open();
  v1::Explanation& trials = Because(
      node, absl::StrCat(Count(total, "trial", "trials"), ": ", ended, " ended, ", sweep.Count(v1::RUNNING),
                         " running, ", total - ended - sweep.Count(v1::RUNNING), " waiting"));
  if (IsOver(sweep.id)) return node;
  ExplainHold(sweep, trials);
  if (sweep.Count(v1::PENDING) > 0 || sweep.expander) ExplainWorkers(trials);
  return node;
}

absl::StatusOr<v1::Explanation> Orchestrator::Explain(const v1::ExplainRequest& request, Moment now) const {
  if (request.has_sweep() == request.has_trial()) {
    return absl::InvalidArgumentError("Explain needs a sweep or a trial, one of the two");
  }
  if (request.has_sweep()) {
    ASSIGN_OR_RETURN(const SweepId id, FindSweep(request.sweep()));
    return ExplainSweep(*sweeps_.View(id));
  }
  ASSIGN_OR_RETURN(const TrialId id, FindTrial(request.trial()));
  return ExplainTrial(trials_.at(id), now);
}

}  // namespace inlier
