#include "coordinator/state/sweeps/pruner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "spec/schema/number_text.h"
#include "spec/sweep/pruning_checks.h"

namespace inlier {
namespace {

// Smaller is better, for either goal; NaN comes last.
struct Rank {
  bool lost = false;  // Not a number.
  double value = 0;
  friend bool operator<(const Rank& a, const Rank& b) {
    return a.lost != b.lost ? b.lost : !a.lost && a.value < b.value;
  }
};

Rank RankOf(const v1::PruningSpec& spec, double value) {
  if (std::isnan(value)) return {true, 0};
  return {false, spec.goal() == v1::PruningSpec::MAXIMIZE ? -value : value};
}

double ValueOf(const v1::PruningSpec& spec, const Rank& rank) {
  if (rank.lost) return std::numeric_limits<double>::quiet_NaN();
  return spec.goal() == v1::PruningSpec::MAXIMIZE ? -rank.value : rank.value;
}

PruningDecision JudgeByMedian(const v1::PruningSpec& spec, std::vector<Rank> others, const Rank& own) {
  PruningDecision verdict{.others = others.size()};
  if (others.empty() || others.size() < spec.median().min_trials()) return verdict;
  std::sort(others.begin(), others.end());
  const Rank& low = others[(others.size() - 1) / 2];
  const Rank& high = others[others.size() / 2];
  const double mean = low.value == high.value ? low.value : low.value / 2 + high.value / 2;
  const bool lost = high.lost || std::isnan(mean);  // Half are not numbers, or lie at both infinities.
  const Rank median{lost, lost ? 0 : mean};
  verdict.threshold = ValueOf(spec, median);
  verdict.prune = median < own;
  return verdict;
}

PruningDecision JudgeByAsha(const v1::PruningSpec& spec, std::vector<Rank> others, const Rank& own) {
  PruningDecision verdict{.others = others.size()};
  const std::size_t kept = std::max<std::size_t>(1, (others.size() + 1) / spec.asha().reduction());
  if (others.size() < kept) return verdict;
  std::sort(others.begin(), others.end());
  verdict.threshold = ValueOf(spec, others[kept - 1]);
  verdict.prune = others[kept - 1] < own;
  return verdict;
}

}  // namespace

PruningDecision JudgeValue(const v1::PruningSpec& spec, std::span<const double> earlier, double value) {
  std::vector<Rank> others;
  others.reserve(earlier.size());
  for (const double other : earlier) others.push_back(RankOf(spec, other));
  INLIER_CHECK(spec.has_median() || spec.has_asha());
  return spec.has_median() ? JudgeByMedian(spec, std::move(others), RankOf(spec, value))
                           : JudgeByAsha(spec, std::move(others), RankOf(spec, value));
}

std::optional<PruningDecision> Pruner::Judge(StageId stage, std::uint32_t bracket, std::uint64_t step,
                                             double value) const {
  const auto before = judged_.find(stage);
  const bool first = before == judged_.end();
  if (!first) bracket = before->second.bracket;
  const std::optional<std::uint64_t> rung = PruningRungAt(spec_, bracket, step);
  if (!rung || (!first && before->second.rung >= *rung)) return std::nullopt;
  const auto at = rungs_.find({bracket, *rung});
  PruningDecision decision =
      JudgeValue(spec_, at == rungs_.end() ? std::span<const double>() : at->second, value);
  decision.stage = stage;
  decision.bracket = bracket;
  decision.rung = *rung;
  decision.step = step;
  decision.value = value;
  return decision;
}

void Pruner::Record(const PruningDecision& decision) {
  if (!decision.prune || !INLIER_BUG("pruned_value_not_compared"))
    rungs_[{decision.bracket, decision.rung}].push_back(decision.value);
  judged_[decision.stage] = {decision.bracket, decision.rung, decision.prune};
}

bool Pruner::Wants(StageId stage) const {
  const auto at = judged_.find(stage);
  return at != judged_.end() && at->second.prune;
}

std::string Pruner::Reason(const PruningDecision& decision) const {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string against =
      spec_.has_median()
          ? absl::StrCat("the median ", FormatNumber(decision.threshold.value_or(none)), " of ",
                         decision.others)
          : absl::StrCat(FormatNumber(decision.threshold.value_or(none)), ", the limit of the best 1/",
                         spec_.asha().reduction(), " of ", decision.others + 1);
  const std::string bracket = spec_.asha().brackets() > 1 ? absl::StrCat(" in bracket ", decision.bracket,
                                                                         " of ", spec_.asha().brackets())
                                                          : "";
  return absl::StrCat("pruned: ", spec_.measurement(), " ", FormatNumber(decision.value), " at step ",
                      decision.step, " is worse than ", against, " trials", bracket);
}

std::string Pruner::State() const {
  std::string text;
  for (const auto& [rung, values] : rungs_) {
    absl::StrAppend(&text, "rung ", rung.second, " of bracket ", rung.first, ":");
    for (const double value : values) absl::StrAppend(&text, " ", FormatNumber(value));
    absl::StrAppend(&text, "\n");
  }
  for (const auto& [stage, judged] : judged_)
    absl::StrAppend(&text, "judged ", stage.ToString(), " in bracket ", judged.bracket, " ", judged.rung,
                    judged.prune ? " PRUNE\n" : " CONTINUE\n");
  return text;
}

}  // namespace inlier
