// Orchestrator: what must hold, derived again from the state. Walks everything; for tests and simulation.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordinator/orchestration/orchestrator.h"

namespace inlier {

void Orchestrator::CheckInvariants() const {
  std::map<std::pair<v1::StageKind, v1::TrialState>, std::int64_t> stage_counts;
  std::map<SweepId, std::uint32_t> running;
  for (const auto& [token, attempt] : attempts_) {
    // (1) A live attempt is its stage's only one, and has the only lease of its token.
    const Stage& stage = stages_.at(attempt.stage);
    INLIER_CHECK(stage.live() == token && token < next_token_);
    INLIER_CHECK(stage.state == v1::RUNNING);
    const Lease* lease = leases_.Find(token);
    INLIER_CHECK(lease != nullptr && lease->worker == attempt.worker);
    INLIER_CHECK(by_progress_.contains({attempt.progressed, token}));
    // (6) It has a slot of its worker.
    const WorkerEntry* worker = workers_.Find(attempt.worker);
    INLIER_CHECK(worker != nullptr && worker->HasSlot(lease->slot));
    ++running[attempt.sweep];
    INLIER_CHECK(attempt.yields.empty() == !yields_due_.contains({attempt.yields_until, token}));
  }
  INLIER_CHECK(leases_.size() == static_cast<int>(attempts_.size()));
  INLIER_CHECK(by_progress_.size() == attempts_.size());
  INLIER_CHECK(holder_waits_.size() == holder_waits_due_.size());
  std::uint64_t slots = 0;
  for (const auto& [incarnation, worker] : workers_.all()) {
    INLIER_CHECK(leases_.HeldBy(incarnation).size() <= worker.slots.size());
    if (worker.connected) slots += worker.slots.size();
    const bool waits = worker.listening && worker.connected && worker.TakesWork() && FreeSlot(worker);
    INLIER_CHECK(waits == (worker.waits_as != 0) && waits == waiting_.contains(worker.waits_as));
  }
  INLIER_CHECK(slots == workers_.slots());
  CheckResources();

  bool edited = false;
  sweeps_.ForEach([&edited](const Sweep& sweep) { edited = edited || sweep.revision > 1; });
  INLIER_CHECK(stage_of_fingerprint_.size() == stages_.size());
  stages_.ForEach([&](const Stage& stage) {
    const StageId id = stage.id;
    ++stage_counts[{v1::StageKind{stage.kind}, StageState{stage.state}}];
    INLIER_CHECK(stage_of_fingerprint_.Find(stage.fingerprint, stages_) == id);
    INLIER_CHECK((stage.live() != 0) == (stage.state == v1::RUNNING));
    INLIER_CHECK(stage.live() == 0 || attempts_.contains(stage.live()));
    // Open exactly while somebody needs it; its result, once there, needs nothing further.
    INLIER_CHECK(stage.IsNeeded() != IsTerminal(stage.state));
    INLIER_CHECK(stage.ready == IsReady(stage));
    const StageDetail& detail = stage.detail();
    INLIER_CHECK(!detail.not_before || retries_due_.contains({*detail.not_before, id}));
    INLIER_CHECK(IsResult(stage.state) == (stage.spec == kNoSpec));
    if (stage.kind == v1::TRAIN_STAGE) {
      INLIER_CHECK((stage.state == v1::SUCCEEDED) == trained_.contains(id));
    } else {
      // (8) Nothing is evaluated before its training has SUCCEEDED.
      const Stage& train = stages_.at(stage.train());
      INLIER_CHECK(stage.state != v1::RUNNING || train.state == v1::SUCCEEDED);
      INLIER_CHECK(stage.state != v1::SUCCEEDED || train.state == v1::SUCCEEDED);
    }
    for (const auto& [sweep, first_trial] : stage.Needers()) {
      INLIER_CHECK(stage.HasSweep(sweep));
      INLIER_CHECK(scheduler_.IsReady(sweep, id) == stage.ready);
      INLIER_CHECK(!stage.ready || scheduler_.ShapeAt(sweep, id) == ShapeOf(*sweeps_.View(sweep), stage));
    }
    for (const TrialId trial : stage.NeedingTrials()) {
      const Trial& needer = trials_.at(trial);
      INLIER_CHECK(stage.IsNeededBy(needer.sweep, trial) && !IsTerminal(needer.state));
      INLIER_CHECK(needer.train == id || needer.evaluate == id);
    }
    // (7) Attempts stay within the most generous policy of the sweeps that have it. An edit may lower a
    // policy below what has happened.
    if (!IsTerminal(stage.state) && !edited) {
      std::uint32_t crashes = 0, out_of_memory = 0, losses = 0;
      for (const SweepId sweep : stage.Sweeps()) {
        const SweepView view = sweeps_.View(sweep);
        const v1::RetrySpec& retry = view->spec.retry();
        crashes = std::max(crashes, retry.max_crashes());
        out_of_memory = std::max(out_of_memory, retry.max_out_of_memory());
        losses = std::max(losses, retry.max_losses());
      }
      INLIER_CHECK(detail.failures.crashes == 0 || detail.failures.crashes < crashes);
      INLIER_CHECK(detail.failures.out_of_memory == 0 || detail.failures.out_of_memory < out_of_memory);
      INLIER_CHECK(detail.failures.losses == 0 || detail.failures.losses < losses);
      INLIER_CHECK(detail.failures.invalid == 0);
    }
  });
  for (const auto& [key, count] : stage_counts_) INLIER_CHECK(count == stage_counts[key]);

  // Each evaluate stage is behind its training, once.
  std::size_t dependents = 0, evaluations = 0;
  stages_.ForEach([&](const Stage& stage) {
    if (stage.kind == v1::EVALUATE_STAGE) ++evaluations;
    StageId last;
    for (StageId id = stage.first_dependent(); id; id = stages_.at(id).next_dependent()) {
      INLIER_CHECK(stages_.at(id).train() == stage.id && id > last);
      last = id;
      ++dependents;
    }
    INLIER_CHECK(last == stage.last_dependent());
  });
  INLIER_CHECK(dependents == evaluations);

  // What pruning said of a training stands, also where its trial was withdrawn.
  std::map<SweepId, std::map<StageId, std::uint32_t>> pruned, kept;
  std::map<SweepId, std::uint64_t> withdrawn_pruned;
  trials_.ForEach([&](const Trial& trial) {
    if (trial.pruning == TrialPruningState::kPruned) {
      INLIER_CHECK(trial.state == v1::CANCELLED);
      ++pruned[trial.sweep][trial.train];
      if (trial.withdrawn) ++withdrawn_pruned[trial.sweep];
    } else if (trial.pruning == TrialPruningState::kKept) {
      ++kept[trial.sweep][trial.train];
    }
  });

  std::int64_t paused = 0;
  std::map<v1::TrialState, std::int64_t> trial_counts;
  sweeps_.ForEach([&](const Sweep& sweep) {
    const SweepId id = sweep.id;
    decltype(Sweep::counts) counts{};
    StageTally train, evaluate;
    std::set<StageId> seen;
    std::set<std::uint64_t> points;
    for (const TrialId trial_id : sweep.trials) {
      const Trial& trial = trials_.at(trial_id);
      INLIER_CHECK(!trial.withdrawn && points.insert(trial.point).second);
      ++counts[static_cast<std::size_t>(trial.state)];
      ++trial_counts[trial.state];
      if (!trial.train) {
        INLIER_CHECK(trial.state == v1::FAILED);
        continue;
      }
      const Stage& train_stage = stages_.at(trial.train);
      const Stage& evaluate_stage = stages_.at(trial.evaluate);
      INLIER_CHECK(evaluate_stage.train() == trial.train);
      // A trial follows from its stages.
      if (!IsTerminal(trial.state)) {
        const bool runs = train_stage.live() != 0 || evaluate_stage.live() != 0;
        INLIER_CHECK((trial.state == v1::RUNNING) == runs);
        INLIER_CHECK(train_stage.state == v1::SUCCEEDED || train_stage.IsNeededBy(id, trial_id));
        INLIER_CHECK(evaluate_stage.IsNeededBy(id, trial_id));
      }
      if (trial.state == v1::SUCCEEDED) INLIER_CHECK(evaluate_stage.state == v1::SUCCEEDED);
      if (trial.state == v1::DIVERGED) INLIER_CHECK(evaluate_stage.state == v1::DIVERGED);
      for (const Stage* stage : {&train_stage, &evaluate_stage}) {
        if (!seen.insert(stage->id).second) continue;
        StageTally& tally = stage->kind == v1::TRAIN_STAGE ? train : evaluate;
        ++tally.total;
        if (stage->IsNeededBy(id)) ++tally.needed;
      }
    }
    INLIER_CHECK(pruned[id] == sweep.pruned && kept[id] == sweep.kept_from_pruning);
    INLIER_CHECK(withdrawn_pruned[id] == sweep.withdrawn_pruned);
    INLIER_CHECK(sweep.counts == counts);
    INLIER_CHECK(train.total == sweep.train.total && train.needed == sweep.train.needed);
    INLIER_CHECK(evaluate.total == sweep.evaluate.total && evaluate.needed == sweep.evaluate.needed);
    if (scheduler_.Knows(id)) {
      INLIER_CHECK(scheduler_.running(id) == running[id]);
      INLIER_CHECK(scheduler_.rules(id).paused == sweep.paused);
    } else {
      INLIER_CHECK(running[id] == 0 && sweep.state != v1::ACTIVE && sweep.Open() == 0);
    }
    if (sweep.paused && sweep.state == v1::ACTIVE) ++paused;
    for (const std::uint64_t point : sweep.ahead) INLIER_CHECK(point >= sweep.next_point);
    INLIER_CHECK((sweep.expander != nullptr) == expanding_.contains(id));
    INLIER_CHECK(!sweep.expander || sweep.state == v1::ACTIVE);
    // A sweep is ACTIVE while there is something left of it.
    INLIER_CHECK(sweep.state != v1::ACTIVE || sweep.Open() > 0 || sweep.expander);
    INLIER_CHECK(sweep.state != v1::COMPLETE || sweep.Open() == 0);
  });
  for (const auto& [state, count] : trial_counts_) INLIER_CHECK(count == trial_counts[state]);
  INLIER_CHECK(paused == paused_sweeps_);
}

std::string Orchestrator::DurableState() const {
  std::string text = absl::StrCat("next ", next_sweep_.value(), " ", next_trial_.value(), " ",
                                  next_stage_.value(), " ", next_token_, "\n");
  sweeps_.ForEach([&text](const Sweep& sweep) {
    absl::StrAppend(&text, sweep.id.ToString(), " ", sweep.spec.name(), " ", v1::SweepState_Name(sweep.state),
                    " points=", sweep.points, " next=", sweep.next_point, " trials=", sweep.trials.size(),
                    " told=", sweep.trials_told, " known=", sweep.trials_known, " request=", sweep.request_id,
                    " ended=", sweep.ended ? sweep.ended->unix_ms : 0, " paused=", sweep.paused,
                    " revision=", sweep.revision, " notices=", sweep.notices_told, "\n");
    if (sweep.pruner) absl::StrAppend(&text, sweep.pruner->State());
  });
  for (std::int64_t value = 1; value < next_stage_.value(); ++value) {
    const Stage& stage = stages_.at(StageId(value));
    const StageDetail& detail = stage.detail();
    // How often a stage with a result was tried decides nothing any more, and is not read at a start.
    const StageFailures failures = IsResult(stage.state) ? StageFailures() : detail.failures;
    const Trained* trained = trained_.Find(stage.id);
    absl::StrAppend(&text, stage.id.ToString(), " ", HexOf(stage.fingerprint), " ",
                    v1::TrialState_Name(stage.state), " train=", stage.train().value(),
                    " attempts=", IsResult(stage.state) ? 0 : stage.attempts, " live=", detail.live,
                    " failures=");
    absl::StrAppend(&text, failures.crashes, "/", failures.out_of_memory, "/", failures.losses, "/",
                    failures.invalid, " checkpoint=", trained == nullptr ? "" : HexOf(trained->checkpoint),
                    " resume=", detail.resume_path, "@", detail.resume_step, " ", detail.resume_sha256,
                    " message=", detail.message);
    if (const auto raised = raised_.find(stage.id); raised != raised_.end())
      absl::StrAppend(&text, " memory=", raised->second.memory_mib, "/", raised->second.gpu_memory_mib);
    absl::StrAppend(&text, "\n");
  }
  for (std::int64_t value = 1; value < next_trial_.value(); ++value) {
    const Trial& trial = trials_.at(TrialId(value));
    absl::StrAppend(&text, trial.id.ToString(), " ", trial.sweep.ToString(),
                    " point=", trial.withdrawn ? std::string("withdrawn") : absl::StrCat(trial.point), " ",
                    v1::TrialState_Name(trial.state), " ", trial.train.value(), "/", trial.evaluate.value(),
                    " pruning=", static_cast<int>(trial.pruning),
                    " message=", IsResult(trial.state) ? std::string() : trial.message(), "\n");
  }
  for (const auto& [token, attempt] : attempts_) {
    absl::StrAppend(&text, "token ", token, " ", attempt.stage.ToString(), " worker=", attempt.worker,
                    " slot=", attempt.assignment.slot(), " attempt=", attempt.assignment.attempt(),
                    " sweep=", attempt.sweep.ToString(), " yields=", attempt.yields,
                    " request=", attempt.request.gpu_thousandths, "/", attempt.request.memory_mib, "/",
                    attempt.request.gpu_memory_mib, "\n");
  }
  for (const auto& [incarnation, worker] : workers_.all()) {
    absl::StrAppend(&text, "worker ", incarnation, " ", worker.name, " slots=", worker.slots.size(),
                    " sequence=", worker.sequence, " held=", worker.held,
                    " memory=", worker.resources.memory_mib());
    for (const WorkerResources::Gpu& gpu : worker.resources.gpus())
      absl::StrAppend(&text, " ", gpu.device, "=", gpu.slots, "/", gpu.memory_mib);
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "requests ", requests_.last(), " kept ", requests_.size(), "\n");
  return text;
}

}  // namespace inlier
