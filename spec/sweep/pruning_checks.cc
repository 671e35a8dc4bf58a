#include "spec/sweep/pruning_checks.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random_stream.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/trial/best_checkpoint.h"
#include "spec/trial/measurements.h"
#include "spec/trial/resolver.h"

namespace inlier {
namespace {

constexpr std::uint64_t kRoundMax = 1'000'000;  // Points of a round of brackets.

// base^exponent, at most so large that sums of products of it by numbers of brackets are whole.
std::uint64_t Power(std::uint64_t base, std::uint32_t exponent) {
  constexpr std::uint64_t kMax = 1'000'000'000'000'000;
  std::uint64_t power = 1;
  for (; exponent > 0 && power < kMax; --exponent) power *= base;
  return std::min(power, kMax);
}

std::uint32_t BracketsOf(const v1::PruningSpec& spec) {
  return spec.has_asha() ? std::max(1u, spec.asha().brackets()) : 1;
}

// The first step at which a bracket compares.
std::uint64_t FirstRung(const v1::AshaPruning& asha, std::uint32_t bracket) {
  return std::max(1u, asha.min_steps()) * Power(std::max(2u, asha.reduction()), bracket - 1);
}

// The last step before the end that reports the curve, or 0. (Curves of the updates have a point at step 1.)
std::uint64_t LastReport(const MeasurementInfo& curve, const v1::TrainingSpec& training) {
  const std::uint64_t every = CurvePeriod(curve, training);
  const std::uint64_t before_end = training.steps() - std::min(training.steps(), 1u);
  if (every == 0 || before_end == 0) return 0;
  const bool starts_at_1 = PeriodFieldOf(curve) == "measure_every";
  return std::max<std::uint64_t>(before_end / every * every, starts_at_1 ? 1 : 0);
}

void CheckThatItFires(const v1::SweepSpec& sweep, const MeasurementInfo& curve, const SweepGrid& grid,
                      Problems* problems) {
  // The last of several brackets may train without a comparison, as the paper's does.
  const std::uint32_t compares = std::max(1u, BracketsOf(sweep.pruning()) - 1);
  std::optional<v1::TrainingSpec> first;
  int checked = 0;
  for (auto index = grid.NextIndex(0); index && checked < SweepGrid::kPointsChecked;
       index = grid.NextIndex(*index + 1), ++checked) {
    const absl::StatusOr<v1::TrialSpec> spec = Resolve(grid.At(*index)->spec);
    if (!spec.ok()) return;  // Reported elsewhere.
    const v1::TrainingSpec& training = spec->training();
    const bool reports = CurvePeriod(curve, training) > 0;
    if (reports && !training.has_steps()) return;  // So many epochs: not known here.
    if (PruningRungAt(sweep.pruning(), compares, LastReport(curve, training))) return;
    if (!first) first = training;
  }
  if (!first) return;
  const std::string name(curve.name), period = "training." + std::string(PeriodFieldOf(curve));
  if (CurvePeriod(curve, *first) == 0)
    return problems->Add("pruning.measurement", name + " is never taken while training, for " + period +
                                                    " is 0; give it in base, such as 100");
  const v1::PruningSpec& pruning = sweep.pruning();
  const std::uint64_t last = LastReport(curve, *first);
  const std::string why = "trainings have " + std::to_string(first->steps()) + " steps and report " + name +
                          " for the last time before their end at step " + std::to_string(last) + "; ";
  if (PruningRungAt(pruning, 1, last))
    return problems->Add("pruning.asha.brackets",
                         std::to_string(BracketsOf(pruning)) + " are too many: number " +
                             std::to_string(compares) + " compares at step " +
                             std::to_string(FirstRung(pruning.asha(), compares)) + " first, and " + why +
                             "give fewer, or lower pruning.asha.min_steps");
  const auto [path, rung] = pruning.has_asha()
                                ? std::pair("pruning.asha.min_steps", pruning.asha().min_steps())
                            : pruning.median().warmup_steps() > 0
                                ? std::pair("pruning.median.warmup_steps", pruning.median().warmup_steps())
                                : std::pair("pruning.median.interval", pruning.median().interval());
  problems->Add(path, std::to_string(rung) + " is never reached: " + why + "lower it, or " + period);
}

}  // namespace

std::vector<std::uint64_t> PruningBracketSizes(const v1::PruningSpec& spec) {
  const std::uint32_t brackets = BracketsOf(spec);
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t share = brackets; share > 0; --share)  // The paper's s + 1.
    sizes.push_back((brackets * Power(std::max(2u, spec.asha().reduction()), share - 1) + share - 1) / share);
  return sizes;
}

