#include "tests/coordinator/invariants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/digest.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/sources.h"
#include "coordinator/state/sweeps/pruner.h"
#include "coordinator/state/transitions.h"
#include "coordinator/usage/usage.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

// The amounts in use are the sums of those held.
void CheckHeld(const WorkerResources& resources) {
  WorkerResources again = resources;
  const auto held = resources.held();
  for (const auto& [token, taken] : held) again.Release(token);
  INLIER_CHECK(again.memory_used_mib() == 0);
  for (const WorkerResources::Gpu& gpu : again.gpus()) INLIER_CHECK(gpu.used == ResourceRequest());
  for (const auto& [token, taken] : held) again.Take(token, taken.slots, taken.request);
  INLIER_CHECK(again.memory_used_mib() == resources.memory_used_mib() && again.gpus() == resources.gpus());
}

void CheckResources(const State& state) {
  for (const auto& [incarnation, worker] : state.workers.all()) {
    const WorkerResources& resources = worker.resources;
    CheckHeld(resources);
    // (6) The resources of live attempts exist.
    WorkerResources live = resources;
    const std::vector<Token> leased = state.leases.HeldBy(incarnation);
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
    std::set<std::uint32_t> taken;  // No slot has two live attempts.
    for (const Token token : tokens) {
      const Attempt& attempt = state.attempts.at(token);
      std::vector<std::uint32_t> slots = {attempt.assignment.slot()};
      slots.insert(slots.end(), attempt.assignment.further_slots().begin(),
                   attempt.assignment.further_slots().end());
      INLIER_CHECK(resources.held().at(token).slots == slots &&
                   resources.held().at(token).request == attempt.request);
      INLIER_CHECK(slots.size() == attempt.request.processes);
      for (const std::uint32_t slot : slots) INLIER_CHECK(taken.insert(slot).second);
    }
    if (!worker.connected) INLIER_CHECK(resources.held().size() == tokens.size());
  }
  for (const auto& [id, raised] : state.raised_memory) INLIER_CHECK(!IsResult(state.stages.at(id).state));
}

// Attempts charged to each sweep.
std::map<SweepId, std::uint32_t> CheckAttempts(const State& state) {
  std::map<SweepId, std::uint32_t> running;
  for (const auto& [token, attempt] : state.attempts) {
    // (1) A live attempt is its stage's only one, and has the only lease of its token.
    const Stage& stage = state.stages.at(attempt.stage);
    INLIER_CHECK(stage.live() == token && token < state.next_token);
    INLIER_CHECK(stage.state == v1::RUNNING);
    const Lease* lease = state.leases.Find(token);
    INLIER_CHECK(lease != nullptr && lease->worker == attempt.worker);
    INLIER_CHECK(state.deadlines.by_progress.contains({attempt.times.progressed, token}));
    // (6) It has a slot of its worker.
    const WorkerEntry* worker = state.workers.Find(attempt.worker);
    INLIER_CHECK(worker != nullptr && lease->slot < worker->slots.size());
    ++running[attempt.sweep];
    INLIER_CHECK(attempt.yield.why.empty() == !state.deadlines.yields.contains({attempt.yield.until, token}));
  }
  INLIER_CHECK(state.leases.size() == static_cast<int>(state.attempts.size()));
  INLIER_CHECK(state.deadlines.by_progress.size() == state.attempts.size());
  INLIER_CHECK(state.holder_waits.by_stage.size() == state.holder_waits.due.size());
  return running;
}

