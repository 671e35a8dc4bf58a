// Workers whose jobs end: what they take, and what their ends count for.
#include "coordinator/scheduling/job_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/scheduling/backlog.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::seconds;

HandWorker InAJob(const std::string& incarnation, std::uint32_t seconds_left) {
  HandWorker worker(incarnation, 1);
  worker.fields().set_job("17");
  worker.fields().set_job_seconds_left(seconds_left);
  return worker;
}

// The worker is asked to end by its engine, and its attempt yields.
void EndJob(Harness& harness, HandWorker& worker) {
  worker.Emit(OnlyToken(worker), FailureEvent(v1::PREEMPTED, "the worker is ending (SIGTERM)"));
  worker.fields().set_draining(true);
  harness.Sync(worker);
}

TEST(JobEndsTest, AWorkerWhoseJobEndsAtOnceTakesNothing) {
  Harness harness;
  harness.Submit(SmallSweep("one", 1));
  HandWorker late = InAJob("late", kLeastSecondsOfAJob - 1);
  harness.Sync(late);
  EXPECT_TRUE(late.running().empty());
  HandWorker early = InAJob("early", kLeastSecondsOfAJob);
  harness.Sync(early);
  EXPECT_EQ(early.running().size(), 1u);
}

TEST(JobEndsTest, TheEndsOfJobsAreNoFailuresOfTheTrial) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("one", 1));
  for (int job = 0; job < 30; ++job) {  // More than retry.max_losses.
    HandWorker worker = InAJob(std::to_string(job), 3000);
    harness.Sync(worker);
    ASSERT_EQ(worker.running().size(), 1u) << job;
    worker.Emit(OnlyToken(worker), CheckpointEvent(static_cast<std::uint64_t>(job + 1), false));
    harness.Advance(seconds(100));
    EndJob(harness, worker);
  }
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  EXPECT_EQ(harness.Query("SELECT losses FROM stage WHERE kind = 'TRAIN_STAGE'"), "0\n");
  HandWorker last = InAJob("last", 3000);
  harness.Sync(last);
  EXPECT_EQ(last.running().begin()->second.resume_step(), 30u);
}

// Its checkpoint took longer than the notice.
TEST(JobEndsTest, AnAttemptThatIsLostAtTheEndOfItsJobIsNoFailureOfTheTrial) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("one", 1));
  const auto losses = [&harness] {
    return harness.Query("SELECT losses FROM stage WHERE kind = 'TRAIN_STAGE'");
  };
  // The worker's last syncs; then it is silent.
  std::uint64_t step = 0;
  const auto run = [&](const std::string& incarnation, std::uint32_t seconds_left, bool draining) {
    HandWorker worker = InAJob(incarnation, seconds_left);
    harness.Sync(worker);
    EXPECT_EQ(worker.running().size(), 1u) << incarnation;
    harness.Advance(seconds(1));
    worker.Emit(OnlyToken(worker), CheckpointEvent(++step, false));
    worker.fields().set_draining(draining);
    harness.Sync(worker);
    harness.Advance(seconds(30));
    harness.Tick();
  };
  run("due", 25, false);
  EXPECT_EQ(losses(), "0\n");
  run("asked", 3000, true);
  EXPECT_EQ(losses(), "0\n");
  run("lost", 3000, false);
  EXPECT_EQ(losses(), "1\n");
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  EXPECT_EQ(harness.Query("SELECT outcome FROM attempt ORDER BY token"), "PREEMPTED\nPREEMPTED\nFAILED\n");
}

TEST(JobEndsTest, AStageThatSavedNothingNeedsMoreTimeThanItHad) {
  Harness harness;
  harness.Submit(SmallSweep("one", 1));
  HandWorker first = InAJob("first", 3000);
  harness.Sync(first);
  harness.Advance(seconds(200));
  EndJob(harness, first);
  HandWorker late = InAJob("late", 250);
  harness.Sync(late);
  EXPECT_TRUE(late.running().empty());
  HandWorker fresh = InAJob("fresh", 3000);
  harness.Sync(fresh);
  EXPECT_EQ(fresh.running().size(), 1u);
}

TEST(JobEndsTest, WhatSavedNothingInAWholeJobNeedsALongerOne) {
  Harness harness;
  harness.Submit(SmallSweep("one", 1));
  HandWorker first = InAJob("first", 1000);
  harness.Sync(first);
  harness.Advance(seconds(990));
  EndJob(harness, first);
  HandWorker same = InAJob("same", 1000);
  harness.Sync(same);
  EXPECT_TRUE(same.running().empty());
  HandWorker longer = InAJob("longer", 4000);
  harness.Sync(longer);
  EXPECT_EQ(longer.running().size(), 1u);
}

TEST(JobEndsTest, AnEvaluationNeedsTheTimeThatOthersOfItsSweepTook) {
  Harness harness;
  harness.Submit(SmallSweep("one", 1, {8, 6, 4}));
  HandWorker worker = InAJob("w", 3000);
  harness.Sync(worker);
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  harness.Advance(seconds(100));  // The first evaluation.
  worker.Finish(OnlyToken(worker));
  worker.fields().set_job_seconds_left(120);
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  HandWorker fresh = InAJob("fresh", 3000);
  harness.Sync(fresh);
  EXPECT_EQ(fresh.running().size(), 1u);
}

TEST(JobEndsTest, ATrainingNeedsTheTimeUpToItsFirstStep) {
  Harness harness;
  harness.Submit(SmallSweep("two", 2));
  HandWorker worker = InAJob("w", 3000);
  harness.Sync(worker);
  worker.SetProgress(OnlyToken(worker), "tokenize", 1);
  harness.Advance(seconds(50));
  harness.Sync(worker);
  worker.SetProgress(OnlyToken(worker), "train", 1);
  harness.Advance(seconds(50));
  harness.Sync(worker);
  HandWorker late = InAJob("late", 100);
  harness.Sync(late);
  EXPECT_TRUE(late.running().empty());
  HandWorker fresh = InAJob("fresh", 300);
  harness.Sync(fresh);
  EXPECT_EQ(fresh.running().size(), 1u);
}

TEST(BacklogTest, CountsWhatMayStartAndEachStageOnce) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.quotas["night"] = 3;
  Harness harness(options);
  v1::SweepSpec limited = SmallSweep("limited", 10);
  limited.set_group("night");
  harness.Submit(limited);
  EXPECT_EQ(Backlog(harness.orchestrator().state(), 100).at(ResourceRequest()), 3u);
  const SweepId same = harness.Submit(SmallSweep("same", 10));  // Shares the trainings.
  EXPECT_EQ(Backlog(harness.orchestrator().state(), 100).at(ResourceRequest()), 10u);
  v1::PauseSweepRequest pause;
  pause.set_sweep(same.ToString());
  ASSERT_TRUE(harness.Ask(&PauseSweep, pause).ok());
  EXPECT_EQ(Backlog(harness.orchestrator().state(), 100).at(ResourceRequest()), 3u);
}

}  // namespace
}  // namespace inlier
