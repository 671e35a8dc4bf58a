#include "coordinator/status/work.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "coordinator/status/status.h"

namespace inlier {
namespace {

// The finished share of an attempt, from its reported progress.
double FractionDone(v1::StageKind kind, const v1::Progress& progress) {
  if (absl::StartsWith(progress.phase(), "uploading")) return 1;  // The training is done.
  if (progress.steps_total() == 0) return 0;
  if (progress.phase() != (kind == v1::TRAIN_STAGE ? "train" : "evaluate")) return 0;
  return std::clamp(static_cast<double>(progress.step()) / static_cast<double>(progress.steps_total()), 0.0,
                    1.0);
}

// The share of a training that its checkpoint keeps; 0 where the number of steps is not known.
double FractionSaved(const Stage& stage, std::uint64_t step) {
  return stage.steps == 0 ? 0 : std::min(1.0, static_cast<double>(step) / stage.steps);
}

}  // namespace

void UnderWay::Add(const Stage& stage, const Attempt& attempt) {
  const double fraction = std::max(FractionDone(stage.kind, attempt.progress),
                                   FractionSaved(stage, attempt.assignment.resume_step()));
  ++attempts;
  if (stage.kind == v1::TRAIN_STAGE) {
    train_steps_done += fraction * stage.Weight();
  } else {
    evaluations_done += fraction;
  }
  const double rate = attempt.progress.rate();
  if (stage.kind != v1::TRAIN_STAGE || !(rate > 0)) return;
  ++rates;
  seconds_per_step += 1 / rate;
  longest_seconds_left = std::max(longest_seconds_left, (1 - fraction) * stage.Weight() / rate);
}

void UnderWay::AddInterrupted(const Stage& stage) {
  train_steps_done += FractionSaved(stage, stage.detail().resume_step()) * stage.Weight();
}

SweepWork WorkOf(const State& state, const Sweep& sweep, const UnderWay& under_way) {
  SweepWork work;
  const bool over = IsOver(state, sweep.id);
  // Points that are not trials yet are taken to be like those that are.
  const double made = static_cast<double>(sweep.trials.size());
  const double not_made = state.expanding.contains(sweep.id) ? static_cast<double>(sweep.Total()) - made : 0;
  const double scale = made > 0 ? not_made / made : 0;
  const double total = (1 + scale) * (sweep.train.weight_total + sweep.evaluate.weight_total);
  const double mean_evaluate_weight =
      sweep.evaluate.total > 0 ? sweep.evaluate.weight_total / static_cast<double>(sweep.evaluate.total) : 0;
  const double steps_left = std::max(
      0.0, sweep.train.weight_needed - under_way.train_steps_done + scale * sweep.train.weight_total);
  const double evaluations_left =
      std::max(0.0, static_cast<double>(sweep.evaluate.needed) - under_way.evaluations_done +
                        scale * static_cast<double>(sweep.evaluate.total));
  work.done = total > 0
                  ? std::clamp(1 - (steps_left + evaluations_left * mean_evaluate_weight) / total, 0.0, 1.0)
                  : (over ? 1 : 0);
  if (over) {
    work.seconds_left = 0;
    return work;
  }
  const double reported =
      under_way.rates > 0 ? under_way.seconds_per_step / static_cast<double>(under_way.rates) : 0;
  const double per_step = sweep.train.units > 0 ? sweep.train.seconds / sweep.train.units : reported;
  const double per_evaluation = sweep.evaluate.units > 0 ? sweep.evaluate.seconds / sweep.evaluate.units
                                                         : mean_evaluate_weight * per_step;
  const double places = under_way.attempts > 0 ? static_cast<double>(under_way.attempts)
                                               : std::min(static_cast<double>(state.workers.slots()),
                                                          steps_left + evaluations_left);
  const bool known =
      places > 0 && (steps_left == 0 || per_step > 0) && (evaluations_left == 0 || per_evaluation > 0);
  if (known) {
    work.seconds_left = std::max((steps_left * per_step + evaluations_left * per_evaluation) / places,
                                 under_way.longest_seconds_left);
  }
  return work;
}

std::map<SweepId, SweepWork> WorkOf(const State& state, const std::vector<SweepId>& sweeps) {
  std::map<SweepId, UnderWay> under_way;
  for (const SweepId id : sweeps) under_way[id];
  for (const auto& [token, attempt] : state.attempts) {
    const Stage& stage = state.stages.at(attempt.stage);
    for (const Dependent& dependent : stage.Dependents()) {
      if (const auto at = under_way.find(dependent.sweep); at != under_way.end())
        at->second.Add(stage, attempt);
    }
  }
  for (const StageId waiting : state.interrupted) {
    const Stage& stage = state.stages.at(waiting);
    for (const Dependent& dependent : stage.Dependents()) {
      if (const auto at = under_way.find(dependent.sweep); at != under_way.end())
        at->second.AddInterrupted(stage);
    }
  }
  std::map<SweepId, SweepWork> work;
  for (const auto& [id, part] : under_way) work.emplace(id, WorkOf(state, state.sweeps.at(id), part));
  return work;
}

}  // namespace inlier