// The meters count the live attempts, and each limit has the deadline that follows from the state now.
void CheckLimits(const State& state) {
  std::map<SweepId, std::pair<std::int64_t, std::int64_t>> needed;  // Attempts, thousandths of GPUs.
  std::map<std::string, std::int64_t> charged;                      // By owner.
  std::size_t due = 0;
  for (const auto& [token, attempt] : state.attempts) {
    charged[state.sweeps.at(attempt.sweep).owner] += attempt.gpu_thousandths;
    for (const Dependent& dependent : state.stages.at(attempt.stage).Dependents()) {
      ++needed[dependent.sweep].first;
      needed[dependent.sweep].second += attempt.gpu_thousandths;
    }
    if (!attempt.limit_due) continue;
    ++due;
    INLIER_CHECK(state.deadlines.attempt_limits.contains({*attempt.limit_due, token}));
  }
  INLIER_CHECK(due == state.deadlines.attempt_limits.size());
  due = 0;
  for (const Sweep& sweep : state.sweeps) {
    const SweepId id = sweep.id;
    INLIER_CHECK(std::pair(sweep.time.usage.attempts(), sweep.time.usage.gpu_thousandths()) == needed[id]);
    const std::optional<Timestamp> end = SweepDue(sweep);
    INLIER_CHECK(!end || (sweep.time.limit_due && *sweep.time.limit_due <= *end));
    if (!sweep.time.limit_due) continue;
    ++due;
    INLIER_CHECK(state.deadlines.sweep_limits.contains({*sweep.time.limit_due, id}));
  }
  INLIER_CHECK(due == state.deadlines.sweep_limits.size());
  for (const auto& [owner, budget] : state.budgets) {
    INLIER_CHECK(budget.used.gpu_thousandths() == charged[owner]);
    INLIER_CHECK(budget.spent == state.ready.OwnerUsage(owner).spent);
  }
}

void CheckWorkers(const State& state) {
  std::uint64_t slots = 0;
  for (const auto& [incarnation, worker] : state.workers.all()) {
    INLIER_CHECK(state.leases.HeldBy(incarnation).size() <= worker.slots.size());
    if (worker.connected) slots += worker.slots.size();
    const bool waits =
        worker.listening && worker.connected && !worker.unavailable.Any() && FreeSlot(state, worker);
    INLIER_CHECK(waits == (worker.idle_ticket != 0) &&
                 waits == state.idle.by_ticket.contains(worker.idle_ticket));
  }
  INLIER_CHECK(slots == state.workers.slots());
}

// (7) Attempts stay within the most generous policy of the sweeps that have the stage.
void CheckFailures(const State& state, const Stage& stage, const std::set<SweepId>& sweeps) {
  std::uint32_t crashes = 0, out_of_memory = 0, losses = 0;
  for (const SweepId sweep : sweeps) {
    const v1::RetrySpec& retry = state.sweeps.at(sweep).spec.retry();
    crashes = std::max(crashes, retry.max_crashes());
    out_of_memory = std::max(out_of_memory, retry.max_out_of_memory());
    losses = std::max(losses, retry.max_losses());
  }
  const StageDetail& detail = stage.detail();
  INLIER_CHECK(detail.failures.crashes == 0 || detail.failures.crashes < crashes);
  INLIER_CHECK(detail.failures.out_of_memory == 0 || detail.failures.out_of_memory < out_of_memory);
  INLIER_CHECK(detail.failures.losses == 0 || detail.failures.losses < losses);
  INLIER_CHECK(detail.failures.invalid == 0);
}

