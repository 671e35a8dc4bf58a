#include "coordinator/state/scheduler.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

using Pick = Scheduler::Pick;

constexpr SweepId kFirst(1);
constexpr SweepId kSecond(2);

void AddReady(Scheduler& scheduler, SweepId sweep, int stage, v1::StageKind kind, int first_trial) {
  scheduler.AddReady(sweep, StageId(stage), kind, TrialId(first_trial));
}

Pick Of(SweepId sweep, int stage) { return {sweep, StageId(stage)}; }

// Takes the stage that Next() names, as the orchestrator does.
Pick Take(Scheduler& scheduler) {
  const std::optional<Pick> pick = scheduler.Next();
  EXPECT_TRUE(pick.has_value());
  if (!pick) return {};
  scheduler.RemoveReady(pick->sweep, pick->stage);
  scheduler.Started(pick->sweep);
  return *pick;
}

TEST(SchedulerTest, NothingReadyGivesNothing) {
  Scheduler scheduler;
  scheduler.AddSweep(kFirst, {0});
  EXPECT_EQ(scheduler.Next(), std::nullopt);
}

TEST(SchedulerTest, EvaluateStagesGoBeforeTrainStagesThenTheEarliestTrial) {
  Scheduler scheduler;
  scheduler.AddSweep(kFirst, {0});
  AddReady(scheduler, kFirst, 10, v1::TRAIN_STAGE, 1);
  AddReady(scheduler, kFirst, 11, v1::TRAIN_STAGE, 2);
  AddReady(scheduler, kFirst, 20, v1::EVALUATE_STAGE, 9);
  AddReady(scheduler, kFirst, 21, v1::EVALUATE_STAGE, 8);
  EXPECT_EQ(Take(scheduler), Of(kFirst, 21));
  EXPECT_EQ(Take(scheduler), Of(kFirst, 20));
  EXPECT_EQ(Take(scheduler), Of(kFirst, 10));
  EXPECT_EQ(Take(scheduler), Of(kFirst, 11));
  EXPECT_EQ(scheduler.Next(), std::nullopt);
}

TEST(SchedulerTest, HigherPriorityGoesFirstEvenWithTrainStages) {
  Scheduler scheduler;
  scheduler.AddSweep(kFirst, {0});
  scheduler.AddSweep(kSecond, {5});
  AddReady(scheduler, kFirst, 10, v1::EVALUATE_STAGE, 1);
  AddReady(scheduler, kSecond, 20, v1::TRAIN_STAGE, 2);
  EXPECT_EQ(Take(scheduler), Of(kSecond, 20));
  EXPECT_EQ(Take(scheduler), Of(kFirst, 10));
}

TEST(SchedulerTest, SweepsOfEqualPriorityShareTheSlotsEvenly) {
  Scheduler scheduler;
  scheduler.AddSweep(kFirst, {0});
  scheduler.AddSweep(kSecond, {0});
  for (int i = 0; i < 4; ++i) AddReady(scheduler, kFirst, 10 + i, v1::TRAIN_STAGE, i);
  for (int i = 0; i < 4; ++i) AddReady(scheduler, kSecond, 20 + i, v1::TRAIN_STAGE, 10 + i);
  for (int i = 0; i < 6; ++i) Take(scheduler);
  EXPECT_EQ(scheduler.running(kFirst), 3u);
  EXPECT_EQ(scheduler.running(kSecond), 3u);
}

TEST(SchedulerTest, SweepServedLongestAgoGoesNextWhenAllRunEquallyMany) {
  Scheduler scheduler;
  scheduler.AddSweep(kFirst, {0});
  scheduler.AddSweep(kSecond, {0});
  for (int i = 0; i < 4; ++i) AddReady(scheduler, kFirst, 10 + i, v1::TRAIN_STAGE, i);
  for (int i = 0; i < 4; ++i) AddReady(scheduler, kSecond, 20 + i, v1::TRAIN_STAGE, 10 + i);
  // One slot: each attempt ends before the next begins.
  std::vector<SweepId> order;
  for (int i = 0; i < 6; ++i) {
    const Pick pick = Take(scheduler);
    order.push_back(pick.sweep);
    scheduler.Ended(pick.sweep);
  }
  EXPECT_EQ(order, (std::vector<SweepId>{kFirst, kSecond, kFirst, kSecond, kFirst, kSecond}));
}

TEST(SchedulerTest, MaxParallelHoldsASweepBackUntilAnAttemptEnds) {
  Scheduler scheduler;
  scheduler.AddSweep(kFirst, {9, 1});
  scheduler.AddSweep(kSecond, {0});
  AddReady(scheduler, kFirst, 10, v1::TRAIN_STAGE, 1);
  AddReady(scheduler, kFirst, 11, v1::TRAIN_STAGE, 2);
  AddReady(scheduler, kSecond, 20, v1::TRAIN_STAGE, 3);
  EXPECT_EQ(Take(scheduler), Of(kFirst, 10));
  EXPECT_EQ(Take(scheduler), Of(kSecond, 20));
  EXPECT_EQ(scheduler.Next(), std::nullopt);
  scheduler.Ended(kFirst);
  EXPECT_EQ(scheduler.Next(), Of(kFirst, 11));
}

TEST(SchedulerTest, StageAddedTwiceIsReadyOnceAndGoneAfterRemoval) {
  Scheduler scheduler;
  scheduler.AddSweep(kFirst, {0});
  AddReady(scheduler, kFirst, 10, v1::TRAIN_STAGE, 5);
  AddReady(scheduler, kFirst, 10, v1::TRAIN_STAGE, 3);
  EXPECT_EQ(scheduler.ready(kFirst), 1u);
  scheduler.RemoveReady(kFirst, StageId(10));
  scheduler.RemoveReady(kFirst, StageId(10));
  EXPECT_EQ(scheduler.Next(), std::nullopt);
}

}  // namespace
}  // namespace inlier
