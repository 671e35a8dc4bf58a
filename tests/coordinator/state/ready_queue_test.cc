#include "coordinator/state/ready_queue.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

using Pick = ReadyQueue::Pick;

constexpr SweepId kFirst(1);
constexpr SweepId kSecond(2);

Pick Of(SweepId sweep, int stage) { return {sweep, StageId(stage)}; }

struct SchedulerTest : testing::Test {
  void AddReady(SweepId sweep, int stage, v1::StageKind kind, int first_trial) {
    scheduler.AddReady(sweep, StageId(stage), kind, TrialId(first_trial));
  }
  // Two sweeps of one priority, with four trainings each.
  void AddTwoSweeps() {
    for (const SweepId sweep : {kFirst, kSecond}) scheduler.AddSweep(sweep, {0});
    for (int i = 0; i < 4; ++i) AddReady(kFirst, 10 + i, v1::TRAIN_STAGE, i);
    for (int i = 0; i < 4; ++i) AddReady(kSecond, 20 + i, v1::TRAIN_STAGE, 10 + i);
  }
  std::optional<Pick> Next() const {
    return scheduler.Next(0, [](const ResourceRequest&) { return true; });
  }
  // Takes the next pick, as the orchestrator does.
  Pick Take() {
    const Pick pick = Next().value();
    scheduler.RemoveReady(pick.sweep, pick.stage);
    scheduler.Started(pick.sweep);
    return pick;
  }

  ReadyQueue scheduler;
};

TEST_F(SchedulerTest, NothingReadyGivesNothing) {
  scheduler.AddSweep(kFirst, {0});
  EXPECT_EQ(Next(), std::nullopt);
}

TEST_F(SchedulerTest, EvaluateStagesGoBeforeTrainStagesThenTheEarliestTrial) {
  scheduler.AddSweep(kFirst, {0});
  AddReady(kFirst, 10, v1::TRAIN_STAGE, 1);
  AddReady(kFirst, 11, v1::TRAIN_STAGE, 2);
  AddReady(kFirst, 20, v1::EVALUATE_STAGE, 9);
  AddReady(kFirst, 21, v1::EVALUATE_STAGE, 8);
  EXPECT_EQ(Take(), Of(kFirst, 21));
  EXPECT_EQ(Take(), Of(kFirst, 20));
  EXPECT_EQ(Take(), Of(kFirst, 10));
  EXPECT_EQ(Take(), Of(kFirst, 11));
  EXPECT_EQ(Next(), std::nullopt);
}

TEST_F(SchedulerTest, HigherPriorityGoesFirstEvenWithTrainStages) {
  scheduler.AddSweep(kFirst, {0});
  scheduler.AddSweep(kSecond, {5});
  AddReady(kFirst, 10, v1::EVALUATE_STAGE, 1);
  AddReady(kSecond, 20, v1::TRAIN_STAGE, 2);
  EXPECT_EQ(Take(), Of(kSecond, 20));
  EXPECT_EQ(Take(), Of(kFirst, 10));
}

TEST_F(SchedulerTest, SweepsOfEqualPriorityShareTheSlotsEvenly) {
  AddTwoSweeps();
  for (int i = 0; i < 6; ++i) Take();
  EXPECT_EQ(scheduler.running(kFirst), 3u);
  EXPECT_EQ(scheduler.running(kSecond), 3u);
}

TEST_F(SchedulerTest, SweepServedLongestAgoGoesNextWhenAllRunEquallyMany) {
  AddTwoSweeps();
  // One slot: each attempt ends before the next begins.
  std::vector<SweepId> order;
  for (int i = 0; i < 6; ++i) {
    const Pick pick = Take();
    order.push_back(pick.sweep);
    scheduler.Ended(pick.sweep);
  }
  EXPECT_EQ(order, (std::vector<SweepId>{kFirst, kSecond, kFirst, kSecond, kFirst, kSecond}));
}

TEST_F(SchedulerTest, MaxParallelHoldsASweepBackUntilAnAttemptEnds) {
  scheduler.AddSweep(kFirst, {9, 1});
  scheduler.AddSweep(kSecond, {0});
  AddReady(kFirst, 10, v1::TRAIN_STAGE, 1);
  AddReady(kFirst, 11, v1::TRAIN_STAGE, 2);
  AddReady(kSecond, 20, v1::TRAIN_STAGE, 3);
  EXPECT_EQ(Take(), Of(kFirst, 10));
  EXPECT_EQ(Take(), Of(kSecond, 20));
  EXPECT_EQ(Next(), std::nullopt);
  scheduler.Ended(kFirst);
  EXPECT_EQ(Next(), Of(kFirst, 11));
}

// Of this owner, who may run so many attempts.
ReadyRules Owned(const std::string& owner, std::uint32_t max_parallel, const std::string& group = "") {
  ReadyRules rules;
  rules.group = group;
  rules.owner = owner;
  rules.owner_max_parallel = max_parallel;
  return rules;
}