void CheckStage(const State& state, const Stage& stage) {
  const StageId id = stage.id;
  INLIER_CHECK(state.stages.Find(stage.fingerprint) == &stage);
  INLIER_CHECK((stage.live() != 0) == (stage.state == v1::RUNNING));
  INLIER_CHECK(stage.live() == 0 || state.attempts.contains(stage.live()));
  // Open exactly while a trial needs it; its result, once there, needs nothing further.
  INLIER_CHECK(stage.IsNeeded() != IsTerminal(stage.state));
  INLIER_CHECK(stage.ready == IsReady(state, stage));
  const StageDetail& detail = stage.detail();
  INLIER_CHECK(!detail.not_before || state.deadlines.retries.contains({*detail.not_before, id}));
  INLIER_CHECK((IsResult(stage.state) && stage.open_evaluations == 0) == stage.detail().spec.empty());
  if (stage.kind == v1::TRAIN_STAGE) {
    INLIER_CHECK((stage.state == v1::SUCCEEDED) == state.models.trained.contains(id));
    // (8) The same for a training that starts from another one.
    if (stage.start) {
      const Stage& source = state.stages.at(stage.start);
      INLIER_CHECK(source.kind == v1::TRAIN_STAGE && source.id < id);
      const bool ran = stage.state == v1::RUNNING || stage.state == v1::SUCCEEDED;
      INLIER_CHECK(!ran || source.state == v1::SUCCEEDED);
    }
  } else {
    // (8) Nothing is evaluated before its training has SUCCEEDED.
    const Stage& train = state.stages.at(stage.train);
    INLIER_CHECK(stage.state != v1::RUNNING || train.state == v1::SUCCEEDED);
    INLIER_CHECK(stage.state != v1::SUCCEEDED || train.state == v1::SUCCEEDED);
  }
  for (const auto& [sweep, first_trial] : stage.Dependents()) {
    INLIER_CHECK(stage.HasSweep(sweep) || IsSourceFor(stage, state.trials.at(first_trial)));
    INLIER_CHECK(state.ready.IsReady(sweep, id) == stage.ready);
    INLIER_CHECK(!stage.ready ||
                 state.ready.ShapeAt(sweep, id) == ShapeOf(state, state.sweeps.at(sweep), stage));
  }
  for (const TrialId trial : stage.DependentTrials()) {
    const Trial& dependent = state.trials.at(trial);
    INLIER_CHECK(stage.IsNeededBy(dependent.sweep, trial) && !IsTerminal(dependent.state));
    const auto sources = OpenSources(state, state.stages.at(dependent.train));
    INLIER_CHECK(dependent.train == id || dependent.evaluate == id ||
                 std::find(sources.begin(), sources.end(), id) != sources.end());
  }
}

void CheckStages(const State& state) {
  bool edited = false;  // An edit may lower a policy below the failures that there were.
  for (const Sweep& sweep : state.sweeps) edited = edited || sweep.revision > 1;
  std::map<StageId, std::set<SweepId>> sweeps;  // With a trial on the stage, or on one that starts from it.
  for (const Stage& stage : state.stages) {
    const Stage* source = &stage;
    while (true) {
      sweeps[source->id].insert(stage.sweeps.begin(), stage.sweeps.end());
      if (!source->start) break;
      source = &state.stages.at(source->start);
    }
  }
  std::map<std::pair<v1::StageKind, v1::TrialState>, std::int64_t> counts;
  std::size_t listed = 0, evaluations = 0;
  for (const Stage& stage : state.stages) {
    ++counts[{stage.kind, stage.state}];
    CheckStage(state, stage);
    if (!IsTerminal(stage.state) && !edited) CheckFailures(state, stage, sweeps[stage.id]);
    // Each evaluate stage is listed once by its training.
    if (stage.kind == v1::EVALUATE_STAGE) ++evaluations;
    StageId last;
    for (const StageId id : stage.evaluations) {
      INLIER_CHECK(state.stages.at(id).train == stage.id && id > last);
      last = id;
      ++listed;
    }
  }
  INLIER_CHECK(listed == evaluations);
  for (const auto& [key, count] : state.counts.stages) INLIER_CHECK(count == counts[key]);
}

// A pruned training stays pruned, also where its trial was withdrawn.
void CheckPruning(const State& state) {
  std::map<SweepId, std::map<StageId, std::uint32_t>> pruned, kept;
  std::map<SweepId, std::uint64_t> withdrawn_pruned;
  for (const Trial& trial : state.trials) {
    if (trial.pruning == TrialPruningState::kPruned) {
      INLIER_CHECK(trial.state == v1::CANCELLED);
      ++pruned[trial.sweep][trial.train];
      if (trial.withdrawn) ++withdrawn_pruned[trial.sweep];
    } else if (trial.pruning == TrialPruningState::kKept) {
      ++kept[trial.sweep][trial.train];
    }
  }
  for (const Sweep& sweep : state.sweeps) {
    const SweepId id = sweep.id;
    INLIER_CHECK(pruned[id] == sweep.pruning.pruned && kept[id] == sweep.pruning.kept);
    INLIER_CHECK(withdrawn_pruned[id] == sweep.pruning.withdrawn);
  }
}

