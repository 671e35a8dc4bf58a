#include "coordinator/state/sweeps/pruner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "spec/sweep/pruning_checks.h"
#include "tests/coordinator/invariants.h"

namespace inlier {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

v1::PruningSpec Median(std::uint32_t min_trials, std::uint32_t warmup = 0, std::uint32_t interval = 10) {
  v1::PruningSpec spec;
  spec.set_measurement("train_loss");
  spec.mutable_median()->set_min_trials(min_trials);
  spec.mutable_median()->set_warmup_steps(warmup);
  spec.mutable_median()->set_interval(interval);
  return spec;
}

v1::PruningSpec Asha(std::uint32_t min_steps, std::uint32_t reduction) {
  v1::PruningSpec spec;
  spec.set_measurement("train_loss");
  spec.mutable_asha()->set_min_steps(min_steps);
  spec.mutable_asha()->set_reduction(reduction);
  return spec;
}

v1::PruningSpec Maximize(v1::PruningSpec spec) {
  spec.set_goal(v1::PruningSpec::MAXIMIZE);
  return spec;
}

bool Prunes(const v1::PruningSpec& spec, const std::vector<double>& earlier, double value) {
  return JudgeValue(spec, earlier, value).prune;
}

TEST(PruningRuleTest, WorseThanTheMedianIsPruned) {
  EXPECT_FALSE(Prunes(Median(3), {3, 1, 2}, 2));
  EXPECT_TRUE(Prunes(Median(3), {3, 1, 2}, 2.1));
  EXPECT_FALSE(Prunes(Median(3), {4, 1, 2, 3}, 2.5));
  EXPECT_TRUE(Prunes(Median(3), {4, 1, 2, 3}, 2.6));
  EXPECT_EQ(JudgeValue(Median(3), std::vector<double>{4, 1, 2, 3}, 9).threshold, 2.5);
  EXPECT_EQ(JudgeValue(Median(3), std::vector<double>{4, 1, 2, 3}, 9).others, 4u);
}

TEST(PruningRuleTest, MedianWaitsForEnoughTrials) {
  const PruningDecision verdict = JudgeValue(Median(3), std::vector<double>{1, 2}, 100);
  EXPECT_FALSE(verdict.prune);
  EXPECT_EQ(verdict.others, 2u);
  EXPECT_FALSE(verdict.threshold.has_value());
  EXPECT_FALSE(Prunes(Median(1), {}, 100));
}

TEST(PruningRuleTest, MoreIsBetterWhereTheGoalIsToMaximize) {
  EXPECT_TRUE(Prunes(Maximize(Median(3)), {3, 1, 2}, 1.9));
  EXPECT_FALSE(Prunes(Maximize(Median(3)), {3, 1, 2}, 2));
  EXPECT_EQ(JudgeValue(Maximize(Median(3)), std::vector<double>{3, 1, 2}, 2).threshold, 2);
  EXPECT_TRUE(Prunes(Maximize(Asha(1, 3)), {5}, 4));
  EXPECT_FALSE(Prunes(Maximize(Asha(1, 3)), {5}, 6));
}

TEST(PruningRuleTest, NotANumberIsWorst) {
  for (const v1::PruningSpec& spec : {Median(1), Maximize(Median(1)), Asha(1, 3), Maximize(Asha(1, 3))}) {
    EXPECT_TRUE(Prunes(spec, {1, 2}, kNan));
    EXPECT_FALSE(Prunes(spec, {kNan, kNan}, 1e300));
    EXPECT_FALSE(Prunes(spec, {kNan, kNan}, kNan));  // Equal, not worse.
  }
  EXPECT_TRUE(Prunes(Median(1), {kInf}, kNan));
  EXPECT_FALSE(Prunes(Median(1), {kNan}, kInf));
  EXPECT_FALSE(Prunes(Median(1), {kInf, kInf}, kInf));
  EXPECT_FALSE(Prunes(Median(1), {1, kNan}, 5));  // The middle is no number: nothing is worse.
}

TEST(PruningRuleTest, AshaKeepsTheBestSoFarAndThenOneOfEta) {
  const v1::PruningSpec asha = Asha(1, 3);
  EXPECT_FALSE(Prunes(asha, {}, 9));
  EXPECT_TRUE(Prunes(asha, {5}, 6));
  EXPECT_FALSE(Prunes(asha, {5}, 4));
  EXPECT_FALSE(Prunes(asha, {5}, 5));
  // Two of six continue.
  EXPECT_FALSE(Prunes(asha, {1, 4, 5, 6, 7}, 3));
  EXPECT_TRUE(Prunes(asha, {1, 2, 5, 6, 7}, 3));
  EXPECT_EQ(JudgeValue(asha, std::vector<double>{7, 2, 5, 6, 1}, 3).threshold, 2);
}

// The rule in other words, on random histories: a run continues when fewer than max(1, n / eta) of all n are
// better.
TEST(PruningRuleTest, AshaIsTheRuleOfThePaper) {
  std::mt19937_64 random(5);
  for (int history = 0; history < 200; ++history) {
    const std::uint32_t eta = 2 + random() % 4;
    std::vector<double> earlier;
    for (int trial = 0; trial < 40; ++trial) {
      const double value = random() % 20 == 0 ? kNan : static_cast<double>(random() % 50);
      const auto better = std::count_if(earlier.begin(), earlier.end(), [&](double other) {
        return std::isnan(value) ? !std::isnan(other) : other < value;
      });
      const std::size_t keeps = std::max<std::size_t>(1, (earlier.size() + 1) / eta);
      EXPECT_EQ(Prunes(Asha(1, eta), earlier, value), static_cast<std::size_t>(better) >= keeps);
      earlier.push_back(value);
    }
  }
}

TEST(PruningRuleTest, RungsAreAtTheStepsOfTheRule) {
  const v1::PruningSpec median = Median(1, 100, 50);
  EXPECT_EQ(PruningRungAt(median, 1, 99), std::nullopt);
  EXPECT_EQ(PruningRungAt(median, 1, 100), 100u);
  EXPECT_EQ(PruningRungAt(median, 1, 149), 100u);
  EXPECT_EQ(PruningRungAt(median, 1, 150), 150u);
  EXPECT_EQ(PruningRungAt(Median(1, 0, 10), 1, 9), std::nullopt);
  EXPECT_EQ(PruningRungAt(Median(1, 0, 10), 1, 29), 20u);
  const v1::PruningSpec asha = Asha(10, 3);
  EXPECT_EQ(PruningRungAt(asha, 1, 9), std::nullopt);
  EXPECT_EQ(PruningRungAt(asha, 1, 10), 10u);
  EXPECT_EQ(PruningRungAt(asha, 1, 29), 10u);
  EXPECT_EQ(PruningRungAt(asha, 1, 30), 30u);
  EXPECT_EQ(PruningRungAt(asha, 1, 1000), 810u);
  EXPECT_EQ(PruningRungAt(asha, 1, ~0ull), 13508517176729920890u);
}

TEST(PruningRuleTest, ALaterBracketBeginsLater) {
  const v1::PruningSpec asha = Asha(10, 3);
  EXPECT_EQ(PruningRungAt(asha, 3, 89), std::nullopt);
  EXPECT_EQ(PruningRungAt(asha, 3, 90), 90u);
  EXPECT_EQ(PruningRungAt(asha, 3, 280), 270u);
}

TEST(PrunerTest, ATrainingIsJudgedOnceAtARung) {
  Pruner pruner(Median(1));
  const StageId stage(1);
  EXPECT_EQ(pruner.Judge(stage, 1, 9, 1.0), std::nullopt);
  const auto first = pruner.Judge(stage, 1, 12, 1.0);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->rung, 10u);
  EXPECT_EQ(first->step, 12u);
  pruner.Record(*first);
  EXPECT_EQ(pruner.Judge(stage, 1, 15, 99.0), std::nullopt);
  EXPECT_EQ(pruner.Judge(stage, 1, 10, 99.0), std::nullopt);  // A later attempt comes by again.
  const auto jump = pruner.Judge(stage, 1, 47, 1.0);
  ASSERT_TRUE(jump.has_value());
  EXPECT_EQ(jump->rung, 40u);
  pruner.Record(*jump);
  EXPECT_EQ(pruner.Judge(stage, 1, 30, 1.0), std::nullopt);
}

