#include "coordinator/state/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr SweepId kFirst(1), kSecond(2);

std::vector<std::pair<SweepId, TrialId>> DependentsOf(const Stage& stage) {
  std::vector<std::pair<SweepId, TrialId>> all;
  for (const Dependent& dependent : stage.Dependents()) all.emplace_back(dependent.sweep, dependent.trial);
  return all;
}

TEST(StageTest, ATrialDependsOnItOnce) {
  Stage stage;
  EXPECT_FALSE(stage.IsNeeded());
  EXPECT_TRUE(stage.AddDependent(kFirst, TrialId(7)));
  EXPECT_FALSE(stage.AddDependent(kFirst, TrialId(7)));
  EXPECT_TRUE(stage.IsNeeded());
  EXPECT_TRUE(stage.IsNeededBy(kFirst, TrialId(7)));
  EXPECT_FALSE(stage.IsNeededBy(kFirst, TrialId(8)));
  EXPECT_FALSE(stage.IsNeededBy(kSecond));
  EXPECT_THAT(DependentsOf(stage), ElementsAre(std::pair(kFirst, TrialId(7))));
  EXPECT_FALSE(stage.RemoveDependent(kFirst, TrialId(8)));
  EXPECT_TRUE(stage.RemoveDependent(kFirst, TrialId(7)));
  EXPECT_FALSE(stage.RemoveDependent(kFirst, TrialId(7)));
  EXPECT_FALSE(stage.IsNeeded());
}

TEST(StageTest, DependentsAreOrderedBySweepThenTrial) {
  Stage stage;
  EXPECT_TRUE(stage.AddDependent(kSecond, TrialId(9)));
  EXPECT_FALSE(stage.AddDependent(kSecond, TrialId(4)));
  EXPECT_TRUE(stage.AddDependent(kFirst, TrialId(6)));
  EXPECT_THAT(DependentsOf(stage),
              ElementsAre(std::pair(kFirst, TrialId(6)), std::pair(kSecond, TrialId(4))));
  EXPECT_THAT(stage.DependentTrials(), ElementsAre(TrialId(6), TrialId(4), TrialId(9)));
  EXPECT_EQ(stage.FirstDependentOf(kSecond), TrialId(4));
  EXPECT_FALSE(stage.RemoveDependent(kSecond, TrialId(4)));
  EXPECT_FALSE(stage.RemoveDependent(kSecond, TrialId(4)));
  EXPECT_TRUE(stage.RemoveDependent(kSecond, TrialId(9)));
  EXPECT_THAT(stage.DependentTrials(), ElementsAre(TrialId(6)));
  EXPECT_TRUE(stage.RemoveDependent(kFirst, TrialId(6)));
  EXPECT_FALSE(stage.IsNeeded());
}

TEST(StageTest, SweepsAreAddedAndRemoved) {
  Stage stage;
  EXPECT_FALSE(stage.RemoveSweep(kFirst));
  stage.sweeps = {kFirst, kSecond, SweepId(3)};
  EXPECT_TRUE(stage.HasSweep(SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(kFirst));
  EXPECT_FALSE(stage.HasSweep(kFirst));
  EXPECT_THAT(stage.sweeps, ElementsAre(kSecond, SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(kSecond));
  EXPECT_THAT(stage.sweeps, IsEmpty());
}

TEST(StageTest, AnEmptyDetailIsFreed) {
  Stage stage;
  stage.SetMessage("");
  EXPECT_EQ(&stage.detail(), &Stage().detail());  // The one that all share.
  stage.edit().live = 4;
  stage.SetMessage("CRASHED: it broke");
  stage.Tidy();
  EXPECT_EQ(stage.live(), 4u);
  EXPECT_EQ(stage.detail().message, "CRASHED: it broke");
  stage.edit().live = 0;
  stage.SetMessage("");
  stage.Tidy();
  EXPECT_EQ(&stage.detail(), &Stage().detail());
}

TEST(StageTest, AnEvaluationWeighsATenthOfItsTraining) {
  Stage train, evaluate, epochs;
  train.steps = evaluate.steps = 500;
  evaluate.kind = v1::EVALUATE_STAGE;
  EXPECT_EQ(train.Weight(), 500);
  EXPECT_EQ(evaluate.Weight(), 50);
  EXPECT_EQ(epochs.Weight(), 1);
}

}  // namespace
}  // namespace inlier
