#include "coordinator/orchestration/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr SweepId kFirst(1), kSecond(2);

std::vector<std::pair<SweepId, TrialId>> NeedersOf(const Stage& stage) {
  std::vector<std::pair<SweepId, TrialId>> all;
  for (const Needer& needer : stage.Needers()) all.emplace_back(needer.sweep, needer.trial);
  return all;
}

TEST(StageTest, TheOnlyTrialThatNeedsItCostsNoDetail) {
  Stage stage;
  stage.AddSweep(kFirst);
  EXPECT_FALSE(stage.IsNeeded());
  EXPECT_TRUE(stage.AddNeed(kFirst, TrialId(7)));
  EXPECT_FALSE(stage.AddNeed(kFirst, TrialId(7)));
  EXPECT_TRUE(stage.IsNeeded());
  EXPECT_TRUE(stage.IsNeededBy(kFirst, TrialId(7)));
  EXPECT_FALSE(stage.IsNeededBy(kFirst, TrialId(8)));
  EXPECT_FALSE(stage.IsNeededBy(kSecond));
  EXPECT_THAT(NeedersOf(stage), ElementsAre(std::pair(kFirst, TrialId(7))));
  EXPECT_THAT(stage.detail().needed_by, IsEmpty());
  EXPECT_EQ(stage.RemoveNeed(kFirst, TrialId(8)), Stage::Removed::kNothing);
  EXPECT_EQ(stage.RemoveNeed(kFirst, TrialId(7)), Stage::Removed::kSweep);
  EXPECT_FALSE(stage.IsNeeded());
}

TEST(StageTest, SeveralTrialsOfSeveralSweepsAreToldInOrder) {
  Stage stage;
  stage.AddSweep(kSecond);
  stage.AddSweep(kFirst);
  EXPECT_TRUE(stage.AddNeed(kSecond, TrialId(9)));
  EXPECT_FALSE(stage.AddNeed(kSecond, TrialId(4)));
  EXPECT_TRUE(stage.AddNeed(kFirst, TrialId(6)));
  EXPECT_THAT(NeedersOf(stage), ElementsAre(std::pair(kFirst, TrialId(6)), std::pair(kSecond, TrialId(4))));
  EXPECT_THAT(stage.NeedingTrials(), ElementsAre(TrialId(6), TrialId(4), TrialId(9)));
  EXPECT_EQ(stage.FirstNeederOf(kSecond), TrialId(4));
  EXPECT_EQ(stage.RemoveNeed(kSecond, TrialId(4)), Stage::Removed::kTrial);
  EXPECT_EQ(stage.RemoveNeed(kSecond, TrialId(4)), Stage::Removed::kNothing);
  EXPECT_EQ(stage.RemoveNeed(kSecond, TrialId(9)), Stage::Removed::kSweep);
  EXPECT_THAT(stage.NeedingTrials(), ElementsAre(TrialId(6)));
  EXPECT_EQ(stage.RemoveNeed(kFirst, TrialId(6)), Stage::Removed::kSweep);
  EXPECT_FALSE(stage.IsNeeded());
}

// The trial kept in the stage itself is always one of its first sweep.
TEST(StageTest, ATrialOfALaterSweepAloneIsThatSweeps) {
  Stage stage;
  stage.AddSweep(kFirst);
  stage.AddSweep(kSecond);
  EXPECT_TRUE(stage.AddNeed(kSecond, TrialId(5)));
  EXPECT_TRUE(stage.IsNeededBy(kSecond, TrialId(5)));
  EXPECT_FALSE(stage.IsNeededBy(kFirst));
  EXPECT_TRUE(stage.RemoveSweep(kFirst));
  EXPECT_EQ(stage.FirstNeederOf(kSecond), TrialId(5));
  EXPECT_THAT(stage.Sweeps(), ElementsAre(kSecond));
}

TEST(StageTest, SweepsComeAndGo) {
  Stage stage;
  EXPECT_FALSE(stage.RemoveSweep(kFirst));
  stage.AddSweep(kFirst);
  stage.AddSweep(kSecond);
  stage.AddSweep(SweepId(3));
  EXPECT_TRUE(stage.HasSweep(SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(kFirst));
  EXPECT_FALSE(stage.HasSweep(kFirst));
  EXPECT_THAT(stage.Sweeps(), ElementsAre(kSecond, SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(SweepId(3)));
  EXPECT_TRUE(stage.RemoveSweep(kSecond));
  EXPECT_THAT(stage.Sweeps(), IsEmpty());
}

TEST(StageTest, EvaluationsFollowTheirTrainingInTheOrderTheyCame) {
  Stage train, first, second;
  train.id = StageId(1);
  first.id = StageId(2);
  second.id = StageId(5);
  first.Follow(train, nullptr);
  second.Follow(train, &first);
  EXPECT_EQ(train.first_dependent(), first.id);
  EXPECT_EQ(first.next_dependent(), second.id);
  EXPECT_FALSE(second.next_dependent());
  EXPECT_EQ(train.last_dependent(), second.id);
  EXPECT_EQ(second.train(), train.id);
  EXPECT_FALSE(train.train());
  EXPECT_EQ(first.kind, v1::EVALUATE_STAGE);
}

TEST(StageTest, WhatSaysNothingAnyMoreIsLetGo) {
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
  train.id = StageId(1);
  evaluate.id = StageId(2);
  train.steps = evaluate.steps = 500;
  evaluate.Follow(train, nullptr);
  EXPECT_EQ(train.Weight(), 500);
  EXPECT_EQ(evaluate.Weight(), 50);
  EXPECT_EQ(epochs.Weight(), 1);
}

}  // namespace
}  // namespace inlier