TEST(PrunerTest, TheReasonNamesBothComparedValues) {
  Pruner median(Median(2));
  for (const int stage : {1, 2}) median.Record(*median.Judge(StageId(stage), 1, 10, 1.0 + stage));
  EXPECT_EQ(median.Reason(*median.Judge(StageId(3), 1, 11, 3.5)),
            "pruned: train_loss 3.5 at step 11 is worse than the median 2.5 of 2 trials");
  Pruner asha(Asha(10, 3));
  asha.Record(*asha.Judge(StageId(1), 1, 10, 2));
  EXPECT_EQ(asha.Reason(*asha.Judge(StageId(2), 1, 10, kNan)),
            "pruned: train_loss NaN at step 10 is worse than 2, the limit of the best 1/3 of 2 trials");
}

TEST(PrunerTest, TrainingsAreComparedWithinTheirBracket) {
  v1::PruningSpec spec = Asha(10, 2);
  spec.mutable_asha()->set_brackets(3);
  Pruner pruner(spec);
  const auto judge = [&pruner](int stage, std::uint32_t bracket, std::uint64_t step, double value) {
    const std::optional<PruningDecision> decision = pruner.Judge(StageId(stage), bracket, step, value);
    if (decision) pruner.Record(*decision);
    return decision;
  };
  EXPECT_FALSE(judge(1, 1, 20, 1.0)->prune);
  EXPECT_EQ(judge(2, 2, 19, 5.0), std::nullopt);  // Bracket 2 begins at 20.
  const auto second = judge(2, 2, 20, 5.0);
  EXPECT_FALSE(second->prune);  // 1.0 is in another bracket.
  EXPECT_EQ(second->others, 0u);
  const auto third = judge(3, 2, 20, 6.0);
  EXPECT_TRUE(third->prune);
  EXPECT_EQ(pruner.Reason(*third),
            "pruned: train_loss 6 at step 20 is worse than 5, the limit of the best 1/2 of 2 trials in "
            "bracket 2 of 3");
  // It stays in its bracket, wherever the point is by then.
  const auto later = judge(2, 1, 40, 4.0);
  EXPECT_EQ(later->bracket, 2u);
  EXPECT_EQ(later->others, 0u);
}