std::uint32_t PruningBracketOf(const v1::PruningSpec& spec, std::uint64_t number) {
  const std::vector<std::uint64_t> sizes = PruningBracketSizes(spec);
  const std::uint64_t round = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  std::uint64_t place = RandomOrder(round, /*seed=*/0, "bracket", number / round).At(number % round);
  std::uint32_t bracket = 1;
  for (; place >= sizes[bracket - 1]; ++bracket) place -= sizes[bracket - 1];
  return bracket;
}

std::optional<std::uint64_t> PruningRungAt(const v1::PruningSpec& spec, std::uint32_t bracket,
                                           std::uint64_t step) {
  if (spec.has_median()) {
    const std::uint64_t first = spec.median().warmup_steps();
    const std::uint64_t every = std::max<std::uint64_t>(1, spec.median().interval());
    const std::uint64_t rung = step < first ? 0 : step - (step - first) % every;
    return rung == 0 ? std::nullopt : std::optional(rung);
  }
  const std::uint64_t first = FirstRung(spec.asha(), bracket);
  if (step < first) return std::nullopt;
  const std::uint64_t reduction = std::max<std::uint64_t>(2, spec.asha().reduction());
  std::uint64_t rung = first;
  while (rung <= step / reduction) rung *= reduction;
  return rung;
}

void CheckPruning(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems) {
  const v1::PruningSpec& pruning = sweep.pruning();
  if (!pruning.has_measurement() || pruning.rule_case() == v1::PruningSpec::RULE_NOT_SET)
    return;  // Reported.
  const MeasurementInfo* curve = grid.form().measurements()->Find(pruning.measurement());
  if (curve == nullptr || !curve->curve || curve->axis == "site") {
    std::vector<std::string> curves;
    for (const MeasurementInfo& info : grid.form().measurements()->all()) {
      if (info.curve && info.axis != "site") curves.emplace_back(info.name);
    }
    return problems->Add("pruning.measurement",
                         Quoted(pruning.measurement()) +
                             (curve == nullptr ? " is not a measurement"
                                               : " is reported at the end only, not while training") +
                             (curve == nullptr ? DidYouMean(pruning.measurement(), curves)
                                               : std::string("; give a curve such as train_loss or loss")));
  }
  if (grid.form().is_program() && curve->source != "train")
    return problems->Add("pruning.measurement",
                         Quoted(pruning.measurement()) +
                             " is reported by the evaluation, not while training; give "
                             "a measurement of the training");
  const std::vector<std::uint64_t> sizes = PruningBracketSizes(pruning);
  if (std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) > kRoundMax)
    return problems->Add("pruning.asha.brackets", std::to_string(sizes.size()) + " with reduction " +
                                                      std::to_string(pruning.asha().reduction()) +
                                                      " share out more than " + std::to_string(kRoundMax) +
                                                      " points at once: give fewer");
  if (sizes.size() > 1 && grid.kept() <= sizes.size())
    return problems->Add("pruning.asha.brackets", std::to_string(sizes.size()) +
                                                      " have nothing to compare, for the sweep has " +
                                                      std::to_string(grid.kept()) + " trials; give fewer");
  const std::uint32_t needed = pruning.has_median() ? pruning.median().min_trials() : 1;
  if (grid.kept() <= needed) {
    problems->Add(
        pruning.has_median() ? "pruning.median.min_trials" : "pruning",
        std::to_string(needed) + " other trials to compare with are never there, for the sweep has " +
            std::to_string(grid.kept()) + "; " + (pruning.has_median() ? "lower it" : "leave it out"));
  }
  if (!grid.form().is_program()) CheckThatItFires(sweep, *curve, grid, problems);
}

}  // namespace inlier