// A trial's state follows from its stages.
void CheckTrial(const State& state, const Trial& trial, const Stage& train, const Stage& evaluate) {
  INLIER_CHECK(evaluate.train == trial.train);
  for (const StageId source : OpenSources(state, train))
    INLIER_CHECK(state.stages.at(source).IsNeededBy(trial.sweep, trial.id) == !IsTerminal(trial.state));
  if (!IsTerminal(trial.state)) {
    const bool runs = train.live() != 0 || evaluate.live() != 0;
    INLIER_CHECK((trial.state == v1::RUNNING) == runs);
    INLIER_CHECK(train.state == v1::SUCCEEDED || train.IsNeededBy(trial.sweep, trial.id));
    INLIER_CHECK(evaluate.IsNeededBy(trial.sweep, trial.id));
  }
  if (trial.state == v1::SUCCEEDED) INLIER_CHECK(evaluate.state == v1::SUCCEEDED);
  if (trial.state == v1::DIVERGED) INLIER_CHECK(evaluate.state == v1::DIVERGED);
}

// Its trials, and the counts of them and of their stages.
void CheckTrialsOf(const State& state, const Sweep& sweep) {
  decltype(Sweep::counts) counts{};
  StageTally train, evaluate;
  std::set<StageId> seen;
  std::set<std::uint64_t> points;
  for (const TrialId id : sweep.trials) {
    const Trial& trial = state.trials.at(id);
    INLIER_CHECK(!trial.withdrawn && points.insert(trial.point).second);
    ++counts[static_cast<std::size_t>(trial.state)];
    if (!trial.train) {
      INLIER_CHECK(trial.state == v1::FAILED);
      continue;
    }
    const Stage& train_stage = state.stages.at(trial.train);
    const Stage& evaluate_stage = state.stages.at(trial.evaluate);
    CheckTrial(state, trial, train_stage, evaluate_stage);
    for (const Stage* stage : {&train_stage, &evaluate_stage}) {
      if (!seen.insert(stage->id).second) continue;
      StageTally& tally = stage->kind == v1::TRAIN_STAGE ? train : evaluate;
      ++tally.total;
      if (stage->IsNeededBy(sweep.id)) ++tally.needed;
      if (IsResult(stage->state)) ++tally.done;
    }
  }
  INLIER_CHECK(sweep.counts == counts);
  INLIER_CHECK(train.total == sweep.train.total && train.needed == sweep.train.needed);
  INLIER_CHECK(evaluate.total == sweep.evaluate.total && evaluate.needed == sweep.evaluate.needed);
  INLIER_CHECK(train.done == sweep.train.done && evaluate.done == sweep.evaluate.done);
}

// Trainings are bound to data, and evaluations that name files of their own, and a sweep's with a result to the same data of a source; it waits for data that
// someone is asked for, or that an attempt reads.
void CheckData(const State& state) {
  for (const Stage& stage : state.stages) {
    if (stage.kind == v1::EVALUATE_STAGE) {
      INLIER_CHECK(!stage.data || stage.data < state.data.NextId());
      continue;
    }
    INLIER_CHECK(stage.data && stage.data < state.data.NextId());
    // Without an attempt there are no data: it starts from one that has DIVERGED.
    const bool never_ran = stage.start && state.stages.at(stage.start).state == v1::DIVERGED;
    const bool imported = !stage.sweeps.empty() && state.sweeps.at(stage.sweeps.front()).spec.has_imported();
    INLIER_CHECK(!IsResult(stage.state) || state.data.IsKnown(stage.data) || never_ran || imported);
  }
  for (const Sweep& sweep : state.sweeps) {
    const SweepId id = sweep.id;
    INLIER_CHECK(static_cast<bool>(sweep.bound.waits_for) == state.data_waits.sweeps.contains(id));
    INLIER_CHECK(!sweep.bound.waits_for || sweep.expansion.expander);
    for (const auto& [source, version] : sweep.bound.of_source)
      INLIER_CHECK(state.data.SourceOf(version) == source && state.data.IsKnown(version));
  }
  for (const auto& [source, check] : state.data_waits.checks) {
    INLIER_CHECK((check.token == 0) == check.worker.empty());
    INLIER_CHECK(check.token == 0 || state.workers.Find(check.worker)->connected);
  }
}