TEST(PrunerTest, AReplayFindsDecisionsThatDoNotFollow) {
  Snapshot snapshot;
  SweepRow& sweep = snapshot.sweeps.emplace_back();
  sweep.id = SweepId(1);
  *sweep.spec.mutable_pruning() = Asha(10, 2);
  Pruner pruner(sweep.spec.pruning());
  const double values[] = {3, kNan, 2, 5, 1, 1};
  for (int i = 0; i < 6; ++i) {
    PruningDecision decision = *pruner.Judge(StageId(i + 1), 1, 10, values[i]);
    decision.sweep = SweepId(1);
    pruner.Record(decision);
    snapshot.pruning_decisions.push_back(decision);
  }
  EXPECT_TRUE(ReplayPruning(snapshot).ok()) << ReplayPruning(snapshot);
  Snapshot turned = snapshot;
  turned.pruning_decisions[3].prune = !turned.pruning_decisions[3].prune;
  EXPECT_THAT(std::string(ReplayPruning(turned).message()),
              HasSubstr("about st-4 of s-1 at step 10 is stored as"));
  Snapshot lost = snapshot;
  lost.pruning_decisions.erase(lost.pruning_decisions.begin());
  EXPECT_FALSE(ReplayPruning(lost).ok());
  Snapshot swapped = snapshot;
  std::swap(swapped.pruning_decisions[2], swapped.pruning_decisions[3]);
  EXPECT_FALSE(ReplayPruning(swapped).ok());
  Snapshot doubled = snapshot;
  doubled.pruning_decisions.push_back(doubled.pruning_decisions.back());
  EXPECT_THAT(std::string(ReplayPruning(doubled).message()), HasSubstr("was not to be taken"));
}

}  // namespace
}  // namespace inlier
