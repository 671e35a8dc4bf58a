// Workers whose jobs end: what they take, and what their ends count for.
#include "coordinator/scheduling/job_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/status/cluster_view.h"
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

struct JobEndsTest : OneWorkerTest {
  // How many attempts a new worker gets in a job that lasts so much longer.
  std::size_t Taken(std::uint32_t seconds_left) {
    HandWorker other = InAJob("with-" + std::to_string(seconds_left), seconds_left);
    harness.Sync(other);
    return other.running().size();
  }
};

TEST_F(JobEndsTest, AWorkerWhoseJobEndsAtOnceTakesNothing) {
  harness.Submit(SmallSweep("one", 1));
  EXPECT_EQ(Taken(kLeastSecondsOfAJob - 1), 0u);
  EXPECT_EQ(Taken(kLeastSecondsOfAJob), 1u);
}

TEST_F(JobEndsTest, TheEndsOfJobsAreNoFailuresOfTheTrial) {
  sweep = harness.Submit(SmallSweep("one", 1));
  for (int job = 0; job < 30; ++job) {  // More than retry.max_losses.
    worker = InAJob(std::to_string(job), 3000);
    harness.Sync(worker);
    ASSERT_EQ(worker.running().size(), 1u) << job;
    worker.Emit(OnlyToken(worker), CheckpointEvent(static_cast<std::uint64_t>(job + 1), false));
    harness.Advance(seconds(100));
    EndJob(harness, worker);
  }
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  EXPECT_EQ(harness.Query("SELECT losses FROM stage WHERE kind = 'TRAIN_STAGE'"), "0\n");
  worker = InAJob("last", 3000);
  EXPECT_EQ(harness.Assigned(worker).resume_step(), 30u);
}

// Its checkpoint took longer than the notice.
TEST_F(JobEndsTest, AnAttemptThatIsLostAtTheEndOfItsJobIsNoFailureOfTheTrial) {
  sweep = harness.Submit(SmallSweep("one", 1));
  const auto losses = [this] { return harness.Query("SELECT losses FROM stage WHERE kind = 'TRAIN_STAGE'"); };
  // The worker's last syncs; then it is silent.
  std::uint64_t step = 0;
  const auto run = [&](const std::string& incarnation, std::uint32_t seconds_left, bool draining) {
    worker = InAJob(incarnation, seconds_left);
    harness.Sync(worker);
    EXPECT_EQ(worker.running().size(), 1u) << incarnation;
    harness.Advance(seconds(1));
    worker.Emit(OnlyToken(worker), CheckpointEvent(++step, false));
    worker.fields().set_draining(draining);
    harness.Sync(worker);
    harness.TickAfter(seconds(30));
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

TEST_F(JobEndsTest, AStageThatSavedNothingNeedsMoreTimeThanItHad) {
  Lease(SmallSweep("one", 1), InAJob("w", 3000));
  harness.Advance(seconds(200));
  EndJob(harness, worker);
  EXPECT_EQ(Taken(250), 0u);
  EXPECT_EQ(Taken(3000), 1u);
}

TEST_F(JobEndsTest, WhatSavedNothingInAWholeJobNeedsALongerOne) {
  Lease(SmallSweep("one", 1), InAJob("w", 1000));
  harness.Advance(seconds(990));
  EndJob(harness, worker);
  EXPECT_EQ(Taken(1000), 0u);
  EXPECT_EQ(Taken(4000), 1u);
}

TEST_F(JobEndsTest, AnEvaluationNeedsTheTimeThatOthersOfItsSweepTook) {
  Lease(SmallSweep("one", 1, {8, 6, 4}), InAJob("w", 3000));
  harness.Finish(worker);
  harness.Advance(seconds(100));  // The first evaluation.
  worker.Finish(OnlyToken(worker));
  worker.fields().set_job_seconds_left(120);
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_EQ(Taken(3000), 1u);
}

TEST_F(JobEndsTest, ATrainingNeedsTheTimeUpToItsFirstStep) {
  Lease(SmallSweep("two", 2), InAJob("w", 3000));
  worker.SetProgress(OnlyToken(worker), "tokenize", 1);
  harness.Advance(seconds(50));
  harness.Sync(worker);
  worker.SetProgress(OnlyToken(worker), "train", 1);
  harness.Advance(seconds(50));
  harness.Sync(worker);
  EXPECT_EQ(Taken(100), 0u);
  EXPECT_EQ(Taken(300), 1u);
}

using BacklogTest = OneWorkerTest;

TEST_F(BacklogTest, CountsWhatMayStartAndEachStageOnce) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.quotas["night"] = 3;
  harness.RestartAs(options);
  v1::SweepSpec limited = SmallSweep("limited", 10);
  limited.set_group("night");
  harness.Submit(limited);
  EXPECT_EQ(ViewCluster(harness.state()).backlog.at(ResourceRequest()), 3u);
  const SweepId same = harness.Submit(SmallSweep("same", 10));  // Shares the trainings.
  EXPECT_EQ(ViewCluster(harness.state()).backlog.at(ResourceRequest()), 10u);
  ASSERT_TRUE(harness.PauseSweep(same).ok());
  EXPECT_EQ(ViewCluster(harness.state()).backlog.at(ResourceRequest()), 3u);
}

}  // namespace
}  // namespace inlier