void CheckSweeps(const State& state, std::map<SweepId, std::uint32_t> running) {
  std::int64_t paused = 0;
  std::map<v1::TrialState, std::int64_t> trial_counts;
  std::map<std::string, std::uint32_t> groups, owners;
  for (const Sweep& sweep : state.sweeps) {
    const SweepId id = sweep.id;
    CheckTrialsOf(state, sweep);
    for (const TrialId trial : sweep.trials) ++trial_counts[state.trials.at(trial).state];
    INLIER_CHECK(state.ready.running(id) == running[id]);
    INLIER_CHECK(state.ready.rules(id).paused == sweep.paused);
    if (sweep.paused && sweep.state == v1::ACTIVE) ++paused;
    INLIER_CHECK(state.active.contains(id) == (sweep.state == v1::ACTIVE));
    for (const std::uint64_t point : sweep.expansion.ahead) INLIER_CHECK(point >= sweep.expansion.next_point);
    const bool expanding = state.expanding.contains(id);
    INLIER_CHECK(expanding || !sweep.expansion.expander);
    INLIER_CHECK(!expanding || (sweep.state == v1::ACTIVE && !sweep.Exhausted()));
    // A sweep is ACTIVE while some trial of it is open or not made yet.
    const bool asks = sweep.spec.sampling().has_optuna() && !sweep.Exhausted();
    INLIER_CHECK(sweep.state != v1::ACTIVE || sweep.Open() > 0 || expanding || asks);
    INLIER_CHECK(sweep.state != v1::COMPLETE || sweep.Open() == 0);
    INLIER_CHECK(state.ready.rules(id).owner == sweep.owner);
    owners[sweep.owner] += running[id];
    groups[sweep.spec.group()] += running[id];
  }
  // (6) The ready queue counts the attempts that are charged to the sweeps of each group and each owner.
  for (const auto& [name, count] : groups)
    INLIER_CHECK(name.empty() || state.ready.GroupUsage(name).running == count);
  for (const auto& [name, count] : owners) {
    const v1::CallerLimits* limits = state.options.LimitsOf(name);
    INLIER_CHECK(limits == nullptr || !limits->has_max_parallel() ||
                 state.ready.OwnerUsage(name).running == count);
  }
  for (const auto& [key, count] : state.counts.trials) INLIER_CHECK(count == trial_counts[key]);
  INLIER_CHECK(paused == state.counts.paused_sweeps);
}

bool Same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

bool Same(const std::optional<double>& a, const std::optional<double>& b) {
  // The store keeps what is not a number as NULL.
  const double none = std::numeric_limits<double>::quiet_NaN();
  return Same(a.value_or(none), b.value_or(none));
}

std::string Words(const PruningDecision& decision) {
  return absl::StrCat(decision.prune ? "PRUNE" : "CONTINUE", " against ", decision.others, " with ",
                      decision.threshold ? FormatNumber(*decision.threshold) : "none");
}

