#include "coordinator/state/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr SweepId kOne(1), kTwo(2);

std::vector<std::pair<SweepId, TrialId>> DependentsOf(const Stage& stage) {
  std::vector<std::pair<SweepId, TrialId>> all;
  for (const Dependent& dependent : stage.Dependents()) all.emplace_back(dependent.sweep, dependent.trial);
  return all;
}

TEST(StageTest, ATrialDependsOnItOnce) {
  Stage stage;
  EXPECT_FALSE(stage.IsNeeded());
  EXPECT_TRUE(stage.AddDependent(kOne, TrialId(7)));
  EXPECT_FALSE(stage.AddDependent(kOne, TrialId(7)));
  EXPECT_TRUE(stage.IsNeeded());
  EXPECT_TRUE(stage.IsNeededBy(kOne, TrialId(7)));
  EXPECT_FALSE(stage.IsNeededBy(kOne, TrialId(8)));
  EXPECT_FALSE(stage.IsNeededBy(kTwo));
  EXPECT_THAT(DependentsOf(stage), ElementsAre(std::pair(kOne, TrialId(7))));
  EXPECT_FALSE(stage.RemoveDependent(kOne, TrialId(8)));
  EXPECT_TRUE(stage.RemoveDependent(kOne, TrialId(7)));
  EXPECT_FALSE(stage.RemoveDependent(kOne, TrialId(7)));
  EXPECT_FALSE(stage.IsNeeded());
}

TEST(StageTest, DependentsAreOrderedBySweepThenTrial) {
  Stage stage;
  EXPECT_TRUE(stage.AddDependent(kTwo, TrialId(9)));
  EXPECT_FALSE(stage.AddDependent(kTwo, TrialId(4)));
  EXPECT_TRUE(stage.AddDependent(kOne, TrialId(6)));
  EXPECT_THAT(DependentsOf(stage), ElementsAre(std::pair(kOne, TrialId(6)), std::pair(kTwo, TrialId(4))));
  EXPECT_THAT(stage.DependentTrials(), ElementsAre(TrialId(6), TrialId(4), TrialId(9)));
  EXPECT_EQ(stage.FirstDependentOf(kTwo), TrialId(4));
  EXPECT_FALSE(stage.RemoveDependent(kTwo, TrialId(4)));
  EXPECT_FALSE(stage.RemoveDependent(kTwo, TrialId(4)));
  EXPECT_TRUE(stage.RemoveDependent(kTwo, TrialId(9)));
  EXPECT_THAT(stage.DependentTrials(), ElementsAre(TrialId(6)));
  EXPECT_TRUE(stage.RemoveDependent(kOne, TrialId(6)));
  EXPECT_FALSE(stage.IsNeeded());
}

TEST(StageTest, SweepsAreAddedAndRemoved) {
  Stage stage;
  EXPECT_FALSE(stage.RemoveSweep(kOne));
  stage.sweeps = {kOne, kTwo, SweepId(3)};
  EXPECT_TRUE(stage.HasSweep(SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(kOne));
  EXPECT_FALSE(stage.HasSweep(kOne));
  EXPECT_THAT(stage.sweeps, ElementsAre(kTwo, SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(kTwo));
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