TEST_F(SchedulerTest, QuotaOfAnOwnerHoldsForAllItsSweepsTogetherWhateverTheirGroups) {
  scheduler.SetQuota("small", 1);
  constexpr SweepId kThird(3), kFourth(4);
  scheduler.AddSweep(kFirst, Owned("alice", 2, "small"));
  scheduler.AddSweep(kSecond, Owned("alice", 2));
  scheduler.AddSweep(kThird, Owned("bob", 9, "small"));
  scheduler.AddSweep(kFourth, {-1});
  for (int sweep = 1; sweep <= 4; ++sweep) {
    for (int i = 0; i < 3; ++i) AddReady(SweepId(sweep), 10 * sweep + i, v1::TRAIN_STAGE, 10 * sweep + i);
  }
  EXPECT_EQ(Take(), Of(kFirst, 10));  // The group is full.
  EXPECT_EQ(scheduler.RoomOf(kThird), 0u);
  EXPECT_EQ(Take(), Of(kSecond, 20));  // And alice is at her quota.
  EXPECT_EQ(scheduler.RoomOf(kSecond), 0u);
  EXPECT_EQ(Take(), Of(kFourth, 40));
  scheduler.Ended(kSecond);
  EXPECT_EQ(Take(), Of(kSecond, 21));
  scheduler.Ended(kFirst);  // Frees a place of the group and one of alice's.
  EXPECT_EQ(scheduler.OwnerUsage("alice").running, 1u);
  EXPECT_EQ(Take(), Of(kThird, 30));
  EXPECT_EQ(scheduler.RoomOf(kFirst), 0u);
  EXPECT_EQ(Take(), Of(kSecond, 22));
  EXPECT_EQ(Take(), Of(kFourth, 41));
  scheduler.Ended(kThird);
  EXPECT_EQ(Take(), Of(kThird, 31));  // Alice is still at hers.
  scheduler.Ended(kThird);
  scheduler.Ended(kSecond);
  EXPECT_EQ(Take(), Of(kFirst, 11));
}

TEST_F(SchedulerTest, SweepThatLeavesAFullGroupTakesItsAttemptsWithIt) {
  scheduler.SetQuota("small", 1);
  scheduler.AddSweep(kFirst, Owned("alice", 5, "small"));
  scheduler.AddSweep(kSecond, Owned("bob", 5, "small"));
  AddReady(kFirst, 10, v1::TRAIN_STAGE, 1);
  AddReady(kSecond, 20, v1::TRAIN_STAGE, 2);
  EXPECT_EQ(Take(), Of(kFirst, 10));
  EXPECT_EQ(Next(), std::nullopt);
  scheduler.SetRules(kFirst, Owned("alice", 5));
  EXPECT_EQ(scheduler.GroupUsage("small").running, 0u);
  EXPECT_EQ(scheduler.OwnerUsage("alice").running, 1u);
  EXPECT_EQ(Take(), Of(kSecond, 20));
}

TEST_F(SchedulerTest, StageAddedTwiceIsReadyOnceAndGoneAfterRemoval) {
  scheduler.AddSweep(kFirst, {0});
  AddReady(kFirst, 10, v1::TRAIN_STAGE, 5);
  AddReady(kFirst, 10, v1::TRAIN_STAGE, 3);
  EXPECT_EQ(scheduler.ready(kFirst), 1u);
  scheduler.RemoveReady(kFirst, StageId(10));
  scheduler.RemoveReady(kFirst, StageId(10));
  EXPECT_EQ(Next(), std::nullopt);
}

TEST_F(SchedulerTest, NothingOfAnOwnerWhoseBudgetIsUsedStarts) {
  ReadyRules alices;
  alices.owner = "alice";
  alices.owner_has_budget = true;
  alices.priority = 5;
  alices.preempts = true;
  scheduler.AddSweep(kFirst, alices);
  scheduler.AddSweep(kSecond, {});
  for (int stage : {1, 2}) AddReady(kFirst, stage, v1::TRAIN_STAGE, stage);
  AddReady(kSecond, 3, v1::TRAIN_STAGE, 3);
  EXPECT_EQ(Take(), Of(kFirst, 1));
  scheduler.SetSpent("alice");
  EXPECT_TRUE(scheduler.OwnerUsage("alice").spent);
  EXPECT_EQ(scheduler.RoomOf(kFirst), 0u);
  EXPECT_EQ(scheduler.ReadyAbove(0), 0u);
  EXPECT_EQ(Next(), Of(kSecond, 3));
  scheduler.Ended(kFirst);
  scheduler.SetRules(kFirst, alices);
  const SweepId later(3);
  scheduler.AddSweep(later, alices);
  AddReady(later, 4, v1::TRAIN_STAGE, 4);
  EXPECT_EQ(Take(), Of(kSecond, 3));
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_TRUE(scheduler.Idle());
}

}  // namespace
}  // namespace inlier