// A removed sweep has ended and has no name; what is freed is needed by none that is not.
void CheckRemoved(const State& state) {
  for (const Sweep& sweep : state.sweeps)
    INLIER_CHECK(!sweep.order.removed ||
                 (sweep.state != v1::ACTIVE && sweep.Open() == 0 &&
                  state.sweeps.FindNewest(sweep.spec.name(), sweep.owner) != sweep.id));
  std::set<StageId> freed;  // That are to be emptied.
  for (const Stage& stage : state.stages) {
    INLIER_CHECK(stage.fate == StageFate::kWhole || IsTerminal(stage.state));
    if (stage.fate == StageFate::kFreed) freed.insert(stage.id);
    if (stage.train) INLIER_CHECK(stage.IsFreed() == state.stages.at(stage.train).IsFreed());
    if (stage.start && stage.IsNeeded()) INLIER_CHECK(state.stages.at(stage.start).fate == StageFate::kWhole);
  }
  INLIER_CHECK(freed == state.models.freed);
  for (const Trial& trial : state.trials)
    for (StageId id = trial.train; id; id = state.stages.at(id).start)
      INLIER_CHECK(state.sweeps.at(trial.sweep).order.freed || !state.stages.at(id).IsFreed());
}

}  // namespace

void CheckInvariants(const State& state) {
  const std::map<SweepId, std::uint32_t> running = CheckAttempts(state);
  CheckLimits(state);
  CheckWorkers(state);
  CheckResources(state);
  CheckStages(state);
  CheckPruning(state);
  CheckData(state);
  CheckSweeps(state, running);
  CheckRemoved(state);
}

std::string DurableState(const State& state) {
  std::string text = absl::StrCat("next ", state.sweeps.NextId().value(), " ", state.trials.NextId().value(),
                                  " ", state.stages.NextId().value(), " ", state.next_token, "\n");
  for (const Sweep& sweep : state.sweeps) {
    absl::StrAppend(&text, sweep.id.ToString(), " ", sweep.spec.name(), " ", v1::SweepState_Name(sweep.state),
                    " points=", sweep.expansion.points, " next=", sweep.expansion.next_point,
                    " trials=", sweep.trials.size(), " at_submit=", sweep.submission.trials,
                    " known=", sweep.submission.known, "/", sweep.known, " again=", sweep.submission.again,
                    " request=", sweep.submission.request_id,
                    " ended=", sweep.ended.value_or(WallTime()).unix_ms, " paused=", sweep.paused,
                    " archived=", sweep.order.archived, " tags=", absl::StrJoin(sweep.order.tags, ","),
                    " note=", sweep.order.note, " removed=", sweep.order.removed.value_or(WallTime()).unix_ms,
                    "/", sweep.order.freed, " revision=", sweep.revision, " notices=", sweep.notice_log.last,
                    " owner=", sweep.owner, " used=", sweep.time.stored.attempt_ms, "/",
                    sweep.time.stored.gpu_ms, "/", sweep.time.stored.charged_gpu_ms, "\n");
    for (const v1::SearchPoint& point : sweep.expansion.asked)
      absl::StrAppend(&text, point.ShortDebugString(), "\n");
    if (sweep.pruning.pruner) absl::StrAppend(&text, sweep.pruning.pruner->State());
  }
  for (const Stage& stage : state.stages) {
    const StageDetail& detail = stage.detail();
    // How often a stage with a result was tried decides nothing any more, and is not read at a start.
    const StageFailures failures = IsResult(stage.state) ? StageFailures() : detail.failures;
    const auto trained = state.models.trained.find(stage.id);
    absl::StrAppend(&text, stage.id.ToString(), " ", HexOf(stage.fingerprint), " ",
                    v1::TrialState_Name(stage.state), " fate=", static_cast<int>(stage.fate),
                    " train=", stage.train.value(), " start=", stage.start.value(),
                    " data=", stage.data.value(), " attempts=", IsResult(stage.state) ? 0 : stage.attempts,
                    " live=", detail.live, " failures=");
    absl::StrAppend(&text, failures.crashes, "/", failures.out_of_memory, "/", failures.losses, "/",
                    failures.invalid, " ran=", IsResult(stage.state) ? 0 : detail.ran_ms, " checkpoint=",
                    trained == state.models.trained.end() ? "" : HexOf(trained->second.checkpoint),
                    " message=", detail.message);
    for (const ResumePoint& point : detail.resume_points)
      absl::StrAppend(&text, " resume=", point.path, "@", point.step, " ", point.sha256);
    if (const auto raised = state.raised_memory.find(stage.id); raised != state.raised_memory.end())
      absl::StrAppend(&text, " memory=", raised->second.memory_mib, "/", raised->second.gpu_memory_mib);
    absl::StrAppend(&text, "\n");
  }
  for (const DataRow& data : state.data) {
    absl::StrAppend(&text, data.id.ToString(), " ", data.names, " ",
                    data.digest ? HexOf(*data.digest) : std::string("unknown"), " worker=", data.worker,
                    " at=", data.at.unix_ms, "\n");
  }
  for (const Trial& trial : state.trials) {
    absl::StrAppend(&text, trial.id.ToString(), " ", trial.sweep.ToString(),
                    " point=", trial.withdrawn ? std::string("withdrawn") : absl::StrCat(trial.point), " ",
                    v1::TrialState_Name(trial.state), " ", trial.train.value(), "/", trial.evaluate.value(),
                    " pruning=", static_cast<int>(trial.pruning),
                    " message=", IsResult(trial.state) ? std::string() : trial.message(), "\n");
  }
  for (const auto& [token, attempt] : state.attempts) {
    absl::StrAppend(&text, "token ", token, " ", attempt.stage.ToString(), " worker=", attempt.worker,
                    " slot=", attempt.assignment.slot(), " attempt=", attempt.assignment.attempt(),
                    " gpu=", attempt.gpu_thousandths, " timed_out=", attempt.yield.timed_out,
                    " sweep=", attempt.sweep.ToString(), " yields=", attempt.yield.why,
                    " request=", attempt.request.gpu_thousandths, "/", attempt.request.memory_mib, "/",
                    attempt.request.gpu_memory_mib,
                    attempt.assignment.further_slots().empty()
                        ? ""
                        : absl::StrCat(" further=", absl::StrJoin(attempt.assignment.further_slots(), ",")),
                    "\n");
  }
  for (const auto& [incarnation, worker] : state.workers.all()) {
    absl::StrAppend(&text, "worker ", incarnation, " ", worker.name, " slots=", worker.slots.size(),
                    " sequence=", worker.sync.sequence, " held=", worker.unavailable.held,
                    " memory=", worker.resources.memory_mib());
    for (const WorkerResources::Gpu& gpu : worker.resources.gpus())
      absl::StrAppend(&text, " ", gpu.device, "=", gpu.slots, "/", gpu.memory_mib);
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "requests ", state.requests.last(), " kept ", state.requests.size(), "\n");
  return text;
}

absl::Status ReplayPruning(const Snapshot& snapshot) {
  std::map<SweepId, Pruner> pruners;
  for (const SweepRow& sweep : snapshot.sweeps) {
    if (sweep.spec.has_pruning()) pruners.emplace(sweep.id, Pruner(sweep.spec.pruning()));
  }
  for (const PruningDecision& stored : snapshot.pruning_decisions) {
    const std::string what = absl::StrCat("the decision about ", stored.stage.ToString(), " of ",
                                          stored.sweep.ToString(), " at step ", stored.step);
    const auto pruner = pruners.find(stored.sweep);
    if (pruner == pruners.end()) return absl::InternalError(absl::StrCat(what, ": the sweep has no pruning"));
    const std::optional<PruningDecision> again =
        pruner->second.Judge(stored.stage, stored.bracket, stored.step, stored.value);
    if (!again)
      return absl::InternalError(absl::StrCat(what, " was not to be taken: it is above an earlier one"));
    if (again->bracket != stored.bracket || again->rung != stored.rung || again->prune != stored.prune ||
        again->others != stored.others || !Same(again->threshold, stored.threshold)) {
      return absl::InternalError(
          absl::StrCat(what, " is stored as ", Words(stored), ", and judged again it is ", Words(*again)));
    }
    pruner->second.Record(stored);
  }
  return absl::OkStatus();
}

}  // namespace inlier
